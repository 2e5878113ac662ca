#include "train/describe.hpp"

#include <algorithm>

#include "base/units.hpp"

namespace plimsoll {

namespace {

// "f32 1.2 MB, bf16 300 kB"
std::string dtypes_text(const Plan& plan) {
  std::string text;
  for (int d = 0; d < dtype_count; ++d)
    if (plan.by_dtype[size_t(d)])
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name_of(DType(d)),
                          format_bytes(plan.by_dtype[size_t(d)]));
  return text;
}

// What a value is for. Where pictures are decoded and where what was seen of them is kept are shown apart from other inputs.
std::string_view purpose(const Value& value) {
  return value.name == "picture.buffers" ? "image buffer"
         : value.name == "picture.cache" ? "image cache"
                                         : role_name(value.role);
}

}  // namespace

std::vector<std::pair<std::string, uint64_t>> bytes_by_purpose(const Graph& graph, const Plan& plan) {
  std::vector<std::pair<std::string, uint64_t>> out;
  for (int role = 0; role < role_count; ++role) {
    const size_t first = out.size();
    out.emplace_back(role_name(Role(role)), plan.by_role[size_t(role)]);
    for (size_t i = 0; i < plan.at.size(); ++i) {
      const Value& value = graph[ValueId(i)];
      if (value.role != Role(role) || plan.at[i].storage != ValueId(i) ||
          purpose(value) == role_name(value.role))
        continue;
      out.emplace_back(purpose(value), plan.at[i].bytes);
      out[first].second -= plan.at[i].bytes;
    }
  }
  std::erase_if(out, [](const auto& one) { return one.second == 0; });
  return out;
}

std::string plan_table(const Graph& graph, const Plan& plan) {
  std::string text =
      fmt::format("Memory plan: {} (lower bound {}, +{:.2f} %)\n", format_bytes(plan.total),
                  format_bytes(plan.lower_bound), 100 * (double(plan.total) / double(plan.lower_bound) - 1));
  for (const auto& [name, bytes] : bytes_by_purpose(graph, plan))
    text += fmt::format("  {:<12}{:>10}\n", name, format_bytes(bytes));
  text += fmt::format("  {}\n", dtypes_text(plan));
  text.pop_back();
  return text;
}

std::vector<std::pair<ValueId, Place>> largest(const Graph& graph, const Plan& plan, int count) {
  std::vector<std::pair<ValueId, Place>> owners;
  for (size_t i = 0; i < graph.values().size(); ++i)
    if (plan.at[i].storage == ValueId(i)) owners.emplace_back(ValueId(i), plan.at[i]);
  std::stable_sort(owners.begin(), owners.end(),
                   [](const auto& a, const auto& b) { return a.second.bytes > b.second.bytes; });
  owners.resize(std::min(owners.size(), size_t(count)));
  return owners;
}

std::string largest_values(const Graph& graph, const Plan& plan, int count) {
  std::string text = "Largest values:\n";
  for (const auto& [id, place] : largest(graph, plan, count)) {
    const std::string when =
        place.list < 0
            ? "always"
            : fmt::format("{} {}..{}", graph.lists()[size_t(place.list)].name(), place.first, place.last);
    text += fmt::format("  {:>10}  {:<12} {:<30} {:<16} {}\n", format_bytes(place.bytes), purpose(graph[id]),
                        graph[id].name, graph[id].type.text(), when);
  }
  text.pop_back();
  return text;
}

void record_plan(RunRecord& record, const Graph& graph, const Plan& plan) {
  record.clear_plan();
  record.plan_role({"total", int64_t(plan.total)});
  for (const auto& [name, bytes] : bytes_by_purpose(graph, plan)) record.plan_role({name, int64_t(bytes)});
  const int64_t nodes = graph.lists().empty() ? 0 : int64_t(graph.lists()[0].nodes().size());
  for (size_t i = 0; i < plan.at.size(); ++i) {
    const Place& place = plan.at[i];
    if (place.storage != ValueId(i) || place.list > 0) continue;  // the first list is the step
    const Value& value = graph[ValueId(i)];
    for (int lane = 0; lane < place.copies; ++lane) {
      std::string name = value.name;
      if (value.type.dtype != DType::f32) name += fmt::format(" ({})", name_of(value.type.dtype));
      if (lane) name += fmt::format(" (lane {})", lane + 1);
      record.plan({name, purpose(value), int64_t(place.of_lane(lane)), int64_t(place.bytes),
                   place.list < 0 ? 0 : place.first,
                   place.list < 0 ? std::max<int64_t>(0, nodes - 1) : place.last});
    }
  }
  if (plan.total > plan.scratch_offset)
    record.plan({"scratch of the threads", role_name(Role::scratch), int64_t(plan.scratch_offset),
                 int64_t(plan.total - plan.scratch_offset), 0, std::max<int64_t>(0, nodes - 1)});
}

namespace {

// ", of which 4,884,480 are trained", where that is not all.
std::string trained_text(const Program& program) {
  uint64_t trained = 0;
  for (const Parameter& p : program.trained) trained += uint64_t((*program.graph)[p.id].type.elements());
  return trained == program.model->count() ? ""
                                           : fmt::format(", of which {} are trained", format_count(trained));
}

}  // namespace

std::vector<std::string> describe_run(const PreparedRun& run) {
  const Settings& s = run.settings();
  const auto& model = *run.runtime->program().model;
  return {
      fmt::format("Model: {} | {} layer{}, {} head{}, dim {}, ff {}, context {}, vocabulary {}, {} head | {} "
                  "parameters{}",
                  s.model_name(), s.layers, s.layers == 1 ? "" : "s", s.heads, s.heads == 1 ? "" : "s", s.dim,
                  s.ff, s.context, model.spec().vocab, s.tied ? "tied" : "untied",
                  format_count(model.count()), trained_text(run.runtime->program())),
      fmt::format("Data: {}{}", run.corpus->description(),
                  run.floor ? fmt::format(" | entropy floor {:.4f} nats/char", *run.floor) : ""),
      fmt::format("Gemm: {} | Threads: {} | Batch: {} x {}{}{} | Out: {}", run.gemm.description,
                  run.runtime->threads(), s.batch, s.accumulate,
                  run.way.micro_batch != s.batch ? fmt::format(", {} at a time", run.way.micro_batch) : "",
                  run.way.lanes > 1 ? fmt::format(" in {} lanes", run.way.lanes) : "",
                  run.start.folder.string()),
      plan_table(run.runtime->graph(), run.runtime->plan())};
}

}  // namespace plimsoll
