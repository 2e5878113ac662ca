// The text printed before the first step, and the text form of a plan.
#pragma once
#include <string>
#include <vector>

#include "record/run_record.hpp"
#include "train/prepare.hpp"

namespace plimsoll {

// Model, parameters, data, backend, threads and the memory plan by role, a line each.
std::vector<std::string> describe_run(const PreparedRun& run);

// The values that own the most bytes, largest first.
std::vector<std::pair<ValueId, Place>> largest(const Graph& graph, const Plan& plan, int count);
// The plan's bytes by role, with what pictures take apart.
std::vector<std::pair<std::string, uint64_t>> bytes_by_purpose(const Graph& graph, const Plan& plan);
// "Memory plan: 7.23 MB (lower bound 7.19 MB, +0.4 %)" and a line each of those.
std::string plan_table(const Graph& graph, const Plan& plan);
// The largest values, one per line.
std::string largest_values(const Graph& graph, const Plan& plan, int count);
// Writes every value that owns bytes into the record, in place of the plan that was there, and the bytes by role as
// plan_table() has them.
void record_plan(RunRecord& record, const Graph& graph, const Plan& plan);

}  // namespace plimsoll
