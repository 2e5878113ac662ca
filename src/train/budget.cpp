#include "train/budget.hpp"

#include <algorithm>
#include <optional>
#include <vector>

#include "base/units.hpp"
#include "graph/fetch.hpp"
#include "graph/plan.hpp"
#include "model/families.hpp"
#include "platform/mapped_file.hpp"
#include "platform/memory.hpp"
#include "train/model_spec.hpp"
#include "train/runtime.hpp"
#include "train/step_time.hpp"

namespace plimsoll {
namespace {

// Copying and checking what is read, seconds of a core for each byte: measured with weights streamed from an SSD.
constexpr double reading_cost = 2.5e-10;

// Bytes a second of a disk, for choosing.
constexpr double usual_disk = 1e9;

std::vector<int> divisors(int n) {
  std::vector<int> out;
  for (int d = n; d >= 1; --d)
    if (n % d == 0) out.push_back(d);
  return out;
}

// Holding fewer rows of logits at a time saves nothing to speak of.
bool few_logits(const Settings& settings, int vocab) { return vocab < settings.dim; }

// Measured: a node and its values take 1.4 kB, and a guarded run keeps smaller ways of itself ready. What process_overhead
// counts has room for the first of them. Streaming has a buffer of 1 MiB and a thread.
uint64_t heap_of(const Graph& graph, const Settings& settings, const Way& way) {
  constexpr uint64_t bytes_a_node = 1500, nodes_counted = 150;
  uint64_t nodes = 0;
  for (const List& list : graph.lists()) nodes += list.nodes().size();
  const uint64_t gears = settings.guard == "off" ? 1 : settings.batch == 1 ? 2 : 3;
  return (nodes > nodes_counted ? (nodes - nodes_counted) * bytes_a_node * gears : 0) +
         (way.stream ? uint64_t(2) << 20 : 0);
}

// A way with its bytes and seconds filled in.
Way planned(Way way, const Settings& settings, int vocab, int threads, Effort effort) {
  const PlannedRun run = plan_run(settings, vocab, way, threads, effort);
  way.plan_bytes = run.plan.total;
  const Graph& graph = *run.program.graph;
  const List& list = graph.lists()[static_cast<size_t>(run.program.train)];
  way.seconds = step_seconds(graph, list, threads, settings.isa, settings.precision);
  way.heap_bytes = heap_of(graph, settings, way);
  way.read_bytes = fetched_bytes(list) * uint64_t(own_repeats(list));
  way.seconds = std::max(way.seconds, double(way.read_bytes) / usual_disk);
  return way;
}

}  // namespace

void predict(std::span<Way> ways, const Settings& settings) {
  const double slower = slowness(settings);
  const bool streams =
      std::any_of(ways.begin(), ways.end(), [](const Way& way) { return way.read_bytes > 0; });
  const double disk = streams ? open_pretrained(settings.model)->stream->speed() : usual_disk;
  const double reading = reading_cost / thread_count(settings);
  for (Way& way : ways)
    way.seconds =
        std::max(way.seconds * slower + double(way.read_bytes) * reading, double(way.read_bytes) / disk);
}

ProcessMemory process_memory() {
  release_code_pages();  // as before the plan is mapped: how much of the code is resident now says nothing about then
  return {OwnMemory().resident(), loaded_code_bytes(), heap_bytes(), MappedFile::resident_bytes()};
}

uint64_t process_overhead(const ProcessMemory& now) {
  // Measured with tiny, small and nano: 45 to 53 % of the code is resident at the end. The heap grows by 0.6 MB; stacks, the
  // record and what libraries write to take 1.2 MB.
  constexpr uint64_t more = 2'200'000, more_than_resident = 4'300'000, step = 1 << 20;
  // In steps, as the length of a path or one more option changes the heap by a page or two.
  constexpr uint64_t heap_step = 512 << 10;
  const uint64_t heap = (now.heap + heap_step - 1) / heap_step * heap_step;
  const uint64_t usual = now.code * 55 / 100 + heap + now.data + more;
  if (now.resident <= usual - 3'000'000) return usual;
  return (now.resident + more_than_resident + step - 1) / step * step;
}

namespace {

uint64_t decoding_overhead(const Settings& settings) {
  // Measured with pictures of all formats: of libjpeg, libpng, libwebp and zlib nine tenths become resident, and more of the
  // program's own code than training on text needs.
  constexpr uint64_t decoding = 1'200'000;
  return picture_tokens(settings) ? decoding : 0;
}

}  // namespace

uint64_t process_overhead(const Settings& settings) {
  return process_overhead() + decoding_overhead(settings);
}

uint64_t planned_overhead(const Settings& settings) {
  // Measured: two pages, but half a MiB where a tokenizer was read, which leaves another heap after other options.
  const uint64_t beside = settings.model.empty() ? 32 << 10 : 512 << 10;
  ProcessMemory now = process_memory();
  now.heap += beside;
  return process_overhead(now) + decoding_overhead(settings);
}

const char* smaller_run(const Settings& settings) {
  return settings.model.empty()   ? "a smaller --dim, --layers or --context"
         : settings.lora_rank > 0 ? "a smaller --context or --lora-rank"
                                  : "a smaller --context, or train adapters with --lora-rank";
}

Way unconstrained(const Settings& settings, int vocab, int threads) {
  return planned(stated_way(settings, vocab), settings, vocab, threads, Effort::full);
}

Way smallest(const Settings& settings, int vocab, int threads) {
  Way least;
  least.plan_bytes = UINT64_MAX;
  // Rows of logits trade against nothing else, so a few are tried; fewer windows never need more memory.
  for (int rows : few_logits(settings, vocab) ? std::vector{0} : std::vector{8, 32})
    for (RecomputeChoice recompute :
         {RecomputeChoice{Recompute::cheap, 0}, RecomputeChoice{Recompute::blocks, settings.layers}})
      for (const bool stream : {false, true}) {  // of a small model it costs more than it saves
        if (stream ? !can_stream(settings) : stated_way(settings, vocab).stream) continue;
        const Way way = planned({.micro_batch = 1,
                                 .leaves = settings.leaves,
                                 .recompute = recompute,
                                 .loss_rows = rows,
                                 .staging = false,
                                 .stream = stream},
                                settings, vocab, threads, Effort::full);
        if (way.bytes() < least.bytes()) least = way;
      }
  return least;
}

std::vector<Way> ways(const Settings& settings, int vocab, int threads) {
  const Way stated = stated_way(settings, vocab);
  std::vector<RecomputeChoice> recomputes = {{Recompute::nothing, 0}, {Recompute::cheap, 0}};
  for (int quarter = 1; quarter <= 4; ++quarter) {
    const int blocks = (settings.layers * quarter + 3) / 4;
    if (recomputes.back().blocks != blocks) recomputes.push_back({Recompute::blocks, blocks});
  }
  const int64_t tokens = int64_t(stated.micro_batch) * settings.context;
  // Threads that share every node want larger ones than a lane does.
  const int most =
      settings.micro_batch > 0
          ? stated.micro_batch
          : std::max(
                stated.micro_batch,
                fast_cut(settings.batch, settings.accumulate, model_spec(settings, vocab), 1).micro_batch);
  std::vector<Way> found;
  for (int micro : divisors(settings.batch)) {
    if (micro > most) continue;
    const int repeats = settings.accumulate * settings.batch / micro;
    const auto& [rank, ranks, on_node, apart] = settings.standing;
    if (repeats < ranks && micro > 1) continue;
    const int several =
        micro > stated.micro_batch ? 1
        : settings.leaves > 0
            ? lanes_for(leaves_of(rank, ranks, std::min(settings.leaves, repeats)).count, threads)
            : fast_lanes(repeats / ranks, trained_count(model_spec(settings, vocab)), threads);
    for (const RecomputeChoice& recompute : recomputes)
      for (int rows : {0, 64, 8}) {
        if (rows && (tokens <= rows || few_logits(settings, vocab))) continue;
        for (int lanes : several > 1 ? std::vector{several, 1} : std::vector{1})
          for (bool staging : {true, false})
            for (bool stream : {false, true}) {
              if (staging && !stated.staging) continue;
              if (stream ? lanes > 1 || !can_stream(settings) : stated.stream) continue;
              found.push_back(planned({.micro_batch = micro,
                                       .lanes = lanes,
                                       .leaves = settings.leaves,
                                       .recompute = recompute,
                                       .loss_rows = rows,
                                       .staging = staging,
                                       .stream = stream},
                                      settings, vocab, threads, Effort::quick));
            }
      }
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const Way& a, const Way& b) { return a.seconds < b.seconds; });
  return found;
}

