// A run as JSON: everything the page shows, down-sampled while keeping minima and maxima
// (docs/formats/report-json.md).
//
//   std::string all = run_json(read_run_data("run.db"));
//   std::string more = run_json({.memory = newest_rows}, Extent::increment);  // only what there is, same shape
#pragma once
#include <string>

#include "report/run_data.hpp"

namespace plimsoll::report {

enum class Extent {
  whole,      // every key, empty tables too
  increment,  // only parts that hold something: rows to append while a run goes on
  judgement,  // verdict, line, floor, trend and spikes of the rows given: replaces what was there
};

// Every text is masked and escaped, and no `<` is left in it: the result may stand inside a script element.
std::string run_json(const RunData& data, Extent extent = Extent::whole);

// Two runs and, in words and figures, how the second differs.
std::string comparison_json(const RunData& a, const RunData& b);

}  // namespace plimsoll::report
