// `plimsoll train`: trains a model or resumes a run.
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/units.hpp"
#include "cli/command.hpp"
#include "cli/serve_flags.hpp"
#include "cli/settings_flags.hpp"
#include "live/companion.hpp"
#include "platform/signals.hpp"
#include "ranks/mpi_communicator.hpp"
#include "train/guard_json.hpp"
#include "train/trainer.hpp"
#include "verdict/judgement.hpp"

namespace plimsoll::cli::train_command {
namespace {

SettingsSources sources;
bool as_json = false;
live::ServeOptions serve;

nlohmann::ordered_json known(double value) {
  return std::isfinite(value) ? nlohmann::ordered_json(value) : nullptr;
}

// Null where the data is no samples.
nlohmann::ordered_json provenance_json(const TrainResult& r) {
  if (!r.samples) return nullptr;
  auto group = [](const GroupLoss& g) {
    return nlohmann::ordered_json{{"loss", g.targets ? known(g.loss) : nullptr}, {"tokens", g.targets}};
  };
  return {{"distrust_lambda", r.distrust_lambda},
          {"cross_entropy", r.distrust_lambda > 0 ? known(r.cross_entropy) : known(r.loss)},
          {"distrust", r.distrust_lambda > 0 ? known(r.loss - r.cross_entropy) : known(0 * r.loss)},
          {"high", group(r.validation.high)},
          {"low", group(r.validation.low)},
          {"samples", r.samples->samples},
          {"without_auth_weight", r.samples->without_authority},
          {"without_prov_entropy", r.samples->without_entropy},
          {"skipped_lines", r.samples->bad}};
}

nlohmann::ordered_json rank_json(size_t rank, const RankFigures& figures) {
  const RankFigures::Ended& ended = figures.ended;
  return {{"rank", rank},
          {"host", figures.host.data()},
          {"plan_bytes", figures.plan_bytes},
          {"process_bytes", figures.process_bytes},
          {"rss_after_warmup_bytes", ended.rss_after_warmup},
          {"peak_rss_bytes", ended.rss_peak},
          {"ms_per_step", ended.step_seconds * 1e3},
          {"exchange_ms_per_step", ended.exchange.exposed * 1e3},
          {"hidden_exchange_ms_per_step", ended.exchange.hidden * 1e3},
          {"waiting_ms_per_step", ended.exchange.meeting * 1e3}};
}

void print_json(const TrainResult& r) {
  nlohmann::ordered_json out = {
      {"iterations", r.iterations},
      {"parameters", r.parameters},
      {"loss", r.loss},
      {"val_loss", r.validation_loss},
      {"entropy_floor", r.floor ? nlohmann::ordered_json(*r.floor) : nullptr},
      {"iterations_per_second", r.iterations_per_second},
      {"tokens_per_second", r.tokens_per_second},
      {"plan_bytes", r.plan_bytes},
      {"plan_lower_bound_bytes", r.plan_lower_bound_bytes},
      {"rss_after_warmup_bytes", r.rss_after_warmup},
      {"rss_end_bytes", r.rss_end},
      {"peak_rss_bytes", r.rss_peak},
      {"allocations_after_warmup",
       r.allocations_after_warmup ? nlohmann::ordered_json(*r.allocations_after_warmup) : nullptr},
      {"gemm", r.gemm},
      {"threads", r.threads},
      {"val_tokens", r.validation_targets},
      {"val_tokens_in_data", r.validation_part ? nlohmann::ordered_json(*r.validation_part) : nullptr},
      {"seconds", r.seconds},
      {"time_to_first_step", r.seconds_to_first_step},
      {"ms_per_step", r.milliseconds_per_step},
      {"predicted_ms_per_step",
       r.predicted_milliseconds ? nlohmann::ordered_json(*r.predicted_milliseconds) : nullptr},
      {"processor_share", r.processor_share},
      {"end", r.end == TrainResult::End::finished      ? "finished"
              : r.end == TrainResult::End::interrupted ? "interrupted"
              : r.end == TrainResult::End::stopped     ? "stopped"
                                                       : "diverged"},
      {"stopped_early", r.end == TrainResult::End::finished && !r.complete},
      {"out", r.folder},
      {"guard", guard_json(r.guard)},
      {"provenance", provenance_json(r)},
      {"verdict", verdict::to_json({r.verdict, {}})}};
  if (r.pictures)
    out["pictures"] = {{"tiles_looked_at", r.pictures->looked},
                       {"tiles_kept", r.pictures->kept},
                       {"tiles_read", r.pictures->read},
                       {"tiles_damaged", r.pictures->damaged},
                       {"waiting_share", r.waiting_share()}};
  for (size_t rank = 0; rank < r.ranks.size(); ++rank) out["ranks"].push_back(rank_json(rank, r.ranks[rank]));
  fmt::print("{}\n", out.dump());
}

// What a run that was complete already comes to.
void print_nothing_to_do(const TrainResult& r) {
  if (as_json)
    return fmt::print(
        "{}\n",
        nlohmann::ordered_json{
            {"iterations", r.iterations}, {"end", "finished"}, {"nothing_to_do", true}, {"out", r.folder}}
            .dump());
  fmt::print("Nothing to do: {} has done all of its {} iterations; give more with --iterations\n", r.folder,
             format_count(r.iterations));
}

void print_text(const TrainResult& r) {
  fmt::print("Done: {} iterations in {} | {:.1f} it/s, {} tokens/s\n", format_count(r.iterations),
             format_duration(r.seconds), r.iterations_per_second,
             format_count(uint64_t(r.tokens_per_second)));
  if (r.end == TrainResult::End::finished)
    fmt::print("{}Validation loss: {:.4f} over {}{}\n",
               std::isnan(r.loss) ? "" : fmt::format("Loss: {:.4f} | ", r.loss), r.validation_loss,
               targets_text(r.validation_targets, r.validation_part),
               r.floor ? fmt::format(" | Entropy floor: {:.4f} (+{:.1f} %)", *r.floor,
                                     100 * (r.validation_loss / *r.floor - 1))
                       : "");
  if (r.validation.two_groups())
    fmt::print(
        "By provenance: {:.4f} over {} tokens of high, {:.4f} over {} of low | distrust lambda {:g}{}\n",
        r.validation.high.loss, format_count(r.validation.high.targets), r.validation.low.loss,
        format_count(r.validation.low.targets), r.distrust_lambda,
        std::isfinite(r.cross_entropy) ? fmt::format(" | Cross-entropy: {:.4f} | Distrust: {:+.4f}",
                                                     r.cross_entropy, r.loss - r.cross_entropy)
                                       : "");
  if (r.rss_after_warmup > 0)  // 0: no step was left to do
    fmt::print("Memory: {} after warm-up, {} at the end, {} peak{}\n", format_bytes(r.rss_after_warmup),
               format_bytes(r.rss_end), format_bytes(r.rss_peak),
               r.allocations_after_warmup
                   ? fmt::format("; {} allocations after warm-up", format_count(*r.allocations_after_warmup))
                   : "");
  if (!r.ranks.empty()) fmt::print("{}\n", describe_ended(r.ranks));
  fmt::print("{}\n", r.verdict.sentence);
  const char* how = r.end == TrainResult::End::interrupted ? "Interrupted"
                    : r.end == TrainResult::End::stopped   ? "Stopped by the guard"
                                                           : nullptr;
  if (how && r.complete)
    fmt::print("{} after the last iteration, which is saved; measure it with: plimsoll eval {}\n", how,
               r.folder);
  else if (how)
    fmt::print("{} and saved; continue with: plimsoll train --resume {}\n", how, r.folder);
  if (r.end == TrainResult::End::finished)
    fmt::print("Saved in {}; try: plimsoll sample {}\n", r.folder, r.folder);
}

void print(const TrainResult& r) {
  if (r.nothing_to_do) return print_nothing_to_do(r);
  as_json ? print_json(r) : print_text(r);
}

void run() {
  const LeaveAtOnce until_there_is_something_to_save("interrupted; there was nothing to save");
  const ranks::Launch launch = ranks::read_launch();
  const std::unique_ptr<ranks::Communicator> communicator = ranks::open_communicator(launch);
  const ranks::Team team(communicator.get());
  Start start = find_start(sources);
  if (communicator)
    start.state.settings.standing = {team.rank(), team.size(),
                                     std::max(launch.local_size, communicator->near()),
                                     team.any(communicator->near() < team.size())};
  if (communicator)
    communicator->set_advice(fmt::format(
        "; earlier checkpoints are intact, continue on any number of ranks with: plimsoll train --resume {}",
        start.folder.string()));
  // Before anything large is mapped.
  live::Companion server(team.first() ? serve : live::ServeOptions());
  const TrainResult result = train(std::move(start), as_json, &server, team);
  if (team.first()) print(result);
  if (communicator) communicator->finish();
  if (result.end == TrainResult::End::interrupted) exit_code = int(Exit::interrupted);
  if (result.end == TrainResult::End::stopped) exit_code = int(Exit::guarded);
  if (result.end == TrainResult::End::diverged) exit_code = int(Exit::failed);
}

Command command(10, "train", "train a model, or resume a run",
                "plimsoll train --small 5000\n  plimsoll train --nano --data input.txt --out runs/mine "
                "--json\n  plimsoll train --tiny --data samples.jsonl --distrust-lambda 1\n  plimsoll train "
                "--resume runs/mine",
                [](Options& options) {
                  options.flag("--json", as_json,
                               "print one JSON object at the end; everything else goes to stderr");
                  add_serve_flags(options, serve);
                  add_settings(options, sources);
                  options.run(run);
                });

}  // namespace
}  // namespace plimsoll::cli::train_command
