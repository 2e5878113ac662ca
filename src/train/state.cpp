#include "train/state.hpp"

#include <cmath>
#include <filesystem>

#include "base/error.hpp"
#include "base/json.hpp"
#include "train/settings_json.hpp"

namespace plimsoll {
namespace {

// As it is named from any folder.
void name_whole(std::string& path) {
  std::error_code error;
  const auto whole = std::filesystem::absolute(path, error);
  if (!path.empty() && !error) path = whole.lexically_normal().string();
}

}  // namespace

RunState parse_state(std::string_view text) {
  try {
    const auto json = parse_json(text);
    if (json.at("format") != 1)
      fail_input("state has format {}; this version reads 1", json.at("format").dump());
    RunState state;
    state.settings = from_json(json.at("settings"));
    state.tokenizer = Tokenizer::from_json(json.at("tokenizer"));
    state.vocab = json.at("vocab").get<int>();
    if (state.vocab < state.tokenizer.vocabulary())
      fail_input("state has a model vocabulary of {} for a tokenizer of {}", state.vocab,
                 state.tokenizer.vocabulary());
    state.fingerprint = json.at("data").get<std::string>();
    if (json.contains("base")) {
      state.base_checksum = json["base"].at("checksum").get<std::string>();
      state.base_config = json["base"].value("config", "");
    }
    state.step = json.at("step").get<uint64_t>();
    if (json.at("best_loss").is_number()) state.best_loss = json.at("best_loss").get<double>();
    state.best_step = json.at("best_step").get<uint64_t>();
    return state;
  } catch (const nlohmann::json::exception& e) {
    fail_input("the run's state cannot be read ({}); it was not written by Plimsoll or is damaged", e.what());
  }
}

StateText::StateText(const RunState& constant) {
  Settings settings = constant.settings;
  for (std::string* path : {&settings.model, &settings.data, &settings.images}) name_whole(*path);
  nlohmann::json json = {{"format", 1},
                         {"settings", to_json(settings)},
                         {"tokenizer", constant.tokenizer.to_json()},
                         {"vocab", constant.vocab},
                         {"data", constant.fingerprint}};
  if (!constant.base_checksum.empty())
    json["base"] = {
        {"path", settings.model}, {"checksum", constant.base_checksum}, {"config", constant.base_config}};
  text_ = json.dump();
  text_.pop_back();  // the moving numbers follow before the brace
  constant_ = text_.size();
  text_.resize(constant_ + 512);
}

std::string_view StateText::write(uint64_t step, double best_loss, uint64_t best_step) {
  char* at = text_.data() + constant_;
  // The step is the cursor of everything that is drawn: batches, dropout masks and the schedule are functions of it.
  auto end =
      std::isfinite(best_loss)
          ? fmt::format_to_n(at, 512,
                             ",\"step\":{},\"rng\":{{\"counter\":{}}},\"best_loss\":{},\"best_step\":{}}}",
                             step, step, best_loss, best_step)
          : fmt::format_to_n(at, 512,
                             ",\"step\":{},\"rng\":{{\"counter\":{}}},\"best_loss\":null,\"best_step\":{}}}",
                             step, step, best_step);
  return {text_.data(), static_cast<size_t>(end.out - text_.data())};
}

}  // namespace plimsoll
