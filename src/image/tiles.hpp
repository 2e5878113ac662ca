// Cuts pictures into the square tiles a vision tower looks at, as the image processor of Idefics3 and SmolVLM does: the picture
// is resized, stretched to whole tiles, cut by rows, and a small copy of the whole is the last tile.
#pragma once
#include <cstdint>
#include <filesystem>
#include <span>
#include <string_view>

#include "image/resize.hpp"

namespace plimsoll {

// What the settings of a model's image processor say.
struct TileSettings {
  int64_t tile = 512;           // pixels of an edge
  int64_t longest_edge = 2048;  // of the resized picture; 0: fixed, as below
  PixelSize fixed = {};
  bool resize = true, split = true;
  // Not of that file: JPEGs that are larger than needed are scaled down while they are decoded.
  bool draft = false;
  double rescale = 1.0 / 255;
  float mean[3] = {0.5f, 0.5f, 0.5f}, deviation[3] = {0.5f, 0.5f, 0.5f};

  // Pixels of the longer edge that a draft must keep; 0: there is none.
  int64_t enough() const { return draft && resize ? longest_edge : 0; }
  // What the tower sees of a byte.
  float value(uint8_t byte, int channel) const {
    const auto scaled = float(double(byte) * rescale);
    return (scaled - mean[channel]) / deviation[channel];
  }
};

// Of preprocessor_config.json, or of processor_config.json, which has them under `image_processor`. InputError, without a path,
// for settings that would make other pixels than these.
TileSettings parse_tile_settings(std::string_view json);
// The same of the first of those that the folder has, with the path.
TileSettings read_tile_settings(const std::filesystem::path& folder);

// What a model makes of pictures in its text.
struct PictureTokens {
  TileSettings settings;
  int64_t rows = 0;    // tokens of a tile
  int32_t token = -1;  // the id of <image>
};

// How a picture of some size is cut.
struct TileGrid {
  PixelSize resized, stretched;
  int64_t rows = 0, columns = 0;  // 0: it is not cut, and the only tile is the whole
  int64_t tiles() const { return rows * columns + 1; }
};
TileGrid tile_grid(const TileSettings& settings, PixelSize picture);

// Bytes of working memory cut_tiles() needs for a picture that was decoded in this size.
uint64_t tiles_memory(const TileSettings& settings, const TileGrid& grid, PixelSize decoded);
// Fills tiles() x tile x tile RGB pixels. Allocates nothing.
void cut_tiles(const TileSettings& settings, const TileGrid& grid, const uint8_t* rgb, PixelSize decoded,
               std::span<uint8_t> tiles, std::span<uint8_t> memory);

}  // namespace plimsoll
