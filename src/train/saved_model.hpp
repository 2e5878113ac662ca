// A model loaded from a checkpoint or a published folder for sampling or evaluation: parameters only, no training memory.
#pragma once
#include "train/run_folder.hpp"
#include "train/runtime.hpp"

namespace plimsoll {

struct LoadOptions {
  bool generate = true;
  int64_t evaluate_batch = 0;
  bool logits = false;
  bool packed = false;  // the evaluation is of packed windows
  int64_t tiles = 0;    // of pictures in one window, where those can be more than in training
  int threads = 0;
  std::string gemm = "auto";
  // Below this line, if there is one, weights that do not fit are read from their files whenever they are needed.
  std::string memory = "", stream = "auto";  // as the settings of those names
};

struct LoadedModel {
  LoadedModel(const SavedModel& saved, const LoadOptions& options);
  Runtime runtime;
};

}  // namespace plimsoll
