// WebP by libwebp.
#include <cstdio>

#include "image/codec.hpp"

#if PLIMSOLL_WEBP
#include <webp/decode.h>

namespace plimsoll::codec {

void read_webp_header(Bytes bytes, PictureHeader& header, Trouble& trouble) noexcept {
  WebPBitstreamFeatures features;
  if (WebPGetFeatures(bytes.data(), bytes.size(), &features) != VP8_STATUS_OK)
    return trouble.say("it is a damaged WebP: its header cannot be read");
  if (features.has_animation) return trouble.say("it is an animated WebP; only still pictures are read");
  header.stored_width = features.width;
  header.stored_height = features.height;
  header.channels = features.has_alpha ? 4 : 3;
  const uint64_t pixels = uint64_t(features.width) * uint64_t(features.height);
  // Lossless pictures are decoded as a whole, lossy ones by rows of blocks; opacity is a plane of its own.
  header.working = 3'000'000 + 64 * uint64_t(features.width) + (features.format == 2 ? 5 : 1) * pixels +
                   (features.has_alpha ? 6 * pixels : 0);
}

void decode_webp(Bytes bytes, const PictureHeader& header, std::span<uint8_t> out,
                 Trouble& trouble) noexcept {
  WebPDecoderConfig config;
  if (!WebPInitDecoderConfig(&config)) {
    std::snprintf(trouble.text, sizeof trouble.text, "the installed libwebp is of another version");
    return;
  }
  config.output.colorspace = header.channels == 4 ? MODE_RGBA : MODE_RGB;
  config.output.is_external_memory = 1;
  config.output.u.RGBA = {out.data(), int(header.stored_width * header.channels), out.size()};
  const VP8StatusCode code = WebPDecode(bytes.data(), bytes.size(), &config);
  if (code != VP8_STATUS_OK)
    std::snprintf(trouble.text, sizeof trouble.text, "it is a damaged WebP: %s",
                  code == VP8_STATUS_NOT_ENOUGH_DATA || code == VP8_STATUS_SUSPENDED ? "it ends too early"
                  : code == VP8_STATUS_OUT_OF_MEMORY ? "it needs more memory than its header says"
                                                     : "its pixels cannot be decoded");
  WebPFreeDecBuffer(&config.output);
}

}  // namespace plimsoll::codec

#else
namespace plimsoll::codec {
void read_webp_header(Bytes, PictureHeader&, Trouble& trouble) noexcept {
  trouble.say("it is a WebP, and this build has no libwebp (libwebp-dev)");
}
void decode_webp(Bytes, const PictureHeader&, std::span<uint8_t>, Trouble&) noexcept {}
}  // namespace plimsoll::codec
#endif
