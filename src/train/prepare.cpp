#include "train/prepare.hpp"

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>
#include <type_traits>

#include "base/error.hpp"
#include "base/units.hpp"
#include "platform/memory.hpp"
#include "pretrained/pretrained.hpp"
#include "train/budget.hpp"
#include "train/fitting.hpp"
#include "train/settings_json.hpp"
#include "train/smaller_steps.hpp"

namespace plimsoll {
namespace {

// InputError where ranks were not told the same.
void compare_ranks(const ranks::Team& team, const Start& start) {
  const auto same = [&](std::string_view text) {
    const uint64_t hash = std::hash<std::string_view>()(text);
    return team.max(hash) == team.min(hash);
  };
  Settings settings = start.state.settings;
  settings.threads = settings.lanes = 0, settings.memory.clear();  // each rank's own
  const uint64_t step = start.state.step, most = team.max(step), least = team.min(step);
  if (most != least)
    fail_input(
        "the ranks see different checkpoints, of steps {} and {}; the run folder must be the same for all",
        least, most);
  if (!same(to_json(settings).dump()))
    fail_input("the ranks were started with different settings; give all of them the same");
  if (!same(start.state.fingerprint))
    fail_input("the ranks read different data; the files must be the same for all");
}

// All ranks compute the same way: that of the rank with the least room.
void share_way(const ranks::Team& team, Way& way) {
  static_assert(std::is_trivially_copyable_v<Way>);
  std::vector<Way> all(size_t(team.size()), way);
  team.collect(&way, sizeof way, all.data());
  const auto slowest = std::max_element(all.begin(), all.end(),
                                        [](const Way& a, const Way& b) { return a.seconds < b.seconds; });
  Way common = *slowest;
  team.share(&common, sizeof common);
  common.plan_bytes = way.plan_bytes, common.heap_bytes = way.heap_bytes;
  way = common;
}

FittedWay settle_way(const Settings& settings, int vocab, std::optional<guard::Policy>& policy) {
  if (settings.memory.empty()) return {stated_way(settings, vocab), ""};
  FittedWay fitted = fitted_way(settings, vocab, policy);
  predict({&fitted.way, 1}, settings);
  return fitted;
}

// A guarded run can be made smaller while it runs, in few steps below a line, where their heap counts. A run
// without a line of its own is looked at before its memory is taken. `line`: this rank or another one has a line.
Runtime::Extras extras(const Settings& settings, int vocab, const Way& way,
                       const std::optional<guard::Policy>& policy, bool line) {
  Runtime::Extras extras;
  if (policy)
    extras.smaller = smaller_steps(settings, vocab, way, policy->batch_size_reduction_factor, line ? 2 : 4);
  if (settings.memory.empty())
    extras.fits = [&settings, vocab, &policy](uint64_t bytes) {
      refuse_what_cannot_fit(settings, vocab, policy, bytes);
    };
  return extras;
}

std::vector<int32_t> sample_prompt(const Settings& settings, const Corpus& corpus) {
  if (!settings.prompt.empty()) return corpus.tokenizer().encode(settings.prompt);
  // A window's first token: the newline before a sentence of the grammar, or the first token of the text.
  std::vector<int32_t> first(1);
  corpus.window(Split::train, 0, first);
  return first;
}

}  // namespace

PreparedRun prepare(Start start, const ReadingProgress& reading, const ranks::Team& team) {
  // The cheapest refusals come first; memory is taken last.
  std::unique_ptr<Corpus> corpus =
      open_corpus(start.state.settings, start.checkpoint ? &start.state.tokenizer : nullptr, false, reading);
  bind_data(start, *corpus);
  if (!team.alone()) compare_ranks(team, start);
  const Settings& settings = start.state.settings;
  const int vocab = start.state.vocab;
  auto batches = std::make_unique<Batches>(
      *corpus, settings.seed, settings.batch * settings.accumulate, settings.context,
      SampleBatching{size_t(settings.shuffle_buffer), settings.distrust_lambda});
  Evaluation evaluation = Evaluation::subset(*corpus, settings.context,
                                             uint64_t(settings.eval_batches) * uint64_t(settings.batch));
  std::vector<int32_t> prompt = sample_prompt(settings, *corpus);
  const Schedule schedule{settings.lr, settings.min_lr, uint64_t(settings.warmup),
                          uint64_t(settings.iterations)};
  const std::optional<double> floor = corpus->floor(settings.context);
  const kernels::Backend gemm = kernels::open_backend(settings.gemm, settings.isa, settings.precision);
  std::optional<guard::Policy> policy = guard_policy(settings);
  auto [way, note] = settle_way(settings, vocab, policy);
  if (!team.alone()) share_way(team, way);
  if (!note.empty()) start.notes.push_back(note);
  ProgramOptions options = program_options(settings, vocab, way);
  // Ranks have the same ways at hand.
  Runtime::Extras more = extras(settings, vocab, way, policy, team.any(!settings.memory.empty()));
  options.team = team;
  for (ProgramOptions& smaller : more.smaller) smaller.team = team;
  const uint64_t overhead = process_overhead(settings);
  auto runtime = std::make_unique<Runtime>(options, thread_count(settings), gemm, way.staging, more);
  if (!settings.model.empty()) {
    start.state.base_checksum =
        load_published(*runtime, settings, start.checkpoint.has_value(), start.state.base_checksum);
    start.state.base_config = computation_of(open_pretrained(settings.model)->config);
  }
  if (start.checkpoint)
    load(*start.checkpoint, runtime->model_slots(), runtime->optimizer_slots());
  else
    runtime->initialise(settings.seed);
  RunState saved = start.state;
  saved.settings = with_way(std::move(saved.settings), way);
  return {.team = team,
          .start = std::move(start),
          .way = way,
          .saved = std::move(saved),
          .corpus = std::move(corpus),
          .batches = std::move(batches),
          .evaluation = evaluation,
          .floor = floor,
          .prompt = std::move(prompt),
          .schedule = schedule,
          .policy = std::move(policy),
          .gemm = gemm,
          .runtime = std::move(runtime),
          .overhead = overhead};
}

}  // namespace plimsoll
