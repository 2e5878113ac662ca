#include "image/tiles.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/error.hpp"
#include "base/file.hpp"
#include "base/json.hpp"

namespace plimsoll {
namespace {

using nlohmann::json;
constexpr int64_t largest_edge = 4096;  // the processor's own bound

int64_t edge_of(const json& settings, const char* key, const char* side, int64_t otherwise) {
  if (!settings.contains(key)) return otherwise;
  const json& sizes = settings[key];
  if (!sizes.is_object() || !sizes.contains(side)) return 0;
  const json& edge = sizes[side];
  if (!edge.is_number_integer() || edge.get<int64_t>() < 1 || edge.get<int64_t>() > largest_edge)
    fail_input("'{}' has a '{}' of {}; expected a whole number from 1 to {}", key, side, edge.dump(),
               largest_edge);
  return edge.get<int64_t>();
}

bool flag_of(const json& settings, const char* key, bool otherwise) {
  const auto found = settings.find(key);
  if (found == settings.end() || found->is_null()) return otherwise;
  if (!found->is_boolean()) fail_input("'{}' is {}; expected true or false", key, found->dump());
  return found->get<bool>();
}

void read_channels(const json& settings, const char* key, float* out, bool divisor) {
  const auto found = settings.find(key);
  if (found == settings.end() || found->is_null()) return;
  for (int c = 0; c < 3; ++c) {
    const json& value = found->is_array() && found->size() == 3 ? (*found)[size_t(c)] : *found;
    if (!value.is_number() || (divisor && value.get<double>() == 0))
      fail_input("'{}' is {}; expected three numbers", key, found->dump());
    out[c] = value.get<float>();
  }
}

int64_t up_to_tiles(int64_t edge, int64_t tile) { return (edge + tile - 1) / tile * tile; }

// The longer edge becomes `longest`, the shorter one even, and no edge longer than the bound.
PixelSize with_longest_edge(PixelSize size, int64_t longest) {
  auto [width, height] = size;
  const double ratio = double(width) / double(height);
  if (width >= height) {
    width = longest;
    height = int64_t(double(width) / ratio);
    height += height % 2;
  } else {
    height = longest;
    width = int64_t(double(height) * ratio);
    width += width % 2;
  }
  return {std::max<int64_t>(width, 1), std::max<int64_t>(height, 1)};
}

PixelSize whole_tiles(PixelSize size, int64_t tile) {
  const double ratio = double(size.width) / double(size.height);
  if (size.width >= size.height) {
    const int64_t width = up_to_tiles(size.width, tile);
    return {width, up_to_tiles(int64_t(double(width) / ratio), tile)};
  }
  const int64_t height = up_to_tiles(size.height, tile);
  return {up_to_tiles(int64_t(double(height) * ratio), tile), height};
}

}  // namespace

TileSettings parse_tile_settings(std::string_view text) {
  const json file = parse_json(text);
  if (!file.is_object()) fail_input("it is not a JSON object");
  const auto inner = file.find("image_processor");
  const json& settings = inner == file.end() ? file : *inner;
  if (!settings.is_object()) fail_input("'image_processor' is not an object");
  TileSettings out;
  out.tile = edge_of(settings, "max_image_size", "longest_edge", 364);
  if (!out.tile) fail_input("'max_image_size' has no 'longest_edge'");
  out.longest_edge = edge_of(settings, "size", "longest_edge", 4 * 364);
  if (!out.longest_edge) {
    out.fixed = {edge_of(settings, "size", "width", 0), edge_of(settings, "size", "height", 0)};
    if (!out.fixed.width || !out.fixed.height)
      fail_input("'size' has neither 'longest_edge' nor 'width' and 'height'");
  }
  out.resize = flag_of(settings, "do_resize", true);
  out.split = flag_of(settings, "do_image_splitting", true);
  if (!flag_of(settings, "do_convert_rgb", true))
    fail_input("'do_convert_rgb' is false, which is not supported");
  if (const auto found = settings.find("resample"); found != settings.end() && *found != 1)
    fail_input("'resample' is {}, which is not supported; only 1 (Lanczos) is", found->dump());
  if (!flag_of(settings, "do_rescale", true))
    out.rescale = 1;
  else if (const auto found = settings.find("rescale_factor"); found != settings.end() && found->is_number())
    out.rescale = found->get<double>();
  if (flag_of(settings, "do_normalize", true)) {
    read_channels(settings, "image_mean", out.mean, false);
    read_channels(settings, "image_std", out.deviation, true);
  } else {
    std::fill_n(out.mean, 3, 0.f);
    std::fill_n(out.deviation, 3, 1.f);
  }
  return out;
}

TileSettings read_tile_settings(const std::filesystem::path& folder) {
  std::error_code ignored;
  std::filesystem::path path = folder / "preprocessor_config.json";
  if (!std::filesystem::exists(path, ignored)) path = folder / "processor_config.json";
  if (!std::filesystem::exists(path, ignored))
    fail_input(
        "{}: there is neither preprocessor_config.json nor processor_config.json in it, which say how "
        "pictures are cut; copy them from the published model",
        folder.string());
  const std::string text = read_file(path, 1'000'000);
  try {
    return parse_tile_settings(text);
  } catch (const InputError& error) {
    fail_input("{}: {}", path.string(), error.what());
  }
}

TileGrid tile_grid(const TileSettings& s, PixelSize picture) {
  TileGrid grid{picture, picture};
  if (s.resize) grid.resized = s.longest_edge ? with_longest_edge(picture, s.longest_edge) : s.fixed;
  if (!s.split) {
    grid.stretched = {s.tile, s.tile};
    return grid;
  }
  grid.stretched = whole_tiles(grid.resized, s.tile);
  if (grid.stretched.width > s.tile || grid.stretched.height > s.tile) {
    grid.rows = grid.stretched.height / s.tile;
    grid.columns = grid.stretched.width / s.tile;
  }
  return grid;
}

uint64_t tiles_memory(const TileSettings& s, const TileGrid& grid, PixelSize decoded) {
  const PixelSize tile{s.tile, s.tile};
  const uint64_t working =
      std::max({resize_memory(decoded, grid.resized), resize_memory(grid.resized, grid.stretched),
                resize_memory(grid.stretched, tile)});
  return grid.resized.rgb_bytes() + grid.stretched.rgb_bytes() + working;
}

void cut_tiles(const TileSettings& s, const TileGrid& grid, const uint8_t* rgb, PixelSize decoded,
               std::span<uint8_t> tiles, std::span<uint8_t> memory) {
  const PixelSize tile{s.tile, s.tile};
  if (tiles.size() != uint64_t(grid.tiles()) * tile.rgb_bytes() ||
      memory.size() < tiles_memory(s, grid, decoded))
    fail("[tiles] {} and {} bytes are given where {} and {} are needed", tiles.size(), memory.size(),
         uint64_t(grid.tiles()) * tile.rgb_bytes(), tiles_memory(s, grid, decoded));
  uint8_t* resized = memory.data();
  uint8_t* stretched = resized + grid.resized.rgb_bytes();
  const auto working = memory.subspan(grid.resized.rgb_bytes() + grid.stretched.rgb_bytes());
  resize(rgb, decoded, resized, grid.resized, working);
  resize(resized, grid.resized, stretched, grid.stretched, working);
  uint8_t* out = tiles.data();
  for (int64_t r = 0; r < grid.rows; ++r)
    for (int64_t c = 0; c < grid.columns; ++c)
      for (int64_t y = 0; y < s.tile; ++y, out += 3 * s.tile)
        std::memcpy(out, stretched + 3 * ((r * s.tile + y) * grid.stretched.width + c * s.tile),
                    size_t(3 * s.tile));
  resize(stretched, grid.stretched, out, tile, working);
}

}  // namespace plimsoll
