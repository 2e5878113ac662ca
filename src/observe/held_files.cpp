#include "observe/held_files.hpp"

#include <algorithm>

#include "base/text.hpp"

namespace plimsoll::observe {

HeldFiles::HeldFiles(const proc::Files& files) : files_(files), memory_files_(files) {
  held_.reserve(most_files);
}

void HeldFiles::take(const MemoryFile& found, const proc::ProcessId& holder) {
  auto at = std::find_if(held_.begin(), held_.end(), [&](const File& file) {
    return file.inode == found.inode && file.device == found.device;
  });
  if (at == held_.end()) {
    if (held_.size() == held_.capacity()) return;
    at = held_.insert(at, File{});
    at->device = found.device, at->inode = found.inode, at->holder = holder;
    if (found.path.size() < at->path.size())
      std::copy(found.path.begin(), found.path.end(), at->path.begin());
  }
  if (!at->open) at->holder = holder;
  at->bytes = found.bytes, at->open = true;
}

// A file on tmpfs stays when it is closed, until it is removed.
void HeldFiles::look_again(File& file) const {
  const auto now = file.path[0] ? MemoryFiles::at(file.path.data()) : std::nullopt;
  file.bytes = now && now->inode == file.inode && now->device == file.device ? now->bytes : 0;
}

void HeldFiles::measure_mapped(int pid) {
  mapping_ = nullptr;
  files_.each_line(pid, "smaps", [this](std::string_view line) {
    if (auto pss = text::kilobytes(line, "Pss:")) {
      if (mapping_) mapping_->mapped += *pss;
    } else if (auto mapping = proc::parse_mapping(line)) {
      auto at = std::find_if(held_.begin(), held_.end(), [&](const File& file) {
        return file.inode == mapping->inode && file.device == mapping->device;
      });
      mapping_ = at == held_.end() ? nullptr : &*at;
    }
  });
}

bool HeldFiles::measure(std::vector<Process>& processes,
                        const std::function<bool(const Process&)>& may_read) {
  for (File& file : held_) file.open = false, file.mapped = 0;
  Process* first = nullptr;
  for (Process& process : processes) {
    process.held = 0;
    if (process.zombie()) continue;
    if (!first) first = &process;
    const proc::ProcessId& id = process.id;
    memory_files_.each_open(id.pid, [this, &id](const MemoryFile& found) { take(found, id); });
  }
  for (File& file : held_)
    if (!file.open) look_again(file);
  std::erase_if(held_, [](const File& file) { return !file.open && file.bytes == 0; });
  if (held_.empty() || !first) return false;
  uint64_t taken_for_mapped = 0;
  for (const Process& process : processes)
    if (process.shmem > 0)
      may_read(process) ? measure_mapped(process.id.pid) : void(taken_for_mapped += process.shmem);
  for (const File& file : held_) {
    const uint64_t left = file.bytes - std::min(file.bytes, file.mapped),
                   also = std::min(left, taken_for_mapped);
    taken_for_mapped -= also;
    auto at = std::find_if(processes.begin(), processes.end(), [&](const Process& process) {
      return process.id == file.holder && !process.zombie();
    });
    (at == processes.end() ? *first : *at).held += left - also;
  }
  return true;
}

}  // namespace plimsoll::observe
