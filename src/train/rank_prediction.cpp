#include "train/rank_prediction.hpp"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>
#include <set>

#include "base/error.hpp"
#include "platform/clock.hpp"
#include "platform/machine.hpp"
#include "platform/other_memory.hpp"
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

// Messages that wait for each other: agreeing, one gradient, the loss, and a turn for each other rank to hand
// partial sums and parameters around.
int messages_in_a_row(int ranks) {
  const int depth = std::bit_width(static_cast<unsigned>(ranks - 1));
  return 2 * depth + 1 + 1 + depth + 2 * (ranks - 1);
}

// Bytes a second that a neighbour's message takes to be copied, measured in some milliseconds: as ranks of
// one machine do it, from more memory than caches hold, to a place that they do.
double copied_in_memory() {
  constexpr size_t all = 32 << 20, message = 512 << 10;
  const std::vector<std::byte> from(all, std::byte(1));
  std::vector<std::byte> to(message);
  double best = 0;
  for (int round = 0; round < 3; ++round) {
    const double began = platform::monotonic_seconds();
    for (size_t at = 0; at < all; at += message)
      if (!platform::read_memory(platform::own_pid(), reinterpret_cast<uint64_t>(&from[at]), to.data(),
                                 message))
        std::memcpy(to.data(), &from[at], message);
    best = std::max(best, all / (platform::monotonic_seconds() - began));
  }
  return best;
}

// The share of a micro-batch's work that follows when its first gradients have begun their way.
double work_beside(const Program& program) {
  const Graph& graph = *program.graph;
  const List& list = graph.lists()[size_t(program.train)];
  double all = 0, before = 0;
  bool begun = false;
  for (size_t n = 0; n < list.loop_end; ++n) {
    const Node& node = list.nodes()[n];
    begun = begun || std::string_view(node.op->name()) == "begin_reduction";
    std::vector<Type> in, out;
    for (ValueId id : node.in) in.push_back(graph[id].type);
    for (ValueId id : node.out) out.push_back(graph[id].type);
    const double work = node.op->work(in, out);
    all += work;
    if (!begun) before += work;
  }
  return all > 0 ? 1 - before / all : 0;
}

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

RankPrediction predict_one(const Settings& settings, int vocab, const Network& network, double copied) {
  const auto& [rank, ranks, on_node, apart] = settings.standing;
  const int threads = thread_count(settings);
  const Way way = unconstrained(settings, vocab, threads);
  const PlannedRun run = plan_run(settings, vocab, way, threads, Effort::quick);
  const List& list = run.program.graph->lists()[size_t(run.program.train)];
  const LeafRange leaves = list.leaves();
  uint64_t own_trees = 0, all_trees = 0, parameters = 0;
  for (int r = 0; r < ranks; ++r) {
    const bool own = r == rank;
    largest_within(leaves_of(r, ranks, leaves.all), [&](int, int) { ++all_trees, own_trees += own; });
  }
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
               : sizeof(float) * double(elements[1]) / copied;
  };
  const double reduction = seconds(reduced);
  if (network.bytes_per_second > 0)
    out.hidden_seconds = std::min(reduction * begun_early(run.program),
                                  work_beside(run.program) * way.seconds / own_micro_batches(list));
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

double in_turns(double seconds, int threads, int processors) {
  constexpr double moved_after = 0.018;  // measured on two processors, Linux 6.18
  const double shared = seconds * threads / processors;
  if (threads % processors == 0) return shared;
  const int turns = (threads + processors - 1) / processors;
  return std::min(shared + moved_after, seconds * turns);
}

std::vector<RankPrediction> predict_ranks(Settings settings, int vocab, int ranks, const Network& network) {
  std::vector<RankPrediction> out;
  // Ranks of one machine share its processors: their threads run at once, or in turn where they are more.
  const bool apart = network.bytes_per_second > 0;
  settings.standing.on_node = apart ? 1 : ranks;
  const int threads = thread_count(settings) * (apart ? 1 : ranks),
            at_once = std::min(threads, std::max(platform::processors(), thread_count(settings)));
  Settings together = settings;
  together.threads = at_once;
  const double slower = slowness(together);
  const double copied = apart ? 0 : copied_in_memory() * at_once / threads;
  for (int rank : std::set{0, std::min(1, ranks - 1), ranks / 2, ranks - 1}) {
    settings.standing = {rank, ranks, apart ? 1 : ranks, apart};
    out.push_back(predict_one(settings, vocab, network, copied));
    out.back().compute_seconds = in_turns(out.back().compute_seconds * slower, threads, at_once);
  }
  return out;
}

}  // namespace plimsoll
