#include "image/picture_file.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "base/file.hpp"
#include "platform/mapped_file.hpp"

namespace plimsoll {
namespace {

std::vector<uint8_t> decoded(std::span<const uint8_t> bytes, const PictureHeader& header) {
  std::vector<uint8_t> memory(size_t(header.memory()));
  memory.resize(decode_picture(bytes, header, memory).size());
  return memory;
}

}  // namespace

std::vector<std::filesystem::path> find_pictures(const std::filesystem::path& path) {
  if (!std::filesystem::is_directory(path)) return {path};
  std::vector<std::filesystem::path> found;
  for (const auto& entry : std::filesystem::directory_iterator(path)) {
    std::string extension = entry.path().extension().string();
    std::transform(extension.begin(), extension.end(), extension.begin(),
                   [](char c) { return char(std::tolower(c)); });
    for (const char* known : {".jpg", ".jpeg", ".png", ".webp"})
      if (extension == known) found.push_back(entry.path());
  }
  std::sort(found.begin(), found.end());
  return found;
}

PictureFile look_at_picture(const std::filesystem::path& path, bool decode) {
  PictureFile out{path, {}};
  try {
    const MappedFile file(path.string());
    out.header = read_picture_header(file.bytes());
    if (decode) decoded(file.bytes(), out.header);
  } catch (const InputError& error) {
    out.problem = error.what();
  }
  return out;
}

Tiles load_tiles(const std::filesystem::path& path, const TileSettings& settings) {
  const MappedFile file(path.string());
  try {
    const PictureHeader header = read_picture_header(file.bytes(), {}, settings.enough());
    const std::vector<uint8_t> rgb = decoded(file.bytes(), header);
    const PixelSize size{header.width, header.height};
    Tiles out{tile_grid(settings, {header.full_width, header.full_height}), {}};
    out.pixels.resize(size_t(out.grid.tiles() * settings.tile * settings.tile * 3));
    std::vector<uint8_t> memory(size_t(tiles_memory(settings, out.grid, size)));
    cut_tiles(settings, out.grid, rgb.data(), size, out.pixels, memory);
    return out;
  } catch (const InputError& error) {
    fail_input("{}: {}", path.string(), error.what());
  }
}

void write_tiles(const Tiles& tiles, int64_t edge, const std::filesystem::path& folder,
                 const std::string& name) {
  const auto size = size_t(3 * edge * edge);
  for (size_t i = 0; i < size_t(tiles.grid.tiles()); ++i) {
    std::string text = fmt::format("P6\n{} {}\n255\n", edge, edge);
    text.append(reinterpret_cast<const char*>(tiles.pixels.data()) + i * size, size);
    write_atomically(folder / fmt::format("{}.{}.ppm", name, i + 1), text);
  }
}

}  // namespace plimsoll
