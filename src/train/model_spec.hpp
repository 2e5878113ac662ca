// The one place where settings become the description of a model.
#pragma once
#include "model/spec.hpp"
#include "train/settings.hpp"

namespace plimsoll {

// `vocab` comes from the data.
ModelSpec model_spec(const Settings& settings, int vocab);

}  // namespace plimsoll
