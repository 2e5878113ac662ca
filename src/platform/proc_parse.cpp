// The pure part of proc.hpp: parses text. Everything here is fuzzed.
#include <sys/sysmacros.h>

#include <algorithm>

#include "base/text.hpp"
#include "platform/proc.hpp"

namespace plimsoll::proc {

using text::kilobytes;
using text::next_line;
using text::next_word;
using text::number;

std::optional<Stat> parse_stat(std::string_view content) {
  // The name may hold anything, ") R 1" included: it ends at the last closing parenthesis.
  size_t open = content.find('('), close = content.rfind(')');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open) return std::nullopt;
  Stat stat;
  std::string_view before = content.substr(0, open);
  auto pid = number<int>(next_word(before));
  if (!pid || *pid <= 0) return std::nullopt;
  stat.id.pid = *pid;
  // No process has a longer name; the kernel's own workers do, and they are not watched.
  constexpr size_t longest_name = 15;
  stat.name = content.substr(open + 1, std::min(close - open - 1, longest_name));

  std::string_view rest = content.substr(close + 1);
  std::string_view state = next_word(rest);
  if (state.size() != 1) return std::nullopt;
  stat.state = state[0];
  // Fields 4 (parent) to 24 (resident pages), numbered as proc(5) does.
  for (int field = 4; field <= 24; ++field) {
    std::string_view word = next_word(rest);
    auto value = number<int64_t>(word);
    if (!value) {
      // Unsigned fields may exceed the signed range; those we keep do not.
      if (!number<uint64_t>(word)) return std::nullopt;
      value = INT64_MAX;
    }
    uint64_t positive = *value < 0 ? 0 : uint64_t(*value);
    int small = int(std::clamp<int64_t>(*value, INT32_MIN, INT32_MAX));
    switch (field) {
      case 4:
        stat.parent = small;
        break;
      case 5:
        stat.group = small;
        break;
      case 6:
        stat.session = small;
        break;
      case 9:
        stat.exiting = (positive & 4) != 0;  // PF_EXITING
        break;
      case 10:
      case 12:
        stat.faults += positive;
        break;
      case 14:
      case 15:
        stat.cpu_ticks += positive;
        break;
      case 20:
        stat.threads = small;
        break;
      case 22:
        stat.id.start_ticks = positive;
        break;
      case 24:
        stat.resident_pages = positive;
        break;
      default:
        break;
    }
  }
  return stat;
}

std::optional<Statm> parse_statm(std::string_view content) {
  next_word(content);
  auto resident = number<uint64_t>(next_word(content)), shared = number<uint64_t>(next_word(content));
  if (!resident || !shared) return std::nullopt;
  return Statm{*resident, *shared};
}

Status parse_status(std::string_view content) {
  Status status;
  while (!content.empty()) {
    std::string_view line = next_line(content);
    if (auto value = kilobytes(line, "VmRSS:")) status.resident = *value;
    if (auto value = kilobytes(line, "VmSwap:")) status.swap = *value;
    if (auto value = kilobytes(line, "RssShmem:")) status.shmem = *value;
    auto word_after = [&](std::string_view key) {
      std::string_view rest = line.substr(key.size());
      return next_word(rest);
    };
    if (line.starts_with("Uid:")) status.user = number<int>(word_after("Uid:")).value_or(-1);
    if (line.starts_with("Threads:")) status.threads = number<int>(word_after("Threads:")).value_or(0);
    if (line.starts_with("SigIgn:"))
      status.ignored_signals = number<uint64_t>(word_after("SigIgn:"), 16).value_or(0);
  }
  return status;
}

bool Smaps::add_line(std::string_view line) {
  if (line.empty() || (line[0] != 'R' && line[0] != 'P' && line[0] != 'S')) return false;
  auto add = [&](std::string_view key, uint64_t& sum) {
    auto value = kilobytes(line, key);
    if (value) sum = text::add_saturating(sum, *value);
    return value.has_value();
  };
  if (add("Pss_File:", pss_file)) return pss_split = true;
  return add("Rss:", rss) || add("Pss:", pss) || add("Private_Clean:", private_bytes) ||
         add("Private_Dirty:", private_bytes) || add("Shared_Clean:", shared) ||
         add("Shared_Dirty:", shared) || add("Swap:", swap) || add("SwapPss:", swap_pss);
}

