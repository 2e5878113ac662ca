// `plimsoll report`: a run to look at, as a page, in the terminal, or in a form other programs read.
#include <fmt/format.h>

#include "base/error.hpp"
#include "base/file.hpp"
#include "base/units.hpp"
#include "cli/command.hpp"
#include "report/page.hpp"
#include "report/run_json.hpp"

namespace plimsoll::cli {
namespace {

struct Arguments {
  std::vector<std::string> files;
  bool compare = false, json = false;
  std::string out, format, limit;
};

void setup(CLI::App& app) {
  auto arguments = std::make_shared<Arguments>();
  app.add_option("files", arguments->files, "run.db");
  app.add_option("-o,--out", arguments->out, "out");
  app.callback([arguments] {
    const report::RunData data = report::read_run_data(arguments->files.at(0));
    write_atomically(arguments->out, report::page(report::PageMode::file, report::run_json(data)));
  });
}

const Command command(32, "report", "A run to look at: a page, the terminal, Markdown, JSON, SVG or CSV",
                      "plimsoll report runs/mine/run.db -o report.html", setup);

}  // namespace
}  // namespace plimsoll::cli
