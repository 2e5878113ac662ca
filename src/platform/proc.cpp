#include "platform/proc.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/error.hpp"
#include "base/text.hpp"

namespace plimsoll::proc {
namespace {

Read from_errno() { return errno == EACCES || errno == EPERM ? Read::denied : Read::gone; }

// "<pid>/<file>" without allocating.
struct Path {
  char text[96];
  Path(int pid, const char* file) { *fmt::format_to_n(text, sizeof text - 1, "{}/{}", pid, file).out = '\0'; }
};

// A descriptor that closes itself; opened without ever blocking on a strange file in a fake root.
struct Descriptor {
  int number;
  Descriptor(int folder, const char* path, int flags = 0)
      : number(openat(folder, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | flags)) {}
  ~Descriptor() {
    if (number >= 0) close(number);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
};

ssize_t read_some(int descriptor, char* to, size_t size) {
  ssize_t got;
  do got = ::read(descriptor, to, size);
  while (got < 0 && errno == EINTR);
  return got;
}

Read read_whole(int folder, const char* path, std::string& text, size_t most) {
  text.clear();
  Descriptor file(folder, path);
  if (file.number < 0) return from_errno();
  // Most files of /proc fit a page and come in one read; asking again only when the page was filled saves a
  // call.
  size_t size = 0, chunk = std::min<size_t>(most, 4096);
  for (;;) {
    text.resize(size + chunk);
    ssize_t got = read_some(file.number, text.data() + size, chunk);
    text.resize(size + size_t(std::max<ssize_t>(got, 0)));
    if (got < 0) return from_errno();
    size = text.size();
    if (size_t(got) < chunk || size >= most) return Read::ok;
    chunk = std::min(most - size, size);
  }
}

}  // namespace

Files::Files(const Roots& roots) : roots_(roots) {
  folder_ = open(roots_.proc.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder_ < 0)
    fail("'{}' cannot be opened; processes can be watched only where /proc is mounted", roots_.proc);
  buffer_.reserve(8192);
}

Files::~Files() { close(folder_); }

void Files::list(std::vector<int>& pids) const {
  pids.clear();
  Descriptor folder(folder_, ".", O_DIRECTORY);
  // Not readdir: a caller that may not allocate gets by with what `pids` has room for.
  alignas(dirent64) char entries[16384];
  ssize_t got;
  while ((got = getdents64(folder.number, entries, sizeof entries)) > 0)
    for (ssize_t at = 0; at < got;) {
      const auto* entry = reinterpret_cast<const dirent64*>(entries + at);
      if (auto pid = text::number<int>(entry->d_name); pid && *pid > 0) pids.push_back(*pid);
      at += entry->d_reclen;
    }
  std::sort(pids.begin(), pids.end());
}

Read Files::read(int pid, const char* file, std::string& text, size_t most) const {
  return read_whole(folder_, Path(pid, file).text, text, most);
}

Read Files::read(const char* file, std::string& text, size_t most) const {
  return read_whole(folder_, file, text, most);
}

Read Files::each_line(int pid, const char* name, const std::function<void(std::string_view)>& line) const {
  Descriptor file(folder_, Path(pid, name).text);
  if (file.number < 0) return from_errno();
  char chunk[16384];
  size_t kept = 0;  // an unfinished line at the front of the chunk
  for (;;) {
    ssize_t got = read_some(file.number, chunk + kept, sizeof chunk - kept);
    if (got < 0) return from_errno();
    std::string_view rest(chunk, kept + size_t(got));
    while (rest.find('\n') != std::string_view::npos) line(text::next_line(rest));
    if (got == 0) {
      if (!rest.empty()) line(rest);
      return Read::ok;
    }
    kept = rest.size() == sizeof chunk ? 0 : rest.size();  // a line longer than the chunk is dropped
    std::copy(rest.end() - ptrdiff_t(kept), rest.end(), chunk);
  }
}

std::optional<Stat> Files::stat(int pid) const {
  if (read(pid, "stat", buffer_, 4096) != Read::ok) return std::nullopt;
  auto stat = parse_stat(buffer_);
  return stat && stat->id.pid == pid ? stat : std::nullopt;
}

Read Files::smaps(int pid, Smaps& sum) const {
  Read result = read(pid, "smaps_rollup", buffer_, 8192);
  if (result == Read::ok) {
    if (auto rollup = parse_smaps(buffer_)) return sum = *rollup, Read::ok;
    return Read::gone;  // a zombie has no memory and an empty file
  }
  if (result == Read::denied) return result;
  sum = {};
  bool seen = false;
  result = each_line(pid, "smaps", [&](std::string_view line) { seen |= sum.add_line(line); });
  return result == Read::ok && !seen ? Read::gone : result;
}

int Files::descriptors(int pid) const {
  Path path(pid, "fd");
  struct stat facts;
  if (fstatat(folder_, path.text, &facts, 0) != 0) return -1;
  // Since Linux 6.2 the folder's size is the count; the same call says nothing of permission, the folder's
  // mode does.
  if (facts.st_size > 0 && faccessat(folder_, path.text, R_OK, AT_EACCESS) == 0 && roots_.proc == "/proc")
    return int(facts.st_size);
  DIR* folder = fdopendir(openat(folder_, path.text, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder) return -1;
  int count = 0;
  while (dirent* entry = readdir(folder)) count += entry->d_name[0] != '.';
  closedir(folder);
  return count;
}

int Files::newest_pid() const {
  if (read("loadavg", buffer_, 256) != Read::ok) return 0;
  std::string_view line(buffer_), last;
  for (std::string_view word; !(word = text::next_word(line)).empty();) last = word;
  return text::number<int>(last).value_or(0);
}

bool Files::hides_processes() const {
  std::string text;
  if (read("self/mountinfo", text, 1 << 20) != Read::ok) return false;
  for (const Mount& mount : parse_mountinfo(text))
    if (mount.type == "proc" && mount.options.find("hidepid=") != std::string::npos &&
        mount.options.find("hidepid=0") == std::string::npos &&
        mount.options.find("hidepid=off") == std::string::npos)
      return true;
  return false;
}

uint64_t page_size() {
  static const uint64_t size = uint64_t(sysconf(_SC_PAGESIZE));
  return size;
}

double ticks_per_second() {
  static const double ticks = double(sysconf(_SC_CLK_TCK));
  return ticks;
}

}  // namespace plimsoll::proc
