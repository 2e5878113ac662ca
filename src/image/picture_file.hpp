// Pictures in files: what a header says, and the tiles a model would see.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "image/picture.hpp"
#include "image/tiles.hpp"

namespace plimsoll {

struct PictureFile {
  std::filesystem::path path;
  PictureHeader header;
  std::string problem = {};  // why it cannot be used; nothing else is known of it then
};

// The files of a folder, in the order of their names, or a file. What has an extension of no picture is left out of a folder.
std::vector<std::filesystem::path> find_pictures(const std::filesystem::path& path);
// Reads the header; with `decode` also the pixels, so that damage beyond the header is found.
PictureFile look_at_picture(const std::filesystem::path& path, bool decode = false);

struct Tiles {
  TileGrid grid;
  std::vector<uint8_t> pixels;  // of all tiles
};
// InputError with the path.
Tiles load_tiles(const std::filesystem::path& path, const TileSettings& settings);
// As DIR/NAME.N.ppm, to be looked at; N counts from 1.
void write_tiles(const Tiles& tiles, int64_t edge, const std::filesystem::path& folder,
                 const std::string& name);

}  // namespace plimsoll
