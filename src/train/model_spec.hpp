// The one place where settings become the description of a model.
#pragma once
#include "model/spec.hpp"
#include "pretrained/pretrained.hpp"
#include "train/settings.hpp"

namespace plimsoll {

// `vocab` comes from the data; `stream`: frozen matrices are read when they are needed.
ModelSpec model_spec(const Settings& settings, int vocab, bool stream = false);
// Of a run on a published model: what is trained of it.
Tuning tuning(const Settings& settings, bool stream = false);
// The published model itself, nothing of it trained.
ModelSpec as_published(const Settings& settings, bool stream = false);
// Whether the run has frozen matrices that could be read when they are needed, and may.
// How the model of the settings takes pictures; nothing where it looks at none.
std::optional<PictureTokens> picture_tokens(const Settings& settings);
bool can_stream(const Settings& settings);

}  // namespace plimsoll
