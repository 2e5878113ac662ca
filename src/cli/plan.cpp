// `plimsoll plan`: the memory of a run, before there is a run.
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/error.hpp"
#include "base/file.hpp"
#include "base/units.hpp"
#include "cli/command.hpp"
#include "cli/settings_flags.hpp"
#include "platform/memory.hpp"
#include "train/budget.hpp"
#include "train/describe.hpp"
#include "train/model_spec.hpp"
#include "train/rank_prediction.hpp"
#include "train/reading_line.hpp"
#include "train/run_folder.hpp"
#include "train/runtime.hpp"

namespace plimsoll::cli::plan_command {
namespace {

SettingsSources sources;
bool as_json = false, sweep = false;
std::string svg, bandwidth, latency;
int rank_count = 1;

// What the settings come to: the way a line leaves, or the plain one.
Way way_for(const Settings& settings, int vocab, uint64_t overhead) {
  const int threads = thread_count(settings);
  if (settings.memory.empty()) return unconstrained(settings, vocab, threads);
  const uint64_t budget = parse_size(settings.memory).of(machine_memory().total);
  return choose(settings, vocab, threads, budget, overhead);
}

// Ways that no other beats in both memory and time, largest first.
std::vector<Way> frontier(const Settings& settings, int vocab) {
  std::vector<Way> all = ways(settings, vocab, thread_count(settings));
  all.push_back(smallest(settings, vocab, thread_count(settings)));
  predict(all, settings);
  std::stable_sort(all.begin(), all.end(), [](const Way& a, const Way& b) { return a.seconds < b.seconds; });
  std::vector<Way> best;
  for (const Way& way : all)
    if (best.empty() || way.bytes() < best.back().bytes()) best.push_back(way);
  return best;
}

void print_sweep(const Settings& settings, int vocab, uint64_t overhead) {
  const std::vector<Way> best = frontier(settings, vocab);
  if (!svg.empty()) write_durably(svg, sweep_svg(best, overhead));
  if (as_json) {
    nlohmann::ordered_json out;
    for (const Way& way : best)
      out["ways"].push_back({{"memory_bytes", way.bytes() + overhead},
                             {"plan_bytes", way.plan_bytes},
                             {"predicted_ms_per_step", way.seconds * 1e3},
                             {"micro_batch", way.micro_batch},
                             {"lanes", way.lanes},
                             {"recompute", recompute_text(way.recompute)},
                             {"loss_rows", way.loss_rows},
                             {"stream", way.stream},
                             {"staging", way.staging}});
    fmt::print("{}\n", out.dump());
    return;
  }
  fmt::print("{:>12}  {:>12}  {}\n", "--memory", "ms a step", "how");
  for (const Way& way : best)
    fmt::print("{:>12}  {:>12.2f}  {}\n", format_bytes(way.bytes() + overhead), way.seconds * 1e3,
               way.text());
  if (!svg.empty()) fmt::print("Drawn in {}\n", svg);
}

// Of a run on several ranks.
void print_ranks(const Settings& settings, int vocab, uint64_t overhead) {
  const Network network{bandwidth.empty() ? 0 : parse_bandwidth(bandwidth),
                        latency.empty() ? 0 : parse_latency(latency)};
  const std::vector<RankPrediction> all = predict_ranks(settings, vocab, rank_count, network);
  overhead += 14 << 20;  // MPI's: measured, Open MPI 4.1 takes 12 MB, MPICH 4.0 15 MB
  double slowest = 0;
  for (const RankPrediction& r : all) slowest = std::max(slowest, r.compute_seconds + r.exchange_seconds);
  if (as_json) {
    nlohmann::ordered_json out = {{"ranks", rank_count}, {"predicted_ms_per_step", slowest * 1e3}};
    for (const RankPrediction& r : all)
      out["by_rank"].push_back({{"rank", r.rank},
                                {"plan_bytes", r.plan_bytes},
                                {"process_bytes", r.plan_bytes + overhead},
                                {"sent_bytes_per_step", r.sent_bytes},
                                {"received_bytes_per_step", r.received_bytes},
                                {"compute_ms", r.compute_seconds * 1e3},
                                {"exchange_ms", r.exchange_seconds * 1e3},
                                {"hidden_exchange_ms", r.hidden_seconds * 1e3}});
    fmt::print("{}\n", out.dump());
    return;
  }
  fmt::print("{:>6} {:>10} {:>10} {:>10} {:>12} {:>12} {:>12}\n", "rank", "plan", "process", "sent",
             "compute", "exchange", "hidden");
  for (const RankPrediction& r : all)
    fmt::print("{:>6} {:>10} {:>10} {:>10} {:>9.2f} ms {:>9.2f} ms {:>9.2f} ms\n", r.rank,
               format_bytes(r.plan_bytes), format_bytes(r.plan_bytes + overhead), format_bytes(r.sent_bytes),
               r.compute_seconds * 1e3, r.exchange_seconds * 1e3, r.hidden_seconds * 1e3);
  fmt::print("Predicted {:.2f} ms a step on {} ranks\n", slowest * 1e3, rank_count);
}

// What training keeps in memory besides the plan, which the process is measured with: the data, which with pictures also says
// how many tiles a window has, or without it the published model's tokenizer.
class RunData {
 public:
  explicit RunData(Start& start) {
    const Settings& settings = start.state.settings;
    const bool reads = settings.tokenizer == "model" || !settings.model.empty();
    if (settings.vocab == 0 || (reads && !settings.data.empty())) {
      ReadingLine reading(2);
      corpus_ = open_corpus(settings, nullptr, false, reading.progress());
      reading.finish();
      bind_data(start, *corpus_);
    } else if (settings.tokenizer == "model" && settings.vision.empty()) {
      std::error_code ignored;
      if (std::filesystem::exists(std::filesystem::path(settings.model) / "tokenizer.json", ignored))
        tokenizer_ = Tokenizer::of_model(settings.model, settings.chat_template);
    }
  }