namespace {

// ways() counts whole blocks in quarters of the model: the fewest of them that fit.
Way with_fewest_blocks(const Way& way, const Settings& settings, int vocab, int threads, uint64_t bytes) {
  Way best = planned(way, settings, vocab, threads, Effort::full);
  if (way.recompute.how != Recompute::blocks) return best;
  int fits = way.recompute.blocks, too_few = std::max(0, fits - (settings.layers + 3) / 4);
  while (fits - too_few > 1) {
    Way fewer = way;
    fewer.recompute.blocks = (fits + too_few) / 2;
    fewer = planned(fewer, settings, vocab, threads, Effort::full);
    if (fewer.bytes() <= bytes)
      best = fewer, fits = fewer.recompute.blocks;
    else
      too_few = fewer.recompute.blocks;
  }
  return best;
}

}  // namespace

Way choose(const Settings& settings, int vocab, int threads, uint64_t budget, uint64_t overhead) {
  const uint64_t bytes = budget > overhead ? budget - overhead : 0;
  Way stated = unconstrained(settings, vocab, threads);
  if (stated.bytes() <= bytes) return stated;
  if (settings.micro_batch > 0 && (settings.lanes > 0 || settings.leaves > 0) &&
      settings.recompute != "auto" && stated.staging) {
    stated.staging = false;
    stated = planned(stated, settings, vocab, threads, Effort::full);
    if (stated.bytes() <= bytes) return stated;
  }
  const Way least = smallest(settings, vocab, threads);
  if (least.bytes() > bytes)
    fail_input(
        "--memory {} is below what this run needs: {} bytes at least ({} planned with {}, {} for the process "
        "itself); give "
        "--memory {} or {}",
        format_bytes(budget), least.bytes() + overhead, format_bytes(least.plan_bytes), least.text(),
        format_bytes(overhead + least.heap_bytes), least.bytes() + overhead, smaller_run(settings));
  for (const Way& way : ways(settings, vocab, threads)) {
    if (way.bytes() <= bytes) return with_fewest_blocks(way, settings, vocab, threads, bytes);
  }
  return least;
}

}  // namespace plimsoll
