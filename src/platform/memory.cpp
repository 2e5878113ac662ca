#include "platform/memory.hpp"

#include <fcntl.h>
#include <link.h>
#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <string_view>
#include <utility>

#include "base/error.hpp"
#include "base/units.hpp"

namespace plimsoll {
namespace {

size_t page_size() { return static_cast<size_t>(sysconf(_SC_PAGESIZE)); }

int open_for_reading(const std::string& path) {
  int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) fail("cannot read {}: {}; is /proc mounted?", path, strerror(errno));
  return file;
}

// The whole of a small file into `buffer`; a file of /proc is generated again at every read from its start.
std::string_view read_at_start(int file, char* buffer, size_t size) {
  ssize_t got;
  do got = pread(file, buffer, size, 0);
  while (got < 0 && errno == EINTR);
  return {buffer, got > 0 ? static_cast<size_t>(got) : 0};
}

// The number that follows `label`, which must stand at the start of a line; `missing` otherwise.
uint64_t number_after(std::string_view text, std::string_view label, uint64_t missing = 0) {
  for (size_t at = text.find(label); at != text.npos; at = text.find(label, at + 1)) {
    if (at != 0 && text[at - 1] != '\n') continue;
    text.remove_prefix(at + label.size());
    while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
    uint64_t number = 0;
    auto result = std::from_chars(text.data(), text.data() + text.size(), number);
    return result.ec == std::errc() ? number : missing;
  }
  return missing;
}

// By a debugger, or by strace.
bool is_traced() {
  const int file = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  char buffer[4096];
  const bool traced = number_after(read_at_start(file, buffer, sizeof buffer), "TracerPid:") != 0;
  close(file);
  return traced;
}

}  // namespace

OwnMemory::OwnMemory(const std::string& proc_root)
    : statm_(open_for_reading(proc_root + "/self/statm")), page_(page_size()) {
  try {
    status_ = open_for_reading(proc_root + "/self/status");
  } catch (...) {
    close(statm_);
    throw;
  }
}

OwnMemory::~OwnMemory() {
  close(statm_);
  close(status_);
}

uint64_t OwnMemory::resident() const {
  char buffer[256];
  std::string_view text = read_at_start(statm_, buffer, sizeof buffer);
  size_t space = text.find(' ');
  if (space == text.npos) return 0;
  return number_after(text.substr(space + 1), "") * page_;
}

uint64_t OwnMemory::peak() const {
  char buffer[8192];
  return number_after(read_at_start(status_, buffer, sizeof buffer), "VmHWM:") * 1024;
}

uint64_t loaded_code_bytes() {
  uint64_t bytes = 0;
  dl_iterate_phdr(
      [](dl_phdr_info* object, size_t, void* sum) {
        for (int i = 0; i < object->dlpi_phnum; ++i)
          if (const auto& part = object->dlpi_phdr[i]; part.p_type == PT_LOAD)
            *static_cast<uint64_t*>(sum) += part.p_memsz;
        return 0;
      },
      &bytes);
  return bytes;
}

void release_code_pages() {
  if (is_traced()) return;  // breakpoints of a debugger are written into the code
  dl_iterate_phdr(
      [](dl_phdr_info* object, size_t, void*) {
        const auto* parts = object->dlpi_phdr;
        const size_t page = page_size();
        for (int i = 0; i < object->dlpi_phnum; ++i)
          if (parts[i].p_type == PT_DYNAMIC)
            for (const auto* entry = reinterpret_cast<const ElfW(Dyn)*>(object->dlpi_addr + parts[i].p_vaddr);
                 entry->d_tag != DT_NULL; ++entry)
              if (entry->d_tag == DT_TEXTREL ||
                  (entry->d_tag == DT_FLAGS && (entry->d_un.d_val & DF_TEXTREL)))
                return 0;  // its code was changed when it was loaded
        for (int i = 0; i < object->dlpi_phnum; ++i) {
          if (parts[i].p_type != PT_LOAD || (parts[i].p_flags & PF_W)) continue;
          const uintptr_t begin = (object->dlpi_addr + parts[i].p_vaddr) / page * page,
                          end = object->dlpi_addr + parts[i].p_vaddr + parts[i].p_memsz;
          // Advice: where the kernel keeps the pages (its own code for clocks, say), nothing is lost.
          if (end > begin) madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
        }
        return 0;
      },
      nullptr);
}

