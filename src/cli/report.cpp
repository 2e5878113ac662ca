// `plimsoll report`: a run to look at, as a page, in the terminal, or in a form other programs read.
#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>

#include "base/error.hpp"
#include "base/file.hpp"
#include "base/units.hpp"
#include "cli/command.hpp"
#include "platform/descriptors.hpp"
#include "report/compare.hpp"
#include "report/fleet.hpp"
#include "report/page.hpp"
#include "report/run_json.hpp"
#include "report/text.hpp"

namespace plimsoll::cli::report_command {
namespace {

using report::RunData;

struct Arguments {
  std::vector<std::string> files;
  bool compare = false, json = false;
  std::string out, format, limit;
};

// A run's folder stands for the record in it.
std::string record_in(const std::string& path) {
  return std::filesystem::is_directory(path) ? (std::filesystem::path(path) / "run.db").string() : path;
}

// As asked for, else by the name of the file to write, else for the terminal.
std::string format_of(const Arguments& arguments) {
  if (arguments.json && !arguments.format.empty() && arguments.format != "json")
    fail_input("--json and --format {} ask for different things; give one of them", arguments.format);
  if (arguments.json) return "json";
  if (!arguments.format.empty()) return arguments.format;
  if (arguments.out.empty()) return "terminal";
  const std::string extension = std::filesystem::path(arguments.out).extension().string();
  for (const char* known : {"html", "md", "json", "svg", "csv"})
    if (extension == fmt::format(".{}", known)) return known;
  fail_input(
      "{}: cannot tell a format from this name; end it in .html, .md, .json, .svg or .csv, or give --format",
      arguments.out);
}

report::TerminalOptions terminal() {
  report::TerminalOptions options;
  const platform::TtySize size = platform::tty_size(platform::standard_output);
  if (size.columns >= 40) options.columns = size_t(size.columns);
  options.columns = std::min<size_t>(options.columns, 160);
  const char* no_colour = std::getenv("NO_COLOR");
  options.colour = platform::is_tty(platform::standard_output) && !(no_colour && *no_colour);
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"})
    if (const char* value = std::getenv(name); value && *value) {
      const std::string_view text = value;
      options.unicode = text.find("UTF-8") != text.npos || text.find("utf8") != text.npos;
      break;
    }
  return options;
}

std::string text_of_one(const std::string& format, const RunData& data) {
  if (format == "html")
    return report::page(report::PageMode::file, report::run_json(data), report::sentence_of(data));
  if (format == "json") return report::run_json(data) + "\n";
  if (format == "md") return report::markdown(data);
  if (format == "svg") return report::memory_svg(data);
  if (format == "csv") return report::memory_csv(data);
  return report::terminal_text(data, terminal());
}

std::string text_of_two(const std::string& format, const RunData& a, const RunData& b) {
  if (format == "html")
    return report::page(report::PageMode::file, report::comparison_json(a, b),
                        report::compare(a, b).sentence);
  if (format == "json") return report::comparison_json(a, b) + "\n";
  if (format == "md") return report::markdown_comparison(a, b);
  if (format == "terminal") return report::terminal_comparison(a, b, terminal());
  fail_input("--compare has no form {}; ask for html, md or json", format);
}

std::string text_of_many(const std::string& format, const report::Fleet& fleet) {
  if (format == "html") return report::fleet_page(fleet);
  if (format == "json") return report::fleet_json(fleet) + "\n";
  if (format == "md") return report::fleet_markdown(fleet);
  if (format == "terminal") return report::fleet_terminal(fleet, terminal());
  fail_input("several runs have no form {}; ask for html, md or json", format);
}

void hand_over(const Arguments& arguments, const std::string& text, const std::string& sentence) {
  if (arguments.out.empty()) {
    fmt::print("{}", text);
    return;
  }
  write_atomically(arguments.out, text);
  fmt::print(stderr, "{}\nWritten to {} ({})\n", sentence, arguments.out, format_bytes(text.size()));
}

void run_many(const Arguments& arguments, double limit) {
  const std::string format = format_of(arguments);
  if (format == "html" && arguments.out.empty())
    fail_input("a page needs a file to go to; give -o report.html");
  std::vector<std::string> files;
  for (const std::string& file : arguments.files) files.push_back(record_in(file));
  const report::Fleet fleet = report::read_fleet(files, limit);
  if (fleet.unread == fleet.members.size())
    fail_input("none of {} files is a run: {}", files.size(), fleet.members.front().unread);
  hand_over(arguments, text_of_many(format, fleet), fleet.sentence);
}

void run(const Arguments& arguments) {
  if (arguments.files.empty() || (arguments.compare && arguments.files.size() != 2))
    fail_input("give {}; see `plimsoll report --help`",
               arguments.compare ? "two run files after --compare" : "one run file or several");
  for (const std::string& file : arguments.files) refuse_to_replace(record_in(file), arguments.out);
  const double limit = arguments.limit.empty() ? 0 : double(parse_bytes(arguments.limit, "--limit"));
  if (!arguments.compare && arguments.files.size() > 1) return run_many(arguments, limit);
  const std::string format = format_of(arguments);
  if (format == "html" && arguments.out.empty())
    fail_input("a page needs a file to go to; give -o report.html");
  if (format == "html" && !report::has_charts())
    report::page(report::PageMode::file);  // says what is missing
  const RunData first = report::read_run_data(record_in(arguments.files[0]), limit);
  const std::string text =
      arguments.compare
          ? text_of_two(format, first, report::read_run_data(record_in(arguments.files[1]), limit))
          : text_of_one(format, first);
  hand_over(arguments, text, report::sentence_of(first));
}

void setup(Options& options) {
  auto arguments = std::make_shared<Arguments>();
  options.words("run", arguments->files,
                "run.db, or the folder of a run; several are shown as one, such as the ranks of a job");
  options
      .value("--out", arguments->out,
             "write to this file; the extension chooses the format: .html, .md, .json, .svg or .csv")
      .abbreviated("-o")
      .wants("FILE");
  options
      .value("--format", arguments->format,
             "format of the output, whatever the file is called; without -o it goes to standard output")
      .one_of({"html", "md", "json", "svg", "csv"});
  options.flag("--compare", arguments->compare, "compare two runs, A and B");
  options.value("--limit", arguments->limit, "limit to show, such as 16GB (default: the recorded one)")
      .wants("SIZE");
  options.flag("--json", arguments->json,
               "print one JSON object on standard output; the same as --format json");
  options.run([arguments] { run(*arguments); });
}

const Command command(
    32, "report", "show a run as a page, in the terminal, as Markdown, JSON, SVG or CSV",
    "plimsoll report runs/mine/run.db -o report.html\n  plimsoll report job/run-rank*.db -o job.html", setup);

}  // namespace
}  // namespace plimsoll::cli::report_command
