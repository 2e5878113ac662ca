#include "train/settings_table.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/error.hpp"
#include "base/nearest.hpp"

namespace plimsoll {
namespace {

constexpr OnResume agree = OnResume::must_agree;
constexpr OnResume change = OnResume::may_change;
constexpr double a_billion = 1e9;
constexpr double any_seed = 18446744073709551615.0;

const Setting table[] = {
    {"Model", "preset", &Settings::preset, "NAME",
     "model and training to start from: tiny, small, medium, large, nano, baby, gpt2", 0, 0, agree},
    {"Model", "layers", &Settings::layers, "N", "transformer blocks", 1, 1024, agree},
    {"Model", "heads", &Settings::heads, "N", "attention heads; must divide dim", 1, 1024, agree},
    {"Model", "dim", &Settings::dim, "N", "width of the residual stream", 1, 65536, agree},
    {"Model", "ff", &Settings::ff, "N", "width of the feed-forward layer; 4 x dim where only dim is given", 1,
     262144, agree},
    {"Model", "context", &Settings::context, "N", "tokens a window", 1, 1048576, agree},
    {"Model", "positions", &Settings::positions, "N", "rows of the learned position table, at least context",
     1, 1048576, agree},
    {"Model", "vocab", &Settings::vocab, "N", "tokens known; 0: as many as the data has", 0, 16777216, agree},
    {"Model", "tied", &Settings::tied, "", "head shares the token table", 0, 0, agree},
    {"Model", "head_bias", &Settings::head_bias, "", "head has a bias", 0, 0, agree},
    {"Model", "dropout", &Settings::dropout, "X", "share of activations dropped in training", 0, 1, agree,
     Visibility::everywhere, true},

    {"Training", "iterations", &Settings::iterations, "N",
     "optimiser steps in all, those before a resume included", 1, a_billion, change},
    {"Training", "batch", &Settings::batch, "N", "windows at once", 1, 1048576, agree},
    {"Training", "accumulate", &Settings::accumulate, "N", "batches whose gradients make one step", 1,
     1048576, agree},
    {"Training", "lr", &Settings::lr, "X", "highest learning rate", 0, 1000, agree},
    {"Training", "min_lr", &Settings::min_lr, "X",
     "learning rate at the end of the cosine; lr / 10 where only lr is given", 0, 1000, agree},
    {"Training", "warmup", &Settings::warmup, "N", "steps of linear warm-up", 0, a_billion, agree},
    {"Training", "beta1", &Settings::beta1, "X", "AdamW: decay of the mean", 0, 1, agree,
     Visibility::everywhere, true},
    {"Training", "beta2", &Settings::beta2, "X", "AdamW: decay of the square", 0, 1, agree,
     Visibility::everywhere, true},
    {"Training", "epsilon", &Settings::epsilon, "X", "AdamW: added to the root", 1e-30, 1, agree},
    {"Training", "weight_decay", &Settings::weight_decay, "X",
     "AdamW: decay of matrices (not of biases and norms)", 0, 1000, agree},
    {"Training", "clip", &Settings::clip, "X", "largest global norm of the gradient; 0: no limit", 0, 1e30,
     agree},
    {"Training", "seed", &Settings::seed, "N", "start of every random number", 0, any_seed, agree},

    {"Data", "data", &Settings::data, "PATH",
     "UTF-8 text, a file or a folder, or samples with provenance, a file *.jsonl; without it the embedded "
     "grammar",
     0, 0, change},
    {"Data", "tokenizer", &Settings::tokenizer, "char|bytes", "what a token is", 0, 0, agree},
    {"Data", "distrust_lambda", &Settings::distrust_lambda, "X",
     "samples: how much provenance weighs in the loss; 0: not at all", 0, 1, agree},
    {"Data", "shuffle_buffer", &Settings::shuffle_buffer, "N",
     "samples: how many wait to be drawn; 1: in order", 1, 16777216, agree},
    {"Data", "skip_bad", &Settings::skip_bad, "",
     "samples: leave malformed lines out instead of refusing them", 0, 0, change},

    {"Machine", "threads", &Settings::threads, "N", "threads to compute with; 0: all cores", 0, 4096, change},
    {"Machine", "gemm", &Settings::gemm, "auto|native|onednn|cblas|plain", "who multiplies matrices", 0, 0,
     change},
    {"Machine", "isa", &Settings::isa, "auto|plain|avx2|avx512",
     "instruction set of the kernels; auto: the best this processor has", 0, 0, change},
    {"Machine", "memory", &Settings::memory, "SIZE",
     "memory the whole process may use, like 200MB or 50% of the machine's; empty: no line", 0, 0, change},
    {"Machine", "micro_batch", &Settings::micro_batch, "N",
     "windows computed at once, a divisor of batch (the mathematics stays the same); 0: chosen", 0, 1048576,
     change},
    {"Machine", "lanes", &Settings::lanes, "N",
     "micro-batches side by side, a thread and gradients each (the mathematics stays the same); 0: chosen", 0,
     4096, change},
    {"Machine", "loss_rows", &Settings::loss_rows, "N", "rows of logits held at once; 0: chosen", 0,
     a_billion, change},
    {"Machine", "recompute", &Settings::recompute, "HOW",
     "what the backward pass makes again instead of keeping: auto, nothing, cheap, blocks or blocks:N", 0, 0,
     change},

    {"Guard", "guard", &Settings::guard, "on|off",
     "whether the run acts on memory getting short: warns, shrinks, pauses, stops with a checkpoint", 0, 0,
     change},
    {"Guard", "memory_threshold_percentage", &Settings::memory_threshold_percentage, "X",
     "percent of the memory limit that applies from which on the micro-batch is made smaller", 1, 100,
     change},
    {"Guard", "memory_leak_threshold_mb", &Settings::memory_leak_threshold_mb, "X",
     "a leak of more MB than this a step is warned of", 0, a_billion, change},
    {"Guard", "batch_size_reduction_factor", &Settings::batch_size_reduction_factor, "X",
     "what a shrink leaves of the micro-batch", 0.01, 0.99, change},
    {"Guard", "max_memory", &Settings::max_memory, "SIZE",
     "a line for the guard to keep this process below, like 2GB or 10% of the limit that applies; empty: "
     "none",
     0, 0, change},
    {"Guard", "policy", &Settings::policy, "FILE", "TOML file with all keys of the guard's policy", 0, 0,
     change},

    {"Along the way", "log_every", &Settings::log_every, "N", "steps between lines of progress; 0: none", 0,
     a_billion, change},
    {"Along the way", "eval_every", &Settings::eval_every, "N",
     "steps between evaluations; 0: only at the end", 0, a_billion, change},
    {"Along the way", "eval_batches", &Settings::eval_batches, "N", "batches an evaluation looks at", 1,
     a_billion, change},
    {"Along the way", "sample_every", &Settings::sample_every, "N", "steps between samples of text; 0: none",
     0, a_billion, change},
    {"Along the way", "sample_length", &Settings::sample_length, "N", "tokens a sample", 1, a_billion,
     change},
    {"Along the way", "prompt", &Settings::prompt, "TEXT", "how samples begin", 0, 0, change},
    {"Along the way", "checkpoint_every", &Settings::checkpoint_every, "N",
     "steps between checkpoints; 0: only at the end", 0, a_billion, change},
    {"Along the way", "keep", &Settings::keep, "N", "newest checkpoints to keep, besides the best", 1,
     1000000, change},
    {"Along the way", "out", &Settings::out, "FOLDER",
     "run folder to write to; empty: runs/PRESET, numbered where taken", 0, 0, change},
    {"Along the way", "resume", &Settings::resume, "PATH", "run folder or checkpoint to continue", 0, 0,
     change},
    {"Along the way", "metrics", &Settings::metrics, "FILE", "also write metrics as JSON lines", 0, 0,
     change},
    {"Along the way", "tensorboard", &Settings::tensorboard, "FOLDER",
     "also write an event file for TensorBoard", 0, 0, change},
};

template <typename Number>
bool parse_number(std::string_view text, Number& number) {
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() && !text.empty();
}

bool is_choice(std::string_view wanted, std::string_view value) {
  while (!wanted.empty()) {
    size_t bar = std::min(wanted.find('|'), wanted.size());
    if (wanted.substr(0, bar) == value) return true;
    wanted.remove_prefix(std::min(bar + 1, wanted.size()));
  }
  return false;
}

bool has_choices(const Setting& setting) {
  return std::string_view(setting.wanted).find('|') != std::string_view::npos;
}

[[noreturn]] void refuse(const Setting& setting, std::string_view text, std::string_view where) {
  fail_input("{}: '{}' is not {}", where, text, expectation(setting));
}

// Calls with the reference the member points to.
template <typename S, typename F>
auto visit_field(const Setting& setting, S& settings, F&& f) {
  return std::visit([&](auto member) { return f(settings.*member); }, setting.member);
}

}  // namespace

std::string Setting::flag() const {
  std::string text = std::string("--") + name;
  std::replace(text.begin(), text.end(), '_', '-');
  return text;
}

std::string Setting::negative_flag() const { return "--no-" + flag().substr(2); }

std::string Setting::environment() const {
  std::string text = std::string("PLIMSOLL_") + name;
  for (char& c : text)
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  return text;
}

std::span<const Setting> settings_table() { return table; }

const Setting* find_setting(std::string_view name) {
  for (const Setting& setting : table)
    if (setting.name == name) return &setting;
  return nullptr;
}

std::string nearest_setting(std::string_view name) {
  std::vector<std::string> names;
  for (const Setting& setting : table)
    if (setting.visibility == Visibility::everywhere) names.push_back(setting.name);
  return nearest(name, names);
}

bool differs_between_presets(const Setting& setting) {
  const auto& names = preset_names();
  return std::any_of(names.begin(), names.end(), [&](const std::string& name) {
    return text_of(setting, preset(name)) != text_of(setting, preset(names.front()));
  });
}

std::string expectation(const Setting& setting) {
  return std::visit(
      [&]<typename T>(T Settings::*) -> std::string {
        if constexpr (std::is_same_v<T, bool>) return "true or false";
        if constexpr (std::is_same_v<T, uint64_t>) return "a whole number from 0 to 18446744073709551615";
        if constexpr (std::is_same_v<T, int>)
          return fmt::format("a whole number from {} to {}", int64_t(setting.least), int64_t(setting.most));
        if constexpr (std::is_same_v<T, double>)
          return fmt::format("a number from {:g} {} {:g}", setting.least,
                             setting.below_most ? "to below" : "to", setting.most);
        if (has_choices(setting)) {
          std::string choices = setting.wanted;
          for (size_t at; (at = choices.find('|')) != choices.npos;) choices.replace(at, 1, ", ");
          return "one of " + choices;
        }
        return "text without a zero byte or line break";
      },
      setting.member);
}

void check(const Setting& setting, const Settings& settings, std::string_view where) {
  bool good = visit_field(setting, settings, [&]<typename T>(const T& value) {
    if constexpr (std::is_same_v<T, bool> || std::is_same_v<T, uint64_t>)
      return true;
    else if constexpr (std::is_same_v<T, std::string>)
      return has_choices(setting)
                 ? is_choice(setting.wanted, value)
                 : value.find('\0') == value.npos &&
                       (value.find('\n') == value.npos || std::string_view(setting.name) == "prompt");
    else  // written so that NaN is refused
      return value >= setting.least && (setting.below_most ? value < setting.most : value <= setting.most);
  });
  if (!good) refuse(setting, text_of(setting, settings), where);
}

void assign(const Setting& setting, Settings& settings, std::string_view text, std::string_view where) {
  bool read = visit_field(setting, settings, [&]<typename T>(T& value) {
    if constexpr (std::is_same_v<T, bool>) {
      value = text == "true" || text == "1" || text == "yes" || text == "on";
      return value || text == "false" || text == "0" || text == "no" || text == "off";
    } else if constexpr (std::is_same_v<T, std::string>) {
      value = text;
      return true;
    } else {
      return parse_number(text, value);
    }
  });
  if (!read) refuse(setting, text, where);
  check(setting, settings, where);
}

std::string text_of(const Setting& setting, const Settings& settings) {
  return visit_field(setting, settings, [](const auto& value) { return fmt::format("{}", value); });
}

}  // namespace plimsoll
