#include "record/run_rows.hpp"

#include <algorithm>

namespace plimsoll {
namespace {

// Rows of a damaged or foreign file may lie anywhere in time; charts and judgements need order.
template <typename Row>
std::vector<Row> in_order(std::vector<Row> rows) {
  std::erase_if(rows, [](const Row& row) { return !std::isfinite(row.time); });
  const auto earlier = [](const Row& a, const Row& b) { return a.time < b.time; };
  if (!std::is_sorted(rows.begin(), rows.end(), earlier)) std::stable_sort(rows.begin(), rows.end(), earlier);
  return rows;
}

}  // namespace

int64_t plan_total(const std::vector<RunReader::PlanRole>& roles,
                   const std::vector<RunReader::PlanValue>& plan) {
  for (const RunReader::PlanRole& one : roles)
    if (one.role == "total") return one.bytes;
  int64_t end = 0;
  for (const RunReader::PlanValue& value : plan) end = std::max(end, value.offset + value.bytes);
  return end;
}

std::string run_name(const std::filesystem::path& path) {
  const std::filesystem::path file = path.filename();
  if (file != "run.db") return file.string();
  return (std::filesystem::absolute(path).lexically_normal().parent_path().filename() / file).string();
}

RunRows read_run_rows(const std::filesystem::path& path) {
  const RunReader reader(path);
  return {.run = reader.run(),
          .sessions = reader.sessions(),
          .configuration = reader.configuration(),
          .memory = in_order(reader.memory()),
          .processes = reader.processes(),
          .samples = in_order(reader.process_samples()),
          .phases = in_order(reader.phases()),
          .events = in_order(reader.events()),
          .steps = in_order(reader.steps()),
          .evaluations = in_order(reader.evaluations()),
          .plan = reader.plan(),
          .plan_roles = reader.plan_roles(),
          .sites = reader.sites(),
          .pictures = reader.pictures(),
          .answers = reader.answers(),
          .verdicts = in_order(reader.verdicts())};
}

}  // namespace plimsoll
