// Progress as training libraries print it, beside words and tqdm bars: Keras, Lightning, XGBoost, LightGBM, CatBoost, timm,
// MMEngine and the examples of PyTorch.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace plimsoll::observe {

struct StepCount {
  int64_t done, total;  // total 0: not said
};
std::optional<StepCount> library_count(std::string_view line);

// The line without terminal escapes such as colours: itself where it has none, else what is written to `place`.
std::string_view without_escapes(std::string_view line, std::string& place);

}  // namespace plimsoll::observe
