#include "diagnose/history.hpp"

#include <algorithm>

namespace plimsoll::diagnose {
namespace {

constexpr size_t most_ended = 128, most_groups = 256, most_names = 64;
constexpr uint64_t few_samples = 5;  // a process seen less often than this is short-lived

}  // namespace

int History::group_of(int parent, const std::string& name) {
  auto key = std::make_pair(parent, name);
  if (auto found = group_index_.find(key); found != group_index_.end()) return found->second;
  if (groups_.size() >= most_groups) return -1;
  groups_.emplace_back();
  groups_.back().parent = parent;
  groups_.back().name = name;
  return group_index_[key] = int(groups_.size() - 1);
}

void History::add(const observe::Snapshot& snapshot) {
  if (!begun_) first_ = snapshot.time, begun_ = true;
  last_ = snapshot.time;
  for (const proc::ProcessId& id : snapshot.ended) end(id);
  for (Group& group : groups_) group.alive = 0, group.bytes = 0;
  for (const observe::Process& process : snapshot.processes) {
    if (process.zombie()) continue;
    auto [at, fresh] = processes_.try_emplace(process.id);
    Lifetime& life = at->second;
    if (fresh) {
      life.id = process.id;
      life.parent = process.parent;
      life.first = snapshot.time;
      life.cpu_begin = process.cpu_seconds;
    }
    if (fresh || life.name != process.name) {
      // The name changes with exec; a worker belongs with those it has become like.
      life.name = process.name;
      life.group = group_of(life.parent, life.name);
      if (life.group >= 0) ++groups_[size_t(life.group)].ever;
    }
    if (life.command.size() != process.command.size() || life.command != process.command)
      life.command = process.command;
    life.last = snapshot.time;
    life.bytes = process.footprint();
    life.rss = process.rss;
    life.shared = process.shared;
    life.peak = std::max(life.peak, life.bytes);
    life.cpu_end = process.cpu_seconds;
    life.threads = process.threads;
    life.descriptors = process.descriptors;
    life.state = process.state;
    life.pss_denied = process.pss_denied;
    life.series.add(snapshot.time, life.bytes);
    ++life.samples;
    if (life.group >= 0) {
      Group& group = groups_[size_t(life.group)];
      ++group.alive;
      group.bytes += life.bytes;
    }
  }
  for (Group& group : groups_) {
    group.most_alive = std::max(group.most_alive, group.alive);
    if (!group.series && group.alive >= 2) group.series = std::make_unique<verdict::Series>(1024);
    if (group.series) group.series->add(snapshot.time, group.bytes);
  }
}

void History::end(const proc::ProcessId& id) {
  auto at = processes_.find(id);
  if (at == processes_.end()) return;
  Lifetime& life = at->second;
  if (life.samples < few_samples && last_ - first_ > life.life() * 4) {
    ++short_lived_;
    if (short_lived_names_.size() < most_names || short_lived_names_.count(life.name))
      ++short_lived_names_[life.name];
    processes_.erase(at);
    return;
  }
  life.ended = true;
  if (++ended_kept_ > most_ended) forget_some();
}

// Of those that have ended, the one that lived shortest tells least.
void History::forget_some() {
  auto shortest = processes_.end();
  for (auto at = processes_.begin(); at != processes_.end(); ++at)
    if (at->second.ended && (shortest == processes_.end() || at->second.life() < shortest->second.life()))
      shortest = at;
  if (shortest == processes_.end()) return;
  ++short_lived_;
  if (short_lived_names_.size() < most_names || short_lived_names_.count(shortest->second.name))
    ++short_lived_names_[shortest->second.name];
  processes_.erase(shortest);
  --ended_kept_;
}

}  // namespace plimsoll::diagnose