uint64_t heap_bytes() {
  const struct mallinfo2 heap = mallinfo2();
  return heap.arena + heap.hblkhd;
}

MachineMemory machine_memory(const std::string& proc_root) {
  int file = open_for_reading(proc_root + "/meminfo");
  char buffer[8192];
  std::string_view text = read_at_start(file, buffer, sizeof buffer);
  close(file);
  MachineMemory memory;
  memory.total = number_after(text, "MemTotal:") * 1024;
  if (memory.total == 0) fail("{}/meminfo has no MemTotal; is /proc mounted?", proc_root);
  memory.free = number_after(text, "MemFree:") * 1024;
  memory.available = number_after(text, "MemAvailable:", memory.free / 1024) * 1024;
  memory.swap_total = number_after(text, "SwapTotal:") * 1024;
  memory.swap_free = number_after(text, "SwapFree:") * 1024;
  return memory;
}

void* reserve_pages(size_t bytes) {
  void* pages =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (pages == MAP_FAILED) return nullptr;
  madvise(pages, bytes, MADV_NOHUGEPAGE);
  return pages;
}

Mapping::Mapping(size_t bytes, Pages pages) : size_(bytes) {
  if (bytes == 0) return;
  size_t page = page_size();
  if (bytes > SIZE_MAX - page) fail("cannot map {}: more than can be addressed", format_bytes(bytes));
  mapped_ = (bytes + page - 1) / page * page;
  void* p = mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED)
    fail("cannot map {}: {}; free memory or make the run smaller", format_bytes(bytes), strerror(errno));
  data_ = static_cast<char*>(p);
  // Without huge pages asked for they are refused: a kernel set to "always" would make more resident than was
  // touched.
  madvise(data_, mapped_, pages == Pages::huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
}

Mapping::~Mapping() { unmap(); }

Mapping::Mapping(Mapping&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)),
      mapped_(std::exchange(other.mapped_, 0)) {}

Mapping& Mapping::operator=(Mapping&& other) noexcept {
  if (this == &other) return *this;
  unmap();
  data_ = std::exchange(other.data_, nullptr);
  size_ = std::exchange(other.size_, 0);
  mapped_ = std::exchange(other.mapped_, 0);
  return *this;
}

void Mapping::unmap() noexcept {
  if (data_) munmap(data_, mapped_);
}

void Mapping::touch(size_t offset, size_t bytes) {
  if (offset > size_ || bytes > size_ - offset)
    fail("cannot touch bytes {} to {} of a mapping of {}", offset, offset + bytes, size_);
  size_t page = page_size();
  for (size_t at = offset / page * page; at < offset + bytes; at += page) {
    volatile char* byte = data_ + at;
    *byte = *byte;
  }
}

void Mapping::release(size_t offset, size_t bytes) {
  if (offset > size_ || bytes > size_ - offset)
    fail("cannot release bytes {} to {} of a mapping of {}", offset, offset + bytes, size_);
  size_t page = page_size();
  size_t first = (offset + page - 1) / page * page;
  // The last page belongs to us whole, even where its end was not asked for.
  size_t last = offset + bytes == size_ ? mapped_ : (offset + bytes) / page * page;
  if (last > first && madvise(data_ + first, last - first, MADV_DONTNEED) != 0)
    fail("cannot release {} of memory: {}", format_bytes(last - first), strerror(errno));
}

}  // namespace plimsoll
