// Vision-language models that begin from nothing (`--vision NAME`): the Idefics3 family in a small shape. The language model's sizes
// are settings like those of any other; the tower's and the connector's follow from the name.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "image/tiles.hpp"
#include "model/spec.hpp"
#include "train/settings.hpp"

namespace plimsoll {

ModelSpec own_vision_spec(const Settings& settings, int vocab);
// How it takes pictures: each becomes one tile.
PictureTokens own_vision_pictures(const Settings& settings);
// The files, by name, that say to other programs what it is, as a published folder has them: all but the weights.
std::vector<std::pair<std::string, std::string>> own_vision_files(const Settings& settings, int vocab);

}  // namespace plimsoll
