// The one place where settings become the description of a model.
#pragma once
#include "model/spec.hpp"
#include "pretrained/pretrained.hpp"
#include "train/settings.hpp"

namespace plimsoll {

// `vocab` comes from the data.
ModelSpec model_spec(const Settings& settings, int vocab);
// Of a run on a published model: what is trained of it.
Tuning tuning(const Settings& settings);
// The published model itself, nothing of it trained.
ModelSpec as_published(const Settings& settings);

}  // namespace plimsoll
