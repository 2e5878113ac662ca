#include "train/settings_table.hpp"

#include <algorithm>

namespace plimsoll {
namespace {

constexpr OnResume agree = OnResume::must_agree;
constexpr OnResume change = OnResume::may_change;
constexpr Setting::Bound below = Setting::Bound::below_most;
constexpr double a_billion = 1e9;
constexpr double any_seed = 18446744073709551615.0;

const Setting table[] = {
    {"Model", "preset", &Settings::preset, "NAME",
     "preset to start from: tiny, small, medium, large, nano, baby or gpt2", 0, 0, agree},
    {"Model", "layers", &Settings::layers, "N", "number of transformer blocks", 1, 1024, agree},
    {"Model", "heads", &Settings::heads, "N", "number of attention heads; must divide dim", 1, 1024, agree},
    {"Model", "dim", &Settings::dim, "N", "width of the residual stream", 1, 65536, agree},
    {"Model", "ff", &Settings::ff, "N",
     "width of the feed-forward layer (default: 4 x dim if only dim is given)", 1, 262144, agree},
    {"Model", "context", &Settings::context, "N", "tokens per window", 1, 1048576, agree},
    {"Model", "positions", &Settings::positions, "N", "rows of the learned position table; at least context",
     1, 1048576, agree},
    {"Model", "vocab", &Settings::vocab, "N", "size of the vocabulary; 0: taken from the data", 0, 16777216,
     agree},
    {"Model", "tied", &Settings::tied, "", "share the output head with the token embedding", 0, 0, agree},
    {"Model", "head_bias", &Settings::head_bias, "", "give the output head a bias", 0, 0, agree},
    {"Model", "dropout", &Settings::dropout, "X", "fraction of activations dropped during training", 0, 1,
     agree, below},

    {"Model", "vision", &Settings::vision, "tiny",
     "begin a small vision-language model from nothing: a tower, a connector and a language model of the "
     "sizes above",
     0, 0, agree},
    {"Model", "window_tiles", &Settings::window_tiles, "N",
     "most tiles of pictures in one window; 0: taken from the data", 0, 65536, agree},

    {"Fine-tuning", "model", &Settings::model, "DIR",
     "folder of a Hugging Face model to start from (config.json, *.safetensors): GPT-2, Llama, Qwen2, Qwen3 "
     "or SmolVLM (Idefics3)",
     0, 0, change},
    {"Fine-tuning", "lora_rank", &Settings::lora_rank, "N",
     "train low-rank adapters of this rank and freeze the model; 0: train the model itself", 0, 4096, agree},
    {"Fine-tuning", "lora_alpha", &Settings::lora_alpha, "X",
     "adapters are scaled by alpha / rank; 0: twice the rank", 0, 1e6, agree},
    {"Fine-tuning", "lora_dropout", &Settings::lora_dropout, "X",
     "fraction of an adapter's input dropped during training", 0, 1, agree, below},
    {"Fine-tuning", "lora_targets", &Settings::lora_targets, "NAMES",
     "matrices with an adapter: all, names such as q_proj,v_proj, in a vision tower tower.all or "
     "tower.q_proj, or a regular "
     "expression of whole module names",
     0, 0, agree},
    {"Fine-tuning", "train_last", &Settings::train_last, "N",
     "train only the last N blocks and the final norm; 0: not so", 0, 1024, agree},
    {"Fine-tuning", "train", &Settings::train_parts, "PARTS",
     "parts of a vision-language model that are trained: lora, connector, tower or text, separated by "
     "commas; "
     "empty: lora if there are adapters, otherwise everything",
     0, 0, agree},

    {"Training", "iterations", &Settings::iterations, "N",
     "total number of optimiser steps, including those before a resume", 1, a_billion, change},
    {"Training", "batch", &Settings::batch, "N", "windows per batch", 1, 1048576, agree},
    {"Training", "accumulate", &Settings::accumulate, "N",
     "batches whose gradients are added up for one step", 1, 1048576, agree},
    {"Training", "lr", &Settings::lr, "X", "maximum learning rate", 0, 1000, agree},
    {"Training", "min_lr", &Settings::min_lr, "X",
     "learning rate at the end of the cosine schedule (default: lr / 10 if only lr is given)", 0, 1000,
     agree},
    {"Training", "tower_lr", &Settings::tower_lr, "X",
     "maximum learning rate of a vision tower, its adapters included; 0: lr", 0, 1000, agree},
    {"Training", "connector_lr", &Settings::connector_lr, "X",
     "maximum learning rate of the connector between tower and language model; 0: lr", 0, 1000, agree},
    {"Training", "warmup", &Settings::warmup, "N", "number of linear warm-up steps", 0, a_billion, agree},
    {"Training", "patience", &Settings::patience, "N",
     "stop after so many evaluations without a lower validation loss, and save each that is the lowest so "
     "far; 0: train to the "
     "last iteration",
     0, a_billion, change},
    {"Training", "optimizer", &Settings::optimizer, "adamw|adamw_8bit",
     "adamw_8bit keeps the moments in 8 bits, with a scale for every 256 elements, in about 2 bytes per "
     "trained parameter "
     "instead of 8",
     0, 0, agree},
    {"Training", "beta1", &Settings::beta1, "X", "AdamW: decay rate of the first moment", 0, 1, agree, below},
    {"Training", "beta2", &Settings::beta2, "X", "AdamW: decay rate of the second moment", 0, 1, agree,
     below},
    {"Training", "epsilon", &Settings::epsilon, "X", "AdamW: term added to the denominator", 1e-30, 1, agree},
    {"Training", "weight_decay", &Settings::weight_decay, "X",
     "AdamW: weight decay of matrices (biases and norms are not decayed)", 0, 1000, agree},
    {"Training", "clip", &Settings::clip, "X", "maximum global gradient norm; 0: no clipping", 0, 1e30,
     agree},
    {"Training", "seed", &Settings::seed, "N", "seed of all random numbers", 0, any_seed, agree},

    {"Data", "data", &Settings::data, "PATH",
     "UTF-8 text, a file or a folder, or samples, a file *.jsonl: with provenance or, with --model, rows for "
     "fine-tuning; without it the embedded grammar",
     0, 0, change},
    {"Data", "tokenizer", &Settings::tokenizer, "char|bytes|model",
     "what one token is: a character, a byte, or what the published model's own tokenizer says", 0, 0, agree},
    {"Data", "chat_template", &Settings::chat_template, "auto|chatml|llama3|plain",
     "how conversations become text; auto: the model's own template, plain if it has none", 0, 0, agree},
    {"Data", "selective_loss", &Settings::selective_loss, "off|conservative|moderate|aggressive",
     "leave out the loss of tokens that only write the structure of JSON", 0, 0, agree},
    {"Data", "selective_keys", &Settings::selective_keys, "NAMES",
     "aggressive selective loss: keys that are structure, separated by commas; empty: all", 0, 0, agree},
    {"Data", "selective_from_epoch", &Settings::selective_from_epoch, "N",
     "epochs before selective loss begins", 0, a_billion, agree},
    {"Data", "distrust_lambda", &Settings::distrust_lambda, "X",
     "samples: weight of the provenance in the loss; 0: ignored", 0, 1, agree},
    {"Data", "shuffle_buffer", &Settings::shuffle_buffer, "N",
     "samples: size of the shuffle buffer; 1: keep the order of the file", 1, 16777216, agree},
    {"Data", "skip_bad", &Settings::skip_bad, "",
     "samples: skip malformed lines instead of refusing the file", 0, 0, change},
    {"Data", "images", &Settings::images, "FOLDER",
     "folder of the pictures that rows name; empty: the folder of the data", 0, 0, change},
    {"Data", "image_buffer", &Settings::image_buffer, "SIZE",
     "memory in which a picture is decoded and cut; larger pictures are refused", 0, 0, change},
    {"Data", "image_draft", &Settings::image_draft, "",
     "scale large JPEGs down while they are decoded: faster and smaller, but not the pixels of transformers",
     0, 0, agree},
    {"Data", "image_cache", &Settings::image_cache, "SIZE",
     "room for what a frozen vision tower has seen, so that it looks once; empty: what a step needs", 0, 0,
     change},
    {"Data", "image_cache_in", &Settings::image_cache_in, "memory|file",
     "where that is: in planned memory, or in a file in the folder of the run", 0, 0, change},
    {"Data", "loaders", &Settings::loaders, "N",
     "threads that decode pictures ahead, each with a buffer; 0: they are decoded when needed", 0, 64,
     change},

    {"Machine", "threads", &Settings::threads, "N", "number of compute threads; 0: all cores", 0, 4096,
     change},
    {"Machine", "gemm", &Settings::gemm, "auto|native|onednn|cblas|plain",
     "implementation of matrix products", 0, 0, change},
    {"Machine", "isa", &Settings::isa, "auto|plain|avx2|avx512",
     "instruction set of the kernels; auto: the best this processor has", 0, 0, change},
    {"Machine", "precision", &Settings::precision, "f32|bf16",
     "numbers that matrix products multiply; bf16 needs AVX512-BF16, and weights and sums stay f32", 0, 0,
     agree},
    {"Machine", "memory", &Settings::memory, "SIZE",
     "memory the whole process may use, such as 200MB or 50% of the machine's; empty: no limit", 0, 0,
     change},
    {"Machine", "micro_batch", &Settings::micro_batch, "N",
     "windows computed at once; must divide batch; does not change the mathematics; 0: automatic", 0, 1048576,
     change},
    {"Machine", "lanes", &Settings::lanes, "N",
     "micro-batches computed in parallel, each with its own thread; 0: automatic", 0, 4096, change},
    {"Machine", "leaves", &Settings::leaves, "N",
     "partial sums from which the gradient of a step is added up in a fixed tree; decides the bits, whatever "
     "the number of lanes and ranks; 0: one per lane",
     0, 4096, change},
    {"Machine", "loss_rows", &Settings::loss_rows, "N", "rows of logits kept at once; 0: automatic", 0,
     a_billion, change},
    {"Machine", "stream", &Settings::stream, "auto|on|off",
     "read the frozen matrices of a published model from its files whenever they are needed, instead of "
     "keeping them; "
     "auto: where --memory asks for it",
     0, 0, change},
    {"Machine", "recompute", &Settings::recompute, "HOW",
     "what the backward pass recomputes instead of keeping: auto, nothing, cheap, blocks or blocks:N", 0, 0,
     change},

    {"Guard", "guard", &Settings::guard, "on|off",
     "react when memory runs short: warn, shrink, pause, stop with a checkpoint", 0, 0, change},
    {"Guard", "memory_threshold_percentage", &Settings::memory_threshold_percentage, "X",
     "percentage of the effective memory limit from which the micro-batch is reduced", 1, 100, change},
    {"Guard", "memory_leak_threshold_mb", &Settings::memory_leak_threshold_mb, "X",
     "warn of a leak of more than this many MB per step", 0, a_billion, change},
    {"Guard", "batch_size_reduction_factor", &Settings::batch_size_reduction_factor, "X",
     "factor by which a shrink reduces the micro-batch", 0.01, 0.99, change},
    {"Guard", "max_memory", &Settings::max_memory, "SIZE",
     "memory the guard keeps this process below, such as 2GB or 10% of the effective limit; empty: none", 0,
     0, change},
    {"Guard", "policy", &Settings::policy, "FILE", "TOML file with the guard's policy", 0, 0, change},

    {"Along the way", "log_every", &Settings::log_every, "N", "steps between progress lines; 0: none", 0,
     a_billion, change},
    {"Along the way", "eval_every", &Settings::eval_every, "N",
     "steps between evaluations; 0: only at the end", 0, a_billion, change},
    {"Along the way", "eval_batches", &Settings::eval_batches, "N", "batches per evaluation", 1, a_billion,
     change},
    {"Along the way", "sample_every", &Settings::sample_every, "N", "steps between text samples; 0: none", 0,
     a_billion, change},
    {"Along the way", "sample_length", &Settings::sample_length, "N", "tokens per sample", 1, a_billion,
     change},
    {"Along the way", "image_samples", &Settings::image_samples, "N",
     "pictures of the validation part the model is asked about at every evaluation, for the report; 0: none",
     0, 16, change},
    {"Along the way", "prompt", &Settings::prompt, "TEXT", "text that samples begin with", 0, 0, change},
    {"Along the way", "checkpoint_every", &Settings::checkpoint_every, "N",
     "steps between checkpoints; 0: only at the end", 0, a_billion, change},
    {"Along the way", "keep", &Settings::keep, "N",
     "number of newest checkpoints to keep besides the best one", 1, 1000000, change},
    {"Along the way", "out", &Settings::out, "FOLDER",
     "run folder to write to; empty: runs/PRESET, with a number if that exists", 0, 0, change},
    {"Along the way", "resume", &Settings::resume, "PATH", "run folder or checkpoint to continue", 0, 0,
     change},
    {"Along the way", "metrics", &Settings::metrics, "FILE", "also write metrics to this file as JSON lines",
     0, 0, change},
    {"Along the way", "tensorboard", &Settings::tensorboard, "FOLDER",
     "also write an event file for TensorBoard", 0, 0, change},
};

}  // namespace

std::span<const Setting> settings_table() { return table; }

const Setting* find_setting(std::string_view name) {
  for (const Setting& setting : table)
    if (setting.name == name) return &setting;
  return nullptr;
}

bool differs_between_presets(const Setting& setting) {
  const auto& names = preset_names();
  return std::any_of(names.begin(), names.end(), [&](const std::string& name) {
    return text_of(setting, preset(name)) != text_of(setting, preset(names.front()));
  });
}

}  // namespace plimsoll
