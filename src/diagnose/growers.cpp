#include "diagnose/growers.hpp"

#include <algorithm>

namespace plimsoll::diagnose {
namespace {

constexpr double quarter = 0.25;

uint64_t less(uint64_t a, uint64_t b) { return a - std::min(a, b); }

}  // namespace

// What was there before watching began holds its ground; what is born later starts from nothing.
void Growers::Life::begin_at(double time, uint64_t bytes, bool from_before) {
  stretch_begin = quarter_begin = time;
  held = from_before ? bytes : 0;
  low[0] = bytes, stretches = 1;
}

void Growers::Life::see(double time, uint64_t bytes) {
  now = bytes;
  for (int n = 0; time - quarter_begin >= quarter; ++n) {
    // Further back than the ring reaches there is nothing new to shift in.
    if (n == int(recent.size())) {
      quarter_begin = time;
      break;
    }
    held = std::max(held, recent.front());
    std::move(recent.begin() + 1, recent.end(), recent.begin());
    recent.back() = 0;
    quarter_begin += quarter;
  }
  recent.back() = std::max(recent.back(), bytes);

  if (time - stretch_begin >= stretch) {
    if (stretches == low.size()) {
      for (size_t i = 0; i < low.size() / 2; ++i) low[i] = std::min(low[2 * i], low[2 * i + 1]);
      stretches = low.size() / 2;
      stretch *= 2;
    }
    stretch_begin = time;
    low[stretches++] = bytes;
  }
  low[stretches - 1] = std::min(low[stretches - 1], bytes);
}

uint64_t Growers::Life::growth() const {
  const uint64_t ground = less(now, held);
  if (stretches < 8) return ground;
  const size_t part = stretches / 4, half = stretches / 2;
  const uint64_t then = *std::min_element(low.begin() + half, low.begin() + half + part);
  const uint64_t last = *std::min_element(low.begin() + stretches - part, low.begin() + stretches);
  return std::max(ground, 2 * less(last, then));
}

Growers::Growers() {
  lives_.reserve(4096);
  next_.reserve(4096);
}

void Growers::see(const observe::Snapshot& snapshot, double stood) {
  const double time = snapshot.time - stood;
  next_.clear();
  size_t at = 0;
  for (const observe::Process& process : snapshot.processes) {
    while (at < lives_.size() && lives_[at].id < process.id) ++at;
    if (at < lives_.size() && lives_[at].id == process.id)
      next_.push_back(lives_[at]);
    else
      next_.emplace_back().id = process.id;
    Life& life = next_.back();
    const uint64_t bytes = process.zombie() ? 0 : process.footprint();
    if (life.stretches == 0) life.begin_at(time, bytes, !begun_);
    life.see(time, bytes);
  }
  lives_.swap(next_);
  begun_ = true;
}

uint64_t Growers::growth(const proc::ProcessId& id) const {
  auto at =
      std::lower_bound(lives_.begin(), lives_.end(), id, [](const Life& a, auto& b) { return a.id < b; });
  return at != lives_.end() && at->id == id ? at->growth() : 0;
}

const observe::Process* Growers::grower(const observe::Snapshot& snapshot, uint64_t matter,
                                        const std::vector<proc::ProcessId>& spared) const {
  const observe::Process *fastest = nullptr, *largest = nullptr;
  uint64_t most = 0;
  for (const observe::Process& process : snapshot.processes) {
    if (process.zombie() || std::find(spared.begin(), spared.end(), process.id) != spared.end()) continue;
    const uint64_t growth = this->growth(process.id);
    if (growth > most) fastest = &process, most = growth;
    if (!largest || process.footprint() > largest->footprint()) largest = &process;
  }
  return fastest && most >= matter ? fastest : largest;
}

}  // namespace plimsoll::diagnose
