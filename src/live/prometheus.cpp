#include "live/prometheus.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/mask.hpp"

namespace plimsoll::live {
namespace {

class Page {
 public:
  // Labels that every value has.
  explicit Page(std::string common) : common_(std::move(common)) {}
  void family(std::string_view name, const char* type, std::string_view help) {
    name_ = name;
    text_ += fmt::format("# HELP {} {}\n# TYPE {} {}\n", name, help, name, type);
  }
  void value(double value, std::string_view labels = {}) {
    const char* comma = labels.empty() || common_.empty() ? "" : ",";
    text_ += labels.empty() && common_.empty()
                 ? fmt::format("{} {}\n", name_, number(value))
                 : fmt::format("{}{{{}{}{}}} {}\n", name_, common_, comma, labels, number(value));
  }
  // A family of one value, left out where it is not known.
  void gauge(std::string_view name, std::string_view help, double known) {
    single(name, "gauge", help, known);
  }
  void counter(std::string_view name, std::string_view help, double known) {
    single(name, "counter", help, known);
  }
  std::string take() { return std::move(text_); }

 private:
  static std::string number(double value) {
    if (std::isnan(value)) return "NaN";
    if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
    return value == std::floor(value) && std::fabs(value) < 1e15 ? fmt::format("{:.0f}", value)
                                                                 : fmt::format("{}", value);
  }
  void single(std::string_view name, const char* type, std::string_view help, double known) {
    if (std::isnan(known)) return;
    family(name, type, help);
    value(known);
  }
  const std::string common_;
  std::string_view name_;
  std::string text_;
};

double known(int64_t count) { return count < 0 ? unknown_real : double(count); }

std::vector<const CurrentProcess*> largest_first(const Current& current) {
  std::vector<const CurrentProcess*> processes;
  for (const auto& [id, process] : current.processes()) processes.push_back(&process);
  std::sort(processes.begin(), processes.end(),
            [](auto* a, auto* b) { return a->bytes != b->bytes ? a->bytes > b->bytes : a->pid < b->pid; });
  return processes;
}

void add_processes(Page& page, const Current& current) {
  const auto processes = largest_first(current);
  if (processes.empty()) return;
  const auto add = [&](std::string_view name, std::string_view help, int64_t CurrentProcess::*measure) {
    page.family(name, "gauge", help);
    int64_t rest = 0;
    for (size_t i = 0; i < processes.size(); ++i) {
      const CurrentProcess& process = *processes[i];
      if (i < labelled_processes)
        page.value(double(process.*measure), fmt::format("pid=\"{}\",name=\"{}\",role=\"{}\"", process.pid,
                                                         label(process.name), label(process.role)));
      else
        rest += process.*measure;
    }
    if (processes.size() > labelled_processes) page.value(double(rest), R"(pid="",name="other",role="")");
  };
  add("plimsoll_process_pss_bytes", "PSS of a process, plus swap.", &CurrentProcess::bytes);
  add("plimsoll_process_rss_bytes", "Resident memory of a process.", &CurrentProcess::rss);
}

void add_ranks(Page& page, const Current& current) {
  if (current.ranks().empty()) return;
  const auto add = [&](std::string_view name, std::string_view help, auto measure) {
    page.family(name, "gauge", help);
    for (const auto& [rank, row] : current.ranks())
      page.value(measure(row), fmt::format("rank=\"{}\",node=\"{}\"", rank, label(current.node_of(rank))));
  };
  add("plimsoll_rank_rss_bytes", "Resident memory of a rank of the training run.",
      [](const RankSampleRow& row) { return known(row.rss); });
  add("plimsoll_rank_waiting_seconds", "Time of a step a rank waits for the others to have done their part.",
      [](const RankSampleRow& row) { return row.waiting_seconds; });
  add("plimsoll_rank_exchange_seconds", "Time of a step a rank spends on messages and nothing else.",
      [](const RankSampleRow& row) { return row.exchange_seconds; });
}

void add_memory(Page& page, const Current& current) {
  const RunReader::Memory& memory = current.memory();
  page.gauge("plimsoll_memory_bytes", "Memory that is judged: PSS if known, otherwise RSS, plus swap.",
             known(current.bytes()));
  page.gauge("plimsoll_tree_pss_bytes", "PSS of the whole process tree.", known(memory.pss));
  page.gauge("plimsoll_tree_rss_bytes", "RSS of the whole process tree; shared pages count more than once.",
             known(memory.rss));
  page.gauge("plimsoll_tree_swap_bytes", "Swapped-out memory of the process tree.", known(memory.swap));
  page.gauge("plimsoll_tree_gpu_bytes", "GPU memory of the process tree.", known(memory.gpu));
  page.gauge("plimsoll_tree_processes", "Processes in the tree.", known(memory.processes));
  page.gauge("plimsoll_memory_limit_bytes", "The memory line.",
             current.limit_bytes() > 0 ? double(current.limit_bytes()) : unknown_real);
  page.gauge("plimsoll_memory_available_bytes", "Available memory of the machine.", known(memory.available));
  page.gauge("plimsoll_memory_pressure_ratio", "Share of time some task waited for memory, over 10 s (PSI).",
             memory.pressure / 100);
  page.gauge("plimsoll_plan_bytes", "Size of the trainer's memory plan.",
             current.plan_bytes() > 0 ? double(current.plan_bytes()) : unknown_real);
}

void add_verdict(Page& page, const Current& current) {
  const verdict::Verdict& verdict = current.verdict();
  using verdict::Kind;
  page.family("plimsoll_verdict", "gauge", "1 for the current verdict.");
  for (const Kind kind : {Kind::leak, Kind::no_leak, Kind::undecided})
    page.value(verdict.kind == kind, fmt::format("verdict=\"{}\"", verdict::kind_name(kind)));
  page.gauge("plimsoll_leak_rate_bytes_per_second",
             "Growth rate of the floor; a leak only if the verdict says so.", verdict.rate);
  page.gauge("plimsoll_floor_bytes", "The floor of the memory that is judged.",
             verdict.floor_end > 0 ? verdict.floor_end : unknown_real);
  page.gauge("plimsoll_seconds_to_limit",
             "Time until the floor reaches the line at this rate; absent if nothing grows.",
             verdict.seconds_to_limit.value_or(unknown_real));
}

void add_training(Page& page, const Current& current) {
  if (!current.has_step()) return;
  const StepRow& step = current.step();
  page.gauge("plimsoll_train_step", "Steps done.", double(step.step));
  page.gauge("plimsoll_train_planned_steps", "Total number of steps of the run.",
             current.iterations() > 0 ? double(current.iterations()) : unknown_real);
  page.gauge("plimsoll_train_loss", "Training loss of the latest recorded step.", step.loss);
  page.gauge("plimsoll_train_learning_rate", "Learning rate of the latest recorded step.",
             step.learning_rate);
  page.gauge("plimsoll_train_gradient_norm", "Norm of the gradient before clipping.", step.gradient_norm);
  page.gauge("plimsoll_train_step_seconds", "Time per step over the latest recorded interval.",
             step.iterations_per_second > 0 ? 1 / step.iterations_per_second : unknown_real);
  page.gauge("plimsoll_train_tokens_per_second", "Training tokens per second.", step.tokens_per_second);
  if (current.tokens_per_step() > 0)
    page.counter("plimsoll_train_tokens_total", "Tokens trained on so far.",
                 double(step.step) * double(current.tokens_per_step()));
  page.gauge("plimsoll_train_validation_loss", "Loss of the latest evaluation.", current.evaluation().loss);
  page.gauge("plimsoll_train_entropy_floor", "Entropy of the data, if known: the lowest possible loss.",
             current.evaluation().floor);
}

}  // namespace

std::string label(std::string_view value) {
  std::string escaped;
  for (const char c : escape(value)) {
    if (c == '\\' || c == '"') escaped += '\\';
    escaped += c;
  }
  return escaped;
}

std::string metrics_text(const Current& current) {
  std::string common;
  for (const auto& [key, value] : current.rank_labels())
    common += fmt::format("{}{}=\"{}\"", common.empty() ? "" : ",", key, label(value));
  Page page(std::move(common));
  page.family("plimsoll_run_info", "gauge", "Kind, start time and version of the run.");
  page.value(1, fmt::format("kind=\"{}\",started=\"{}\",version=\"{}\"", label(current.run().kind),
                            label(current.run().started), label(current.run().version)));
  page.gauge("plimsoll_run_seconds", "Time of the latest row of the record.", current.time());
  page.gauge("plimsoll_run_ended", "1 once the run has ended and its verdict is final.", current.ended());
  add_memory(page, current);
  add_processes(page, current);
  add_ranks(page, current);
  add_verdict(page, current);
  add_training(page, current);
  if (!current.phase().empty()) {
    page.family("plimsoll_phase_info", "gauge", "Current phase of the run.");
    page.value(1, fmt::format("phase=\"{}\"", label(current.phase())));
  }
  page.gauge("plimsoll_guard_level", "Level of the guard: 0 ok, 1 warn, 2 shrink, 3 pause, 4 stop.",
             known(current.guard_level()));
  return page.take();
}

}  // namespace plimsoll::live
