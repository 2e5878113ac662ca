#include "train/rank_prediction.hpp"

#include <algorithm>
#include <bit>
#include <charconv>
#include <set>

#include "base/error.hpp"
#include "train/budget.hpp"
#include "train/runtime.hpp"
#include "train/step_time.hpp"

namespace plimsoll {
namespace {

struct Unit {
  std::string_view name;
  double factor;
};

double parse_with(std::string_view text, std::span<const Unit> units, std::string_view option,
                  std::string_view example) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string_view unit = text.substr(size_t(end - text.data()));
  for (const Unit& known : units)
    if (error == std::errc() && unit == known.name && number > 0 && number < 1e12)
      return number * known.factor;
  fail_input("{} {}: write it like {}", option, text, example);
}

// Messages that wait for each other: agreeing, one gradient, the loss, and a turn for each other rank to hand partial sums
// and parameters around.
int messages_in_a_row(int ranks) {
  const int depth = std::bit_width(static_cast<unsigned>(ranks - 1));
  return 2 * depth + 1 + 1 + depth + 2 * (ranks - 1);
}

// Assumed, not measured: bytes a second between processes of one machine, for everything a rank receives: copied, and added where it is a gradient.
constexpr double copied_in_memory = 3e9;
// Of a micro-batch's time; assumed as well.
constexpr double backward_share = 0.6;

// The share of the gradient that is complete, and begins its way, before the backward pass ends.
double begun_early(const Program& program) {
  const Graph& graph = *program.graph;
  double all = 0, last = 0;
  for (const Node& node : graph.lists()[size_t(program.train)].nodes()) {
    if (std::string_view(node.op->name()) != "begin_reduction") continue;
    last = 0;
    for (ValueId id : node.in) last += double(graph[id].type.elements());
    all += last;
  }
  return all > 0 ? 1 - last / all : 0;
}

int own_micro_batches(const List& list) {
  const LeafRange leaves = list.leaves();
  int count = 0;
  for (int micro = leaves.first; micro < list.repeats; micro += leaves.all)
    count += std::min(leaves.count, list.repeats - micro);
  return std::max(1, count);
}

RankPrediction predict_one(const Settings& settings, int vocab, const Network& network) {
  const auto& [rank, ranks, on_node, apart] = settings.standing;
  const int threads = thread_count(settings);
  const Way way = unconstrained(settings, vocab, threads);
  const PlannedRun run = plan_run(settings, vocab, way, threads, Effort::quick);
  const List& list = run.program.graph->lists()[size_t(run.program.train)];
  const LeafRange leaves = list.leaves();
  uint64_t own_trees = 0, all_trees = 0, parameters = 0;
  for (int r = 0; r < ranks; ++r)
    largest_within(leaves_of(r, ranks, leaves.all), [&](int, int) { ++all_trees, own_trees += r == rank; });
  for (const ranks::Shard& shard : run.program.shards) parameters += uint64_t(ranks::elements_of(shard));
  const auto own = uint64_t(ranks::elements_of(run.program.shards[size_t(rank)]));
  RankPrediction out{.rank = rank, .plan_bytes = way.plan_bytes, .compute_seconds = way.seconds};
  // Gradients to their owners, then parameters to all.
  const uint64_t reduced[] = {(parameters - own) * own_trees, own * (all_trees - own_trees)},
                 shared[] = {own * uint64_t(ranks - 1), parameters - own};
  out.sent_bytes = sizeof(float) * (reduced[0] + shared[0]);
  out.received_bytes = sizeof(float) * (reduced[1] + shared[1]);
  const auto seconds = [&](const uint64_t(&elements)[2]) {
    // A network sends and receives at once; a processor that copies in memory does one after the other.
    return network.bytes_per_second > 0
               ? sizeof(float) * double(std::max(elements[0], elements[1])) / network.bytes_per_second
               : sizeof(float) * double(elements[1]) / copied_in_memory;
  };
  const double reduction = seconds(reduced);
  if (network.bytes_per_second > 0)
    out.hidden_seconds = std::min(reduction * begun_early(run.program),
                                  backward_share * way.seconds / own_micro_batches(list));
  out.exchange_seconds =
      reduction - out.hidden_seconds + seconds(shared) + network.latency * messages_in_a_row(ranks);
  return out;
}

}  // namespace

double parse_bandwidth(std::string_view text) {
  constexpr Unit units[] = {{"kbit", 125}, {"Mbit", 125e3}, {"Gbit", 125e6}, {"Tbit", 125e9}};
  return parse_with(text, units, "--bandwidth", "10Gbit or 100Mbit");
}

double parse_latency(std::string_view text) {
  constexpr Unit units[] = {{"us", 1e-6}, {"ms", 1e-3}, {"s", 1}};
  return parse_with(text, units, "--latency", "20us or 0.2ms");
}

std::vector<RankPrediction> predict_ranks(Settings settings, int vocab, int ranks, const Network& network) {
  std::vector<RankPrediction> out;
  const double slower = slowness(settings);
  for (int rank : std::set{0, std::min(1, ranks - 1), ranks / 2, ranks - 1}) {
    settings.standing = {rank, ranks, 1, network.bytes_per_second > 0};
    out.push_back(predict_one(settings, vocab, network));
    out.back().compute_seconds *= slower;
  }
  return out;
}

}  // namespace plimsoll
