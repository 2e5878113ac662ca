// A complete run as lists over one set of parameters: a training step (forward, backward, clip, AdamW), an
// evaluation pass, and one token of generation.
#pragma once
#include <functional>
#include <memory>
#include <optional>

#include "graph/differentiate.hpp"
#include "graph/ops.hpp"
#include "model/model.hpp"
#include "model/recompute.hpp"
#include "ranks/exchange.hpp"

namespace plimsoll {

struct ProgramOptions {
  ModelSpec model;
  int64_t batch = 1;   // sequences of one micro-batch
  int accumulate = 1;  // micro-batches of a step
  int lanes = 1;       // micro-batches side by side; at most `accumulate`
  // The partial sums of the gradient this process makes; nothing: one for each lane.
  std::optional<LeafRange> leaves = std::nullopt;
  float dropout = 0;
  float lora_dropout = 0;  // of what adapters see
  bool weighted = false;   // each target's loss counts with a weight that comes with the tokens
  // Windows hold packed samples: positions and targets come with the tokens, and targets of -1 do not count. Moment's
  // loss_scale says how many of a step do.
  bool packed = false;
  ops::AdamWOptions adamw;
  // What a parameter's learning rate is times that of the step; none: 1 for all.
  std::function<double(std::string_view name)> rate = nullptr;
  float clip = 0;              // 0: none
  int64_t loss_rows = 0;       // rows of logits held at once; 0: automatic
  bool few_loss_rows = false;  // automatic: memory counts more than the last percent of time
  Recompute recompute = Recompute::nothing;
  int recompute_blocks = -1;  // with Recompute::blocks, how many of them, from the first; -1: all
  bool train = true, generate = true;
  // Updates inside the backward pass where nothing needs all gradients at once: no clipping, one micro-batch, nothing
  // fetched or reduced. The rest of such a step cannot be interrupted.
  bool early_updates = false;
  uint64_t joined_from = 32 << 20;  // bytes of a gradient that its product then hands on in pieces
  bool keep_gradients = false;      // parameters' gradients can be read after the step; may cost their bytes
  int64_t evaluate_batch = 0;       // sequences of an evaluation pass; 0: no evaluation list
  bool logits = false;              // a list that makes the logits of one window
  int64_t tiles = 0;                // of pictures in one window, at most; 0: none are looked at
  int64_t picture_buffers = 0;      // bytes in which pictures are decoded
  // Where the tower is not trained: tiles whose features are kept, at least, and the bytes that may take.
  int64_t picture_cache = 0;
  uint64_t picture_cache_bytes = 0;
  // Where this process is one of several ranks that make the step together: which one, and how they talk. Without a
  // communicator the program can be planned only.
  int rank = 0, ranks = 1;
  ranks::Team team = {};
  // Gradients travel while the backward pass goes on: a network has time, where the cores of one machine have none.
  bool exchange_beside = true;
};

struct Program {
  std::unique_ptr<Graph> graph;
  std::unique_ptr<Model> model;
  std::vector<Parameter> trained;                    // those of the model that are not frozen
  std::vector<ranks::Shard> shards;                  // by rank, of `trained`; empty where nothing trains
  std::vector<ValueId> first_moment, second_moment;  // as the pieces of the own shard
  std::vector<ValueId> moment_scales;                // two for each of them where moments have 8 bits
  int train = -1, evaluate = -1, generate = -1, window = -1;    // list numbers
  ValueId tokens = no_value, loss = no_value, clip = no_value;  // train: [B, T+1], [1], [2]: factor, norm
  ValueId weights = no_value, cross_entropy = no_value;  // train, weighted: [B T]; [1], the loss without them
  ValueId evaluate_tokens = no_value, evaluate_losses = no_value;  // [B, T+1], [B T]
  // Packed: [B, T] i32 each.
  ValueId positions = no_value, targets = no_value, evaluate_positions = no_value,
          evaluate_targets = no_value;
  ValueId token = no_value, logits = no_value;                 // generate: [1], [1, V]
  ValueId window_tokens = no_value, window_logits = no_value;  // window: [1, T+1], [T, V]
  ValueId window_positions = no_value;                         // packed: [1, T] i32
  // Pictures. Where the tower is trained, lists take pixels, [S, tile tile 3] u8; else what `look` has made of each tile of
  // them, [S seen_rows, seen_width]. In both cases the tiles of a micro-batch follow each other in the order of their tokens.
  ValueId pixels = no_value, seen = no_value, evaluate_pixels = no_value, evaluate_seen = no_value,
          window_pixels = no_value, window_seen = no_value;
  int look = -1;  // the list that looks at one tile: pixels -> seen, and its features [rows, C]
  ValueId look_pixels = no_value, look_seen = no_value, look_features = no_value;
  ValueId picture_buffers = no_value, picture_cache = no_value;  // u8; [tiles, seen_rows seen_width]
  ValueId token_row = no_value, token_features = no_value;  // generate: [1] i32, -1: none; [tiles rows, C]
  std::vector<ValueId> gradients;  // as `trained`, before clipping; readable with keep_gradients only
};

Program record(const ProgramOptions& options);

}  // namespace plimsoll
