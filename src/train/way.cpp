#include "train/way.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"
#include "model/families.hpp"
#include "model/idefics3.hpp"
#include "platform/machine.hpp"
#include "train/model_spec.hpp"

namespace plimsoll {
namespace {

constexpr uint64_t most_gradients = 64 << 20;  // bytes of which every lane may have its own

// A frozen model that no line is drawn for: its weights are most of what must be kept, and what else is kept is halved for an
// eighth more time.
bool lean(const Settings& s) { return !s.model.empty() && s.lora_rank > 0 && s.memory.empty(); }

}  // namespace

bool updates_early(const ModelSpec& model) { return trained_count(model) * sizeof(float) > most_gradients; }

int fast_lanes(int repeats, uint64_t parameters, int threads) {
  if (parameters * sizeof(float) > most_gradients) return 1;
  // Lanes on fewer threads than there are leave cores idle: then cutting every node is better.
  for (int lanes = threads; lanes > 1 && 4 * lanes >= 3 * threads; --lanes)
    if (repeats % lanes == 0) return lanes;
  return 1;
}

int lanes_for(int leaves, int threads) {
  const int lanes = std::min(leaves, threads);
  return 4 * lanes >= 3 * threads ? lanes : 1;
}

Cut fast_cut(int batch, int accumulate, const ModelSpec& model, int threads) {
  const uint64_t parameters = trained_count(model);
  // Tokens of one micro-batch: a lane has one core's cache to itself, threads that share nodes have all of them.
  const int64_t in_lanes = 256, together = model.dim <= 512 ? 512 : 1024;
  Cut cut;
  for (int micro = batch; micro >= 1; --micro) {
    if (batch % micro) continue;
    const int lanes = fast_lanes(batch / micro * accumulate, parameters, threads);
    if (lanes > 1 && (micro == 1 || micro * model.context <= in_lanes)) return {micro, lanes};
    if (micro * model.context <= together) cut.micro_batch = std::max(cut.micro_batch, micro);
  }
  return cut;
}

int thread_count(const Settings& settings) {
  if (settings.threads > 0) return settings.threads;
  // A launcher that binds ranks to cores has divided them already.
  const int usable = platform::usable_processors(), all = platform::processors();
  return usable < all ? usable : std::max(1, all / settings.standing.on_node);
}

Way stated_way(const Settings& s, int vocab) {
  const int threads = thread_count(s);
  const int ranks = s.standing.ranks;
  Way way;
  if (s.micro_batch > 0) {
    way.micro_batch = s.micro_batch;
  } else {
    // As one process with all of the threads would cut it, but so that every rank has something to do.
    way.micro_batch =
        fast_cut(s.batch, s.accumulate, model_spec(s, vocab), s.lanes == 1 ? ranks : threads * ranks)
            .micro_batch;
    while (way.micro_batch > 1 &&
           (s.batch % way.micro_batch || s.accumulate * s.batch / way.micro_batch < ranks))
      --way.micro_batch;
  }
  const int repeats = s.accumulate * s.batch / way.micro_batch;
  way.leaves =
      s.leaves > 0 ? s.leaves
      : s.lanes > 0
          ? s.lanes * ranks
          : std::max(ranks, fast_lanes(repeats, trained_count(model_spec(s, vocab)), threads * ranks));
  way.leaves = std::min(way.leaves, repeats);
  const int own = std::max(1, leaves_of(s.standing.rank, ranks, way.leaves).count);
  way.lanes = s.lanes > 0 ? std::min(s.lanes, own) : lanes_for(own, threads);
  if (const auto choice = parse_recompute(s.recompute, s.layers))
    way.recompute = *choice;
  else if (lean(s))
    way.recompute = {Recompute::blocks, (9 * s.layers + 19) / 20};
  else if (s.clip == 0 && updates_early(model_spec(s, vocab)))
    way.recompute = recompute_with_early_updates;
  way.loss_rows = s.loss_rows;
  way.stream = s.stream == "on" && can_stream(s);
  if (way.stream) way.lanes = 1;
  way.staging = saves_in_background(program_options(s, vocab, way));
  return way;
}

ProgramOptions program_options(const Settings& s, int vocab, const Way& way) {
  ProgramOptions o;
  o.model = model_spec(s, vocab, way.stream);
  // A step is batch x accumulate windows, computed micro_batch at a time.
  o.batch = way.micro_batch;
  o.accumulate = s.accumulate * s.batch / way.micro_batch;
  o.rank = s.standing.rank, o.ranks = s.standing.ranks, o.exchange_beside = s.standing.apart;
  const int leaves = std::min(std::max(way.leaves, way.lanes * o.ranks), o.accumulate);
  if (o.accumulate < o.ranks)
    fail_input(
        "{} ranks need as many micro-batches, and a step has {}: give --batch {}, or start fewer ranks",
        o.ranks, o.accumulate, (o.ranks + s.accumulate - 1) / s.accumulate * way.micro_batch);
  if (leaves < o.ranks)
    fail_input("{} ranks need as many leaves, and a step has {}: give --leaves {}, or start fewer ranks",
               o.ranks, leaves, o.ranks);
  o.leaves = leaves_of(o.rank, o.ranks, leaves);
  o.lanes = std::min(way.lanes, o.leaves->count);
  o.loss_rows = way.loss_rows;
  o.few_loss_rows = lean(s);
  o.recompute = way.recompute.how;
  o.recompute_blocks = way.recompute.blocks;
  o.dropout = static_cast<float>(s.dropout);
  o.lora_dropout = static_cast<float>(s.lora_dropout);
  o.weighted = s.distrust_lambda > 0;
  o.packed = s.has_labels();
  if (const auto pictures = picture_tokens(s)) {
    // Where the data is not known yet: no window can hold more, as each has its rows and something around them.
    o.tiles = s.window_tiles > 0 ? s.window_tiles : s.context / (pictures->rows + 2);
    o.picture_buffers = std::max(1, s.loaders) * int64_t(parse_bytes(s.image_buffer));
    o.picture_cache = o.tiles * s.batch * s.accumulate;
    if (!s.image_cache.empty() && s.image_cache_in == "memory")
      o.picture_cache_bytes = parse_bytes(s.image_cache);
  }
  o.adamw = {static_cast<float>(s.beta1),
             static_cast<float>(s.beta2),
             static_cast<float>(s.epsilon),
             static_cast<float>(s.weight_decay),
             1,
             s.optimizer == "adamw_8bit"};
  if (s.tower_lr > 0 || s.connector_lr > 0) {
    if (!picture_tokens(s))
      fail_input("{}: this model has no such part; it goes with a vision-language model",
                 s.tower_lr > 0 ? "tower_lr" : "connector_lr");
    const auto factor = [&](double own) { return own > 0 ? own / s.lr : 1.; };
    o.rate = [tower = factor(s.tower_lr), connector = factor(s.connector_lr)](std::string_view name) {
      const std::string_view part = vision_part(name);
      return part == "tower" ? tower : part == "connector" ? connector : 1.;
    };
  }
  o.clip = static_cast<float>(s.clip);
  o.early_updates = updates_early(o.model);
  o.evaluate_batch = o.batch;
  return o;
}

bool saves_in_background(const ProgramOptions& options) {
  constexpr uint64_t largest_copy = 64 << 20;
  // Steps of adapters take seconds: a save that is waited for is not noticed.
  return !options.model.lora && trained_count(options.model) * 12 <= largest_copy;
}

// Without a line only what is chosen by the number of threads is made definite: the rest follows from the settings.
Settings with_way(Settings settings, const Way& way) {
  settings.micro_batch = way.micro_batch;
  settings.leaves = std::max(way.leaves, way.lanes);
  if (!settings.model.empty()) settings.stream = way.stream ? "on" : settings.stream;
  if (settings.memory.empty()) return settings;
  settings.recompute = recompute_text(way.recompute);
  settings.loss_rows = way.loss_rows;
  return settings;
}

std::string Way::text() const {
  return fmt::format("micro-batch {}{}, recompute {}{}{}{}", micro_batch,
                     lanes > 1 ? fmt::format(" in {} lanes", lanes) : "", recompute_text(recompute),
                     loss_rows ? fmt::format(", {} rows of logits at a time", loss_rows) : "",
                     stream ? ", weights streamed" : "", staging ? ", checkpoints in the background" : "");
}

}  // namespace plimsoll
