// JPEG by libjpeg-turbo, with the settings Pillow uses: the accurate integer transform and smooth chroma.
#include <algorithm>
#include <csetjmp>
#include <cstdio>
#include <cstring>

#include "image/codec.hpp"

#if PLIMSOLL_JPEG
#include <jerror.h>
#include <jpeglib.h>

namespace plimsoll::codec {
namespace {

struct JpegErrors : jpeg_error_mgr {
  std::jmp_buf back;
  char text[JMSG_LENGTH_MAX];
};

[[noreturn]] void on_jpeg_error(j_common_ptr common) {
  auto* errors = static_cast<JpegErrors*>(common->err);
  errors->format_message(common, errors->text);
  std::longjmp(errors->back, 1);
}

boolean on_jpeg_end(j_decompress_ptr jpeg) {
  ERREXIT(jpeg, JERR_INPUT_EOF);
  return FALSE;
}

void skip_jpeg(j_decompress_ptr jpeg, long bytes) {
  if (bytes <= 0) return;
  if (size_t(bytes) > jpeg->src->bytes_in_buffer) on_jpeg_end(jpeg);
  jpeg->src->next_input_byte += bytes;
  jpeg->src->bytes_in_buffer -= size_t(bytes);
}

struct Jpeg {
  jpeg_decompress_struct d{};
  JpegErrors errors{};
  jpeg_source_mgr source{};

  Jpeg() {
    d.err = jpeg_std_error(&errors);
    errors.error_exit = on_jpeg_error;
    errors.output_message = [](j_common_ptr) {};
    // What is damaged between markers is filled in by the library and only warned of, as in Pillow.
    errors.emit_message = [](j_common_ptr, int) {};
  }
  void open(Bytes bytes) {
    jpeg_create_decompress(&d);
    source.next_input_byte = bytes.data();
    source.bytes_in_buffer = bytes.size();
    source.init_source = [](j_decompress_ptr) {};
    source.term_source = [](j_decompress_ptr) {};
    source.fill_input_buffer = on_jpeg_end;
    source.skip_input_data = skip_jpeg;
    source.resync_to_restart = jpeg_resync_to_restart;
    d.src = &source;
    jpeg_read_header(&d, TRUE);
  }
};

void say(Trouble& trouble, const Jpeg& jpeg) {
  std::snprintf(trouble.text, sizeof trouble.text, "it is a damaged JPEG: %.120s", jpeg.errors.text);
}

// Rows that are being made, and, where a file comes in several passes, the coefficients of the whole picture.
uint64_t working_bytes(const jpeg_decompress_struct& d) {
  uint64_t blocks = 0;
  for (int c = 0; c < d.num_components; ++c) {
    const auto& part = d.comp_info[c];
    const uint64_t h = uint64_t(part.h_samp_factor), v = uint64_t(part.v_samp_factor);
    const uint64_t across = (uint64_t(d.image_width) + 8 * uint64_t(d.max_h_samp_factor) - 1) /
                            (8 * uint64_t(d.max_h_samp_factor)) * h;
    const uint64_t down = (uint64_t(d.image_height) + 8 * uint64_t(d.max_v_samp_factor) - 1) /
                          (8 * uint64_t(d.max_v_samp_factor)) * v;
    blocks += (across + h) * (down + v);
  }
  const uint64_t rows = 200 * uint64_t(d.image_width + 64), tables = 400'000;
  return tables + rows + (jpeg_has_multiple_scans(const_cast<j_decompress_ptr>(&d)) ? blocks * 132 : 0);
}

// As Pillow: the inverse of ink times the inverse of black.
void from_cmyk(uint8_t* row, int64_t width, bool inverted) {
  for (int64_t x = 0; x < width; ++x) {
    uint32_t ink[4];
    for (int c = 0; c < 4; ++c) ink[c] = inverted ? 255u - row[4 * x + c] : row[4 * x + c];
    const uint32_t light = 255 - ink[3];
    for (int c = 0; c < 3; ++c) {
      const uint32_t product = ink[c] * light + 128;
      row[3 * x + c] = uint8_t(light - (((product >> 8) + product) >> 8));
    }
  }
}

}  // namespace

void read_jpeg_header(Bytes bytes, PictureHeader& header, Trouble& trouble) noexcept {
  Jpeg jpeg;
  if (setjmp(jpeg.errors.back)) {
    say(trouble, jpeg);
  } else {
    jpeg.open(bytes);
    header.stored_width = jpeg.d.image_width;
    header.stored_height = jpeg.d.image_height;
    header.channels = 3;  // CMYK is converted row by row
    header.working = working_bytes(jpeg.d) + 4 * uint64_t(jpeg.d.image_width);
  }
  jpeg_destroy_decompress(&jpeg.d);
}

// The library makes an eighth, a quarter or a half of each block's edge out of its lower frequencies alone.
void shrink_jpeg(PictureHeader& header, int64_t enough) noexcept {
  const int64_t longest = std::max(header.stored_width, header.stored_height);
  for (const int by : {8, 4, 2}) {
    if (longest / by < enough) continue;
    header.shrunk = by;
    header.width = header.stored_width = (header.stored_width + by - 1) / by;
    header.height = header.stored_height = (header.stored_height + by - 1) / by;
    return;
  }
}

void decode_jpeg(Bytes bytes, const PictureHeader& header, std::span<uint8_t> out,
                 Trouble& trouble) noexcept {
  Jpeg jpeg;
  if (setjmp(jpeg.errors.back)) {
    say(trouble, jpeg);
  } else {
    jpeg.open(bytes);
    auto& d = jpeg.d;
    const bool inks = d.jpeg_color_space == JCS_CMYK || d.jpeg_color_space == JCS_YCCK;
    d.out_color_space = inks ? JCS_CMYK : JCS_RGB;
    d.dct_method = JDCT_ISLOW;
    d.scale_num = 1;
    d.scale_denom = unsigned(header.shrunk);
    jpeg_start_decompress(&d);
    if (d.output_width != header.stored_width || d.output_height != header.stored_height)
      ERREXIT(&d, JERR_BAD_LENGTH);
    const size_t row_bytes = 3 * size_t(header.stored_width);
    JSAMPARRAY spare =
        inks ? (*d.mem->alloc_sarray)(j_common_ptr(&d), JPOOL_IMAGE, 4 * d.output_width, 1) : nullptr;
    while (d.output_scanline < d.output_height) {
      JSAMPROW row = inks ? spare[0] : out.data() + d.output_scanline * row_bytes;
      uint8_t* place = out.data() + d.output_scanline * row_bytes;
      if (jpeg_read_scanlines(&d, &row, 1) != 1) break;
      if (!inks) continue;
      from_cmyk(row, header.stored_width, d.saw_Adobe_marker);
      std::memcpy(place, row, row_bytes);
    }
    jpeg_finish_decompress(&d);
  }
  jpeg_destroy_decompress(&jpeg.d);
}

}  // namespace plimsoll::codec

#else
namespace plimsoll::codec {
void read_jpeg_header(Bytes, PictureHeader&, Trouble& trouble) noexcept {
  trouble.say("it is a JPEG, and this build has no libjpeg (libjpeg62-turbo-dev)");
}
void shrink_jpeg(PictureHeader&, int64_t) noexcept {}
void decode_jpeg(Bytes, const PictureHeader&, std::span<uint8_t>, Trouble&) noexcept {}
}  // namespace plimsoll::codec
#endif
