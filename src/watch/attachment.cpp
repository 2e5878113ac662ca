#include "watch/attachment.hpp"

#include <algorithm>
#include <utility>

namespace plimsoll::watch {
namespace {

constexpr size_t most_processes_asked = 64;

}  // namespace

void Attachment::sample(const observe::Snapshot& snapshot) {
  std::erase_if(known_, [&](const auto& entry) {
    return std::none_of(snapshot.processes.begin(), snapshot.processes.end(),
                        [&](const observe::Process& process) { return process.id == entry.second.id; });
  });
  size_t asked = 0;
  for (const observe::Process& process : snapshot.processes) {
    if (process.zombie()) continue;
    auto [at, is_new] = known_.try_emplace(process.id.pid);
    Known& known = at->second;
    if (is_new) {
      known.id = process.id;
      // What was forked from a process that was woken is awake.
      const auto parent = known_.find(process.parent);
      known.woken = waker_.wake(process.id.pid) || (parent != known_.end() && parent->second.woken);
      if (known.woken) ++seen_.woken;
      known.python = std::make_unique<heap::RemotePython>(files_, process.id.pid);
      known.malloc = std::make_unique<heap::RemoteMalloc>(files_, process.id.pid);
    }
    const uint64_t before = std::exchange(known.bytes, process.footprint());
    if (known.woken || !known.python->found() || ++asked > most_processes_asked) continue;
    const auto threads = known.python->threads();
    seen_.add(threads, before && known.bytes > before ? known.bytes - before : 0);
  }
}

void Attachment::memory(const heap::MemoryClasses& classes) {
  seen_.add(classes);
  heap::MallocFigures all;
  size_t asked = 0;
  for (const auto& [pid, known] : known_) {
    if (!known.malloc->found() || ++asked > most_processes_asked) continue;
    if (const auto figures = known.malloc->read()) all += *figures;
  }
  seen_.add(all.arenas ? std::optional(all) : std::nullopt);
}

}  // namespace plimsoll::watch