std::optional<Smaps> parse_smaps(std::string_view content) {
  Smaps sum;
  bool seen = false;
  while (!content.empty()) {
    std::string_view line = next_line(content);
    seen |= sum.add_line(line) && line.starts_with("Pss:");
  }
  return seen ? std::optional(sum) : std::nullopt;
}

std::optional<Mapping> parse_mapping(std::string_view line) {
  // address perms offset major:minor inode: the address is two hexadecimal numbers, the device likewise.
  std::string_view address = next_word(line);
  const size_t dash = address.find('-');
  if (dash == address.npos || !number<uint64_t>(address.substr(0, dash), 16)) return std::nullopt;
  next_word(line), next_word(line);
  const std::string_view device = next_word(line);
  const size_t colon = device.find(':');
  if (colon == device.npos) return std::nullopt;
  const auto major = number<unsigned>(device.substr(0, colon), 16),
             minor = number<unsigned>(device.substr(colon + 1), 16);
  const auto inode = number<uint64_t>(next_word(line));
  if (!major || !minor || !inode) return std::nullopt;
  return Mapping{makedev(*major, *minor), *inode};
}

std::vector<std::string> parse_cmdline(std::string_view content) {
  std::vector<std::string> arguments;
  while (!content.empty() && content.back() == '\0') content.remove_suffix(1);
  if (content.empty()) return arguments;
  for (;;) {
    size_t end = content.find('\0');
    arguments.emplace_back(content.substr(0, end));
    if (end == std::string_view::npos) return arguments;
    content.remove_prefix(end + 1);
  }
}

void add_mapped_library(std::string_view line, std::vector<std::string>& libraries) {
  // address perms offset device inode path: the path is what is left after five words.
  for (int word = 0; word < 5; ++word) next_word(line);
  size_t slash = line.rfind('/');
  if (slash == std::string_view::npos) return;
  std::string_view name = line.substr(slash + 1);
  // Neighbouring lines map the same file; looking back over all keeps the list free of doubles.
  if (name.empty() || std::find(libraries.rbegin(), libraries.rend(), name) != libraries.rend()) return;
  libraries.emplace_back(name);
}

std::optional<MemoryInfo> parse_meminfo(std::string_view content) {
  MemoryInfo info;
  bool available = false;
  uint64_t reclaimable = 0;
  while (!content.empty()) {
    std::string_view line = next_line(content);
    if (auto value = kilobytes(line, "MemTotal:")) info.total = *value;
    if (auto value = kilobytes(line, "MemFree:")) info.free = *value;
    if (auto value = kilobytes(line, "MemAvailable:")) info.available = *value, available = true;
    if (auto value = kilobytes(line, "Shmem:")) info.shmem = *value;
    if (auto value = kilobytes(line, "SwapTotal:")) info.swap_total = *value;
    if (auto value = kilobytes(line, "SwapFree:")) info.swap_free = *value;
    if (auto value = kilobytes(line, "Buffers:")) reclaimable = text::add_saturating(reclaimable, *value);
    if (auto value = kilobytes(line, "Cached:")) reclaimable = text::add_saturating(reclaimable, *value);
  }
  if (info.total == 0) return std::nullopt;
  // Kernels before 3.14 have no MemAvailable: free plus page cache is the nearest there is.
  if (!available) info.available = text::add_saturating(info.free, reclaimable);
  return info;
}

namespace {
// mountinfo writes space, tab, newline and backslash as \ooo.
std::string unescape_octal(std::string_view word) {
  std::string plain;
  for (size_t i = 0; i < word.size(); ++i) {
    auto code = word[i] == '\\' && i + 3 < word.size() ? number<int>(word.substr(i + 1, 3), 8) : std::nullopt;
    if (code && *code >= 0 && *code < 256)
      plain += char(*code), i += 3;
    else
      plain += word[i];
  }
  return plain;
}
}  // namespace

std::vector<Mount> parse_mountinfo(std::string_view content) {
  std::vector<Mount> mounts;
  while (!content.empty()) {
    std::string_view line = next_line(content);
    for (int word = 0; word < 3; ++word) next_word(line);
    Mount mount;
    mount.root = unescape_octal(next_word(line));
    mount.point = unescape_octal(next_word(line));
    mount.options = next_word(line);
    std::string_view word = next_word(line);
    while (!word.empty() && word != "-") word = next_word(line);  // optional fields end with a dash
    mount.type = next_word(line);
    next_word(line);
    mount.options.append(",").append(next_word(line));
    if (!mount.type.empty()) mounts.push_back(std::move(mount));
  }
  return mounts;
}

}  // namespace plimsoll::proc
