#include "watch/census.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/json.hpp"
#include "base/mask.hpp"
#include "base/units.hpp"
#include "platform/datagrams.hpp"

namespace plimsoll::watch {
namespace {

// The package binds its socket as <folder>/plimsoll-<user>/<pid>; the kernel lists the paths of all sockets.
std::string census_inbox(const proc::Files& files, int pid) {
  const std::string end = fmt::format("/{}", pid);
  std::string found;
  const auto state = files.each_line(pid, "net/unix", [&](std::string_view line) {
    const size_t path = line.find(" /");
    if (path == line.npos || !line.ends_with(end)) return;
    line = line.substr(path + 1, line.size() - path - 1 - end.size());
    if (const size_t slash = line.rfind('/'); line.substr(slash + 1).starts_with("plimsoll-"))
      found = std::string(line) + end;
  });
  if (state != proc::Read::ok)
    fail_input("process {} cannot be looked at; give the pid of a living one", pid);
  return found;
}

// Lines stay lines; everything else a terminal might obey is escaped.
std::string shown_lines(const std::string& text) {
  std::string out;
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    out += escape(std::string_view(text).substr(at, end - at)) + "\n";
    at = end + 1;
  }
  return out;
}

}  // namespace

std::string ask_census(const CensusOptions& options) {
  const proc::Files files(options.roots);
  const std::string inbox = census_inbox(files, options.pid);
  if (inbox.empty())
    fail_input(
        "process {} takes no questions; a census needs the Python package: `import plimsoll; "
        "plimsoll.watch()` and steps",
        options.pid);
  const std::string answer =
      platform::ask_datagram(inbox, fmt::format("census {}", options.budget), options.patience);
  if (answer.empty())
    fail_input("process {} has not reached a step within {}; it answers at its next step, epoch or phase",
               options.pid, format_duration(options.patience));
  const auto fields = parse_json<nlohmann::ordered_json>(answer);
  if (!fields.is_object() || !fields.contains("census") || !fields["census"].is_object() ||
      !fields.contains("text") || !fields["text"].is_string())
    fail_input("process {} sent something that is not a census", options.pid);
  if (options.json) return fields["census"].dump() + "\n";
  return shown_lines(fields["text"].get<std::string>());
}

}  // namespace plimsoll::watch
