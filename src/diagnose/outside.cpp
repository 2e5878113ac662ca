#include "diagnose/outside.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "diagnose/places.hpp"

namespace plimsoll::diagnose {
namespace {

constexpr size_t most_lines = 4096;

}  // namespace

void Outside::add(const heap::MemoryClasses& classes) {
  if (!first_) first_ = classes;
  last_ = classes;
}

void Outside::add(const std::optional<heap::MallocFigures>& figures) {
  if (!figures) return;
  if (!malloc_) malloc_ = Malloc{*figures, *figures};
  malloc_->last = *figures;
}

void Outside::add(const std::vector<std::vector<heap::RunningFrame>>& threads, uint64_t gained) {
  for (const auto& stack : threads) {
    std::vector<Place> places;
    for (const heap::RunningFrame& frame : stack)
      places.push_back(python_place(frame.file, frame.function, frame.line));
    const Place& place = places[place_to_name(places)];
    const std::string key = place.text();
    if (lines_.size() >= most_lines && !lines_.contains(key)) continue;
    RunningLine& line = lines_[key];
    line.file = place.file, line.function = place.function, line.line = place.line;
    ++line.looks;
    line.grown += double(gained) / double(threads.size());
  }
}

std::vector<GrownMapping> Outside::mappings() const {
  std::vector<GrownMapping> kinds;
  if (!first_) return kinds;
  const auto add = [&](const char* kind, uint64_t heap::MemoryClasses::*part) {
    kinds.push_back({kind, *last_.*part, int64_t(*last_.*part) - int64_t(*first_.*part)});
  };
  add("heap and other anonymous memory", &heap::MemoryClasses::anonymous);
  add("mapped files", &heap::MemoryClasses::file);
  add("shared memory", &heap::MemoryClasses::shared);
  add("stacks", &heap::MemoryClasses::stack);
  add("other", &heap::MemoryClasses::other);
  std::stable_sort(kinds.begin(), kinds.end(), [](auto& a, auto& b) { return a.grown > b.grown; });
  return kinds;
}

std::vector<RunningLine> Outside::lines() const {
  std::vector<RunningLine> lines;
  for (const auto& [key, line] : lines_) lines.push_back(line);
  std::stable_sort(lines.begin(), lines.end(), [](auto& a, auto& b) {
    return a.grown != b.grown ? a.grown > b.grown : a.looks > b.looks;
  });
  return lines;
}

}  // namespace plimsoll::diagnose
