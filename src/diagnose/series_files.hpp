// Reads recorded memory series from common file formats: CSV, JSON lines, mprof `.dat`, psrecord logs,
// Prometheus range queries.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "verdict/verdict.hpp"

namespace plimsoll::diagnose {

// One process's (or one metric's) series and what is known beside it.
struct NamedSeries {
  std::string name;
  std::string role;  // empty: unknown
  int pid = 0;       // 0: unknown
  std::vector<verdict::Sample> samples;
  std::vector<verdict::Phase> phases;
  std::vector<verdict::StepMark> steps;  // empty: unknown
};

// Finds the format by looking at the content. InputError names the file, what was expected and the first line
// that is wrong.
std::vector<NamedSeries> read_series(const std::string& path);
// The same on text already in memory; `name` is for messages and for series without a name of their own.
std::vector<NamedSeries> parse_series(std::string_view text, const std::string& name);

// One line of a batch: {"id": …, "t": [seconds…], "bytes": […]}. `id` is kept as JSON text.
struct BatchLine {
  std::string id;
  NamedSeries series;
};
// InputError says what is wrong; `id`, where it could be read, is put into `id_if_known` first.
BatchLine parse_batch_line(std::string_view line, std::string& id_if_known);

}  // namespace plimsoll::diagnose
