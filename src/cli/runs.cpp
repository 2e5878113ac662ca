// plimsoll runs: the runs of a folder, a line each.
#include <fmt/format.h>

#include "base/error.hpp"
#include "cli/command.hpp"
#include "report/fleet.hpp"

namespace plimsoll::cli::runs_command {
namespace {

struct Text {
  std::string folder = "runs";
  bool json = false;
};

void run(const Text& text) {
  const std::vector<std::string> files = report::find_runs(text.folder);
  if (files.empty())
    fail_input("there is no run in '{}'; give a folder that holds run folders or run files", text.folder);
  const report::Fleet fleet = report::read_fleet(files);
  fmt::print("{}", text.json ? report::fleet_json(fleet) + "\n" : report::runs_table(fleet));
}

Command command(33, "runs", "list the runs of a folder: model, loss, memory, verdict, when",
                "plimsoll runs runs\n  plimsoll report runs/a runs/b -o both.html", [](Options& options) {
                  auto text = std::make_shared<Text>();
                  options.value("folder", text->folder,
                                "folder that holds run folders or run files (default runs)");
                  options.flag("--json", text->json, "print one JSON object");
                  options.run([text] { run(*text); });
                });

}  // namespace
}  // namespace plimsoll::cli::runs_command
