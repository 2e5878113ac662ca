// Writes what a run on a published model has learned in the forms other programs read: an adapter for PEFT, or a folder of
// the whole model for transformers. The folder appears under its name when it is complete.
#pragma once
#include <filesystem>
#include <optional>
#include <string>

#include "tensor/dtype.hpp"
#include "train/run_folder.hpp"

namespace plimsoll {

// adapter_config.json and adapter_model.safetensors. InputError where the run trained no adapters.
void export_peft(const SavedModel& run, const std::filesystem::path& folder);

// The published folder with what was trained in it: adapters added to their matrices, trained parameters in place of the
// published ones. Tensors keep the published dtype unless another is given.
void export_merged(const SavedModel& run, const std::filesystem::path& folder, std::optional<DType> dtype);

}  // namespace plimsoll
