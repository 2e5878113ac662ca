// Arbitrary bytes as preprocessor_config.json: refused with an InputError, or settings by which a picture can be cut.
#include <cstdlib>

#include "base/error.hpp"
#include "image/tiles.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t bytes) {
  using namespace plimsoll;
  try {
    const TileSettings settings = parse_tile_settings({reinterpret_cast<const char*>(data), bytes});
    const TileGrid grid = tile_grid(settings, {37, 23});
    if (grid.tiles() < 1 || grid.stretched.width < 1 || grid.stretched.height < 1) std::abort();
  } catch (const InputError&) {
  }
  return 0;
}
