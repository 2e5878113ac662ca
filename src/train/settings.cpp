#include "train/settings.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>

#include "base/error.hpp"
#include "base/units.hpp"
#include "data/rows.hpp"
#include "pretrained/pretrained.hpp"
#include "train/model_spec.hpp"
#include "train/settings_table.hpp"

namespace plimsoll {
namespace {

// The divisors of dim next to `heads`, as "2 or 4".
std::string dividing_heads(int dim, int heads) {
  int below = std::min(heads, dim), above = heads;
  while (below > 1 && dim % below) --below;
  while (above < dim && dim % above) ++above;
  if (above > dim || above == below || dim % above) return std::to_string(below);
  return fmt::format("{} or {}", below, above);
}

void check_parts(const Settings& s) {
  if (s.train_parts.empty()) return;
  if (s.model.empty()) fail_input("train: it goes with the folder of a published model; give --model DIR");
  bool adapters = false;
  for (const std::string& part : trained_parts(s.train_parts)) {
    if (part != "lora" && part != "connector" && part != "tower" && part != "text")
      fail_input("train: '{}' is no part; give lora, connector, tower or text, separated by commas", part);
    adapters = adapters || part == "lora";
  }
  if (adapters && s.lora_rank == 0) fail_input("train: there are no adapters; give --lora-rank");
  if (!adapters && s.lora_rank > 0)
    fail_input("lora_rank: the adapters are not trained; add lora to --train");
  if (s.train_last > 0) fail_input("train_last: it does not go with --train");
}

void check_tuning(const Settings& s) {
  if (s.model.empty() && (s.lora_rank > 0 || s.train_last > 0))
    fail_input("{}: it goes with the folder of a published model; give --model DIR",
               s.lora_rank > 0 ? "lora_rank" : "train_last");
  if (s.lora_rank == 0 && (s.lora_alpha > 0 || s.lora_dropout > 0 || s.lora_targets != "all"))
    fail_input("{}: there are no adapters; give --lora-rank", s.lora_alpha > 0     ? "lora_alpha"
                                                              : s.lora_dropout > 0 ? "lora_dropout"
                                                                                   : "lora_targets");
  if (s.lora_rank > 0 && s.train_last > 0)
    fail_input("train_last: adapters freeze every block; give --lora-rank or --train-last");
  check_parts(s);
  if (s.lora_targets.empty())
    fail_input("lora_targets: it is empty; give names such as q_proj,v_proj, or all");
}

void check_vision(const Settings& s) {
  vision_defaults(s.vision);
  if (!s.model.empty()) fail_input("vision: it begins from nothing; give either --vision or --model");
  if (s.tokenizer != "model")
    fail_input("tokenizer: --vision has its own, a token a byte and those of pictures; leave it out");
  if (s.head_bias) fail_input("head_bias: the head of --vision has none; leave it out");
  if (s.dropout > 0) fail_input("dropout: --vision has none; leave it out");
  if (!s.data.empty() && !names_rows(s.data))
    fail_input("data: --vision learns from rows with pictures; give --data FILE.jsonl");
}

}  // namespace

bool Settings::has_labels() const { return tokenizer == "model" && names_rows(data); }

std::string Settings::model_name() const {
  if (!vision.empty()) return "vision-" + vision;
  if (model.empty()) return preset;
  const std::filesystem::path whole = std::filesystem::absolute(model).lexically_normal();
  return (whole.has_filename() ? whole : whole.parent_path()).filename().string();
}

void validate(const Settings& s) {
  preset(s.preset);
  check_tuning(s);
  for (const Setting& setting : settings_table()) check(setting, s, setting.name);
  if (s.model.empty() && s.dim % s.heads)
    fail_input("heads: dim {} cannot be split into {} heads; give --heads {}", s.dim, s.heads,
               dividing_heads(s.dim, s.heads));
  if (s.positions < s.context && !s.model.empty())
    fail_input("context: {} tokens are more than the {} this model was made for; give --context {} or less",
               s.context, s.positions, s.positions);
  if (s.positions < s.context)
    fail_input("positions: {} rows are too few for a context of {}; give --positions {} or leave it out",
               s.positions, s.context, s.context);
  if (s.min_lr > s.lr)
    fail_input("min_lr: {:g} is above lr {:g}; give --min-lr {:g} or less", s.min_lr, s.lr, s.lr);
  if (s.patience > 0 && s.eval_every == 0)
    fail_input("patience: it counts evaluations along the way; give --eval-every");
  if ((s.tower_lr > 0 || s.connector_lr > 0) && s.lr == 0)
    fail_input("{}: it is reached in the proportion in which --lr is, which is 0; give --lr",
               s.tower_lr > 0 ? "tower_lr" : "connector_lr");
  if (int64_t{s.batch} * s.context > INT32_MAX)
    fail_input(
        "batch: {} windows of {} tokens are too many at once; give a smaller --batch and more --accumulate",
        s.batch, s.context);
  if (s.tokenizer == "model" && s.model.empty() && s.vision.empty())
    fail_input("tokenizer: it is a published model's; give --model DIR");
  if (!s.vision.empty()) check_vision(s);
  if (s.has_labels() && s.distrust_lambda > 0)
    fail_input("distrust_lambda: rows for fine-tuning have no provenance; leave it out");
  if (!s.has_labels() && s.selective_loss != "off")
    fail_input("selective_loss: it goes with rows for fine-tuning; give --model DIR and --data FILE.jsonl");
  if (s.tokenizer == "bytes" && s.vocab != 0 && s.vocab < 256)
    fail_input("vocab: {} is too few for the bytes tokenizer; give --vocab 256 or leave it out", s.vocab);
  if (s.stream == "on" && !can_stream(s))
    fail_input(
        "stream: nothing of this model is frozen, so nothing can be read when it is needed; leave it out{}",
        s.model.empty() ? "" : ", or give --lora-rank or --train-last");
  if (!s.memory.empty()) parse_size(s.memory, "--memory");
  parse_bytes(s.image_buffer, "--image-buffer");
  if (!s.image_cache.empty()) parse_bytes(s.image_cache, "--image-cache");
  if (s.image_cache.empty() && s.image_cache_in == "file")
    fail_input("image_cache_in: a file needs a size; give --image-cache SIZE");
  if (s.micro_batch > 0 && s.batch % s.micro_batch)
    fail_input("micro_batch: {} does not divide the batch of {}; give a divisor or leave it out",
               s.micro_batch, s.batch);
  parse_recompute(s.recompute, s.layers);
}

std::optional<RecomputeChoice> parse_recompute(std::string_view text, int layers) {
  if (text == "auto") return std::nullopt;
  if (text == "nothing") return RecomputeChoice{Recompute::nothing, 0};
  if (text == "cheap") return RecomputeChoice{Recompute::cheap, 0};
  if (text == "blocks") return RecomputeChoice{Recompute::blocks, layers};
  int blocks = 0;
  if (text.starts_with("blocks:")) {
    const auto [end, error] = std::from_chars(text.data() + 7, text.data() + text.size(), blocks);
    if (error == std::errc() && end == text.data() + text.size() && blocks >= 1 && blocks <= layers)
      return RecomputeChoice{Recompute::blocks, blocks};
  }
  fail_input(
      "recompute: '{}' is not a choice; give auto, nothing, cheap, blocks or blocks:N with N from 1 to {}",
      text, layers);
}

std::string recompute_text(const RecomputeChoice& choice) {
  if (choice.how == Recompute::nothing) return "nothing";
  if (choice.how == Recompute::cheap) return "cheap";
  return fmt::format("blocks:{}", choice.blocks);
}

std::optional<std::string> first_difference(const Settings& saved, const Settings& wanted) {
  for (const Setting& setting : settings_table()) {
    if (setting.on_resume == OnResume::may_change) continue;
    // A vocabulary of 0 is one not known yet.
    if (std::string_view(setting.name) == "vocab" && (saved.vocab == 0 || wanted.vocab == 0)) continue;
    if (std::string_view(setting.name) == "lora_alpha" && saved.adapter_alpha() == wanted.adapter_alpha())
      continue;
    std::string there = text_of(setting, saved), here = text_of(setting, wanted);
    if (there != here)
      return fmt::format("{} is {} in the checkpoint and {} here", setting.name, there, here);
  }
  return std::nullopt;
}

}  // namespace plimsoll
