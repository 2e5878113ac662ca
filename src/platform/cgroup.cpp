#include "platform/cgroup.hpp"

#include <algorithm>
#include <array>
#include <fstream>
#include <sstream>

#include "base/text.hpp"

namespace plimsoll::cgroup {
namespace {

std::optional<std::string> slurp(const std::string& path) {
  std::ifstream file(path);
  if (!file) return std::nullopt;
  std::ostringstream content;
  content << file.rdbuf();
  return content.str();
}

bool lists(std::string_view commas, std::string_view word) {
  while (!commas.empty()) {
    size_t end = commas.find(',');
    if (commas.substr(0, end) == word) return true;
    commas.remove_prefix(end == std::string_view::npos ? commas.size() : end + 1);
  }
  return false;
}

// Where the hierarchy is mounted, below the injected root: /sys/fs/cgroup/memory becomes ROOT/memory.
std::string mounted_at(const proc::Roots& roots, const std::string& point) {
  const std::string usual = "/sys/fs/cgroup";
  return point.compare(0, usual.size(), usual) == 0 ? roots.cgroup + point.substr(usual.size()) : point;
}

// The group's folder relative to the mount. Inside a container the mount shows only a part of the hierarchy:
// its root is cut off, and a path outside of it (a cgroup namespace shows "/..") means the mount itself is
// all we can see.
std::string_view relative_path(std::string_view path, std::string_view mount_root) {
  if (path.find("..") != path.npos) return "";
  if (mount_root == "/") return path == "/" ? "" : path;
  if (path.starts_with(mount_root) && (path.size() == mount_root.size() || path[mount_root.size()] == '/'))
    return path.substr(mount_root.size());
  return "";
}

}  // namespace

std::optional<Membership> parse_membership(std::string_view line) {
  const size_t first = line.find(':'), second = line.find(':', first + 1);
  if (first == line.npos || second == line.npos) return std::nullopt;
  const auto hierarchy = text::number<int>(line.substr(0, first));
  const std::string_view path = line.substr(second + 1);
  if (!hierarchy || path.empty() || path[0] != '/') return std::nullopt;
  return Membership{*hierarchy, line.substr(first + 1, second - first - 1), path};
}

std::optional<uint64_t> parse_limit(std::string_view content) {
  auto bytes = text::number<uint64_t>(text::next_word(content));
  if (!bytes || *bytes >= unlimited) return std::nullopt;
  return bytes;
}

std::optional<uint64_t> parse_stat_value(std::string_view content, std::string_view key) {
  while (!content.empty()) {
    std::string_view line = text::next_line(content);
    if (text::next_word(line) == key) return text::number<uint64_t>(text::next_word(line));
  }
  return std::nullopt;
}

std::vector<Hierarchy> hierarchies(const proc::Files& files, int pid) {
  std::vector<Hierarchy> found;
  std::string text;
  if (files.read(pid, "mountinfo", text, 1 << 20) != proc::Read::ok &&
      files.read("self/mountinfo", text, 1 << 20) != proc::Read::ok)
    return found;
  for (const proc::Mount& mount : proc::parse_mountinfo(text)) {
    const int version = mount.type == "cgroup2"                                    ? 2
                        : mount.type == "cgroup" && lists(mount.options, "memory") ? 1
                                                                                   : 0;
    if (version > 0) found.push_back({mounted_at(files.roots(), mount.point), mount.root, version});
  }
  return found;
}

void each_group(const std::vector<Hierarchy>& hierarchies, std::string_view memberships,
                const EachGroup& each) {
  std::array<char, longest_folder> folder;
  for (const Hierarchy& hierarchy : hierarchies) {
    std::string_view lines = memberships;
    while (!lines.empty()) {
      const auto membership = parse_membership(text::next_line(lines));
      if (!membership) continue;
      if (hierarchy.version == 2 ? membership->hierarchy != 0 : !lists(membership->controllers, "memory"))
        continue;
      std::string_view relative = relative_path(membership->path, hierarchy.root);
      const size_t base = hierarchy.folder.size();
      if (base + relative.size() > folder.size()) continue;
      std::copy(hierarchy.folder.begin(), hierarchy.folder.end(), folder.begin());
      std::copy(relative.begin(), relative.end(), folder.begin() + ptrdiff_t(base));
      for (bool leaf = true;; leaf = false) {
        each({folder.data(), base + relative.size()}, hierarchy.version, leaf);
        if (relative.empty()) break;
        relative = relative.substr(0, relative.rfind('/'));
      }
    }
  }
}

std::vector<Group> groups_of(const proc::Files& files, int pid) {
  std::vector<Group> found;
  std::string text;
  if (files.read(pid, "cgroup", text) != proc::Read::ok) return found;
  each_group(hierarchies(files, pid), text, [&](std::string_view folder, int version, bool leaf) {
    found.push_back({std::string(folder), version, leaf});
  });
  return found;
}

std::optional<Limit> limit_of(const proc::Files& files, int pid) {
  std::optional<Limit> best;
  for (const Group& group : groups_of(files, pid)) {
    auto content = [&](const char* name) { return slurp(group.folder + "/" + name).value_or(""); };
    auto consider = [&](std::optional<uint64_t> bytes) {
      if (!bytes || (best && best->bytes <= *bytes)) return;
      best = Limit{.bytes = *bytes, .version = group.version, .folder = group.folder};
      best->usage = parse_limit(content(group.usage_file())).value_or(0);
      best->reclaimable = parse_stat_value(content("memory.stat"),
                                           group.version == 1 ? "total_inactive_file" : "inactive_file")
                              .value_or(0);
    };
    consider(parse_limit(content(group.limit_file())));
    // Version 1 also knows limits of parents that are not mounted here.
    if (group.version == 1 && group.leaf) {
      auto bytes = parse_stat_value(content("memory.stat"), "hierarchical_memory_limit");
      if (bytes && *bytes < unlimited) consider(bytes);
    }
  }
  return best;
}

}  // namespace plimsoll::cgroup
