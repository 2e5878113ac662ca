// `plimsoll plan`: the memory of a run, before there is a run.
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/file.hpp"
#include "base/units.hpp"
#include "cli/command.hpp"
#include "cli/settings_flags.hpp"
#include "train/describe.hpp"
#include "train/run_folder.hpp"

namespace plimsoll::cli {
namespace {

SettingsSources sources;
bool as_json = false;
std::string svg;

void run() {
  const Settings settings = resolve(sources);
  const int vocab = settings.vocab ? settings.vocab : open_corpus(settings)->vocabulary();
  const PlannedRun run = plan_run(settings, vocab, thread_count(settings), saves_in_background(program_options(settings, vocab)));
  const Graph& graph = *run.program.graph;
  if (!svg.empty()) write_durably(svg, plan_svg(graph, run.plan));
  if (as_json) {
    nlohmann::ordered_json out = {{"preset", settings.preset},          {"parameters", run.program.model->count()}, {"plan_bytes", run.plan.total},
                                  {"plan_lower_bound_bytes", run.plan.lower_bound}, {"persistent_bytes", run.plan.persistent},
                                  {"transient_bytes", run.plan.transient}, {"scratch_bytes", run.plan.total - run.plan.scratch_offset},
                                  {"threads", run.plan.threads},          {"nodes", graph.lists()[0].nodes().size()}};
    for (int r = 0; r < role_count; ++r) out["roles"][role_name(Role(r))] = run.plan.by_role[size_t(r)];
    for (const auto& [id, place] : largest(graph, run.plan, 10))
      out["largest"].push_back({{"name", graph[id].name}, {"role", role_name(graph[id].role)}, {"bytes", place.bytes}, {"offset", place.offset}});
    fmt::print("{}\n", out.dump());
    return;
  }
  fmt::print("{}: {} parameters, batch {} x {}, context {}, {} nodes a step\n{}\n{}\n", settings.preset, format_count(run.program.model->count()),
             settings.batch, settings.accumulate, settings.context, graph.lists()[0].nodes().size(), plan_table(run.plan),
             largest_values(graph, run.plan, 10));
  if (!svg.empty()) fmt::print("Drawn in {}\n", svg);
}

Command command(20, "plan", "show the memory of a run before training: by role, the largest values, a picture",
                "plimsoll plan --baby --data input.txt --svg plan.svg", [](CLI::App& app) {
                  app.add_flag("--json", as_json, "print one JSON object");
                  app.add_option("--svg", svg, "draw the plan: time across, offsets up, a rectangle a value")->type_name("FILE");
                  add_settings(app, sources);
                  app.callback(run);
                });

}  // namespace
}  // namespace plimsoll::cli