 private:
  std::unique_ptr<Corpus> corpus_;
  std::optional<Tokenizer> tokenizer_;
};

void run() {
  Start start;
  start.state.settings = resolve(sources);
  const RunData data(start);
  const Settings& settings = start.state.settings;
  const int vocab = settings.vocab ? settings.vocab : start.state.vocab;
  const uint64_t overhead = planned_overhead(settings);
  if (rank_count < 1 || rank_count > 4096) fail_input("--ranks {}: give 1 to 4096", rank_count);
  if (rank_count == 1 && !(bandwidth.empty() && latency.empty()))
    fail_input("--bandwidth and --latency are for several ranks; give --ranks N");
  if (rank_count > 1 && (sweep || !svg.empty() || !settings.memory.empty()))
    fail_input("--ranks has no sweep, no picture and no memory line; leave those out");
  if (rank_count > 1) return print_ranks(settings, vocab, overhead);
  if (sweep) return print_sweep(settings, vocab, overhead);
  Way way = way_for(settings, vocab, overhead);
  predict({&way, 1}, settings);
  const PlannedRun run = plan_run(settings, vocab, way, thread_count(settings));
  const Graph& graph = *run.program.graph;
  if (!svg.empty()) write_durably(svg, plan_svg(graph, run.plan));
  if (as_json) {
    nlohmann::ordered_json out = {{"preset", settings.model_name()},
                                  {"parameters", run.program.model->count()},
                                  {"plan_bytes", run.plan.total},
                                  {"plan_lower_bound_bytes", run.plan.lower_bound},
                                  {"process_bytes", run.plan.total + way.heap_bytes + overhead},
                                  {"persistent_bytes", run.plan.persistent},
                                  {"transient_bytes", run.plan.transient},
                                  {"scratch_bytes", run.plan.total - run.plan.scratch_offset},
                                  {"threads", run.plan.threads},
                                  {"nodes", graph.lists()[0].nodes().size()},
                                  {"micro_batch", way.micro_batch},
                                  {"lanes", way.lanes},
                                  {"recompute", recompute_text(way.recompute)},
                                  {"loss_rows", way.loss_rows},
                                  {"stream", way.stream},
                                  {"read_bytes_per_step", way.read_bytes},
                                  {"predicted_ms_per_step", way.seconds * 1e3}};
    for (int r = 0; r < role_count; ++r) out["roles"][role_name(Role(r))] = run.plan.by_role[size_t(r)];
    for (const auto& [name, bytes] : bytes_by_purpose(graph, run.plan)) out["roles"][name] = bytes;
    for (int d = 0; d < dtype_count; ++d) out["dtypes"][name_of(DType(d))] = run.plan.by_dtype[size_t(d)];
    for (const auto& [id, place] : largest(graph, run.plan, 10))
      out["largest"].push_back({{"name", graph[id].name},
                                {"role", role_name(graph[id].role)},
                                {"type", graph[id].type.text()},
                                {"bytes", place.bytes},
                                {"offset", place.offset}});
    fmt::print("{}\n", out.dump());
    return;
  }
  fmt::print("{}: {} parameters, batch {} x {}, context {}, {} nodes a step\n{}\n", settings.model_name(),
             format_count(run.program.model->count()), settings.batch, settings.accumulate, settings.context,
             graph.lists()[0].nodes().size(), plan_table(graph, run.plan));
  fmt::print("Whole process: {} | {} | predicted {:.2f} ms a step\n{}\n",
             format_bytes(run.plan.total + way.heap_bytes + overhead), way.text(), way.seconds * 1e3,
             largest_values(graph, run.plan, 10));
  if (!svg.empty()) fmt::print("Drawn in {}\n", svg);
}

Command command(
    20, "plan", "show the memory of a run before training: by role, the largest values, a picture",
    "plimsoll plan --baby --data input.txt --svg plan.svg\n  plimsoll plan --gpt2 --memory 3GB\n  plimsoll "
    "plan --baby --sweep --svg sweep.svg\n  plimsoll plan --gpt2 --batch 64 --ranks 64 --bandwidth 10Gbit "
    "--latency 20us",
    [](Options& options) {
      options.flag("--json", as_json, "print one JSON object");
      options.flag("--sweep", sweep, "print memory against predicted time, to help choose --memory");
      options
          .value(
              "--svg", svg,
              "draw the plan (time across, offsets up, one rectangle per value), or with --sweep the curve")
          .wants("FILE");
      options.value("--ranks", rank_count, "predict memory and time of a run on this many ranks");
      options.value("--bandwidth", bandwidth, "with --ranks: of each rank's network, such as 10Gbit")
          .wants("RATE");
      options.value("--latency", latency, "with --ranks: of a message, such as 20us").wants("TIME");
      add_settings(options, sources);
      options.run(run);
    });

}  // namespace
}  // namespace plimsoll::cli::plan_command
