// `plimsoll verdict`: is a recorded series a leak, or which of many are?
#include "verdict/verdict.hpp"

#include <fmt/format.h>

#include <fstream>
#include <future>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/error.hpp"
#include "base/json.hpp"
#include "base/mask.hpp"
#include "base/units.hpp"
#include "cli/command.hpp"
#include "diagnose/recorded_run.hpp"
#include "diagnose/series_files.hpp"
#include "report/judgement_text.hpp"
#include "verdict/judgement.hpp"

namespace plimsoll::cli::verdict_command {
namespace {

using Json = nlohmann::ordered_json;
using diagnose::NamedSeries;
using verdict::Kind;
using verdict::Verdict;

struct Arguments {
  std::string file, batch, limit;
  bool all = false, online = false, json = false, fail_on_leak = false;
};

struct Judged {
  Verdict verdict;
  std::optional<double> first_leak;
};

Judged judge_one(const NamedSeries& series, double limit, bool online) {
  verdict::Options options;
  options.limit_bytes = limit;
  options.steps = series.steps;
  options.phases = series.phases;
  Judged out{verdict::judge(series.samples, options), std::nullopt};
  if (online) {
    verdict::OnlineVerdict replay(options);
    for (const verdict::Sample& s : series.samples) replay.add(s);
    out.first_leak = replay.first_leak();
  }
  return out;
}

Json json_of(const Judged& judged, const NamedSeries& series, bool online, double share) {
  verdict::Judgement judgement{judged.verdict, {}};
  if (judged.verdict.kind == Kind::leak)
    judgement.culprit = {.pid = series.pid, .name = series.name, .role = series.role, .share = share};
  Json out = to_json(judgement);
  if (online) out["first_leak_seconds"] = judged.first_leak ? Json(*judged.first_leak) : Json(nullptr);
  return out;
}

std::string online_line(std::optional<double> first_leak) {
  return first_leak
             ? fmt::format("While running, a leak would first have been called at {:.1f} s.", *first_leak)
             : "While running, no leak would have been called.";
}

void judge_file(const Arguments& arguments, double limit) {
  std::vector<NamedSeries> series = diagnose::read_series(arguments.file);
  std::vector<Judged> judged;
  double growth = 0;
  for (const NamedSeries& s : series) {
    judged.push_back(judge_one(s, limit, arguments.online));
    if (judged.back().verdict.kind == Kind::leak) growth += judged.back().verdict.rate;
  }
  // The one that speaks for all: the fastest leak, else an undecided one, else the largest.
  auto rank = [](const Judged& j) {
    const Verdict& v = j.verdict;
    return v.kind == Kind::leak ? std::pair(2, v.rate)
                                : std::pair(v.kind == Kind::undecided ? 1 : 0, v.floor_end);
  };
  size_t head = 0;
  for (size_t i = 1; i < judged.size(); ++i)
    if (rank(judged[i]) > rank(judged[head])) head = i;
  auto share = [&](size_t i) { return growth > 0 ? judged[i].verdict.rate / growth : 0; };

  std::FILE* human = arguments.json ? stderr : stdout;
  for (size_t i = 0; i < judged.size(); ++i) {
    if (!arguments.all && i != head) continue;
    std::string name = series.size() > 1 ? escape(series[i].name) + ": " : "";
    fmt::print(human, "{}{}\n", name, judged[i].verdict.sentence);
    if (arguments.online) fmt::print(human, "{}{}\n", name, online_line(judged[i].first_leak));
  }
  if (arguments.json) {
    Json out = json_of(judged[head], series[head], arguments.online, share(head));
    if (arguments.all) {
      out["processes"] = Json::array();
      for (size_t i = 0; i < judged.size(); ++i) {
        Json one = {{"name", series[i].name},
                    {"pid", series[i].pid > 0 ? Json(series[i].pid) : Json(nullptr)}};
        one.update(json_of(judged[i], series[i], arguments.online, share(i)));
        out["processes"].push_back(std::move(one));
      }
    }
    fmt::print("{}\n", verdict::to_text(out));
  }
  if (arguments.fail_on_leak && judged[head].verdict.kind == Kind::leak) exit_code = int(Exit::leak);
}

// A run file is judged as a whole; its processes tell who carries the growth.
void judge_run(const Arguments& arguments, double limit) {
  const diagnose::RecordedRun run = diagnose::read_run(arguments.file);
  const diagnose::Judgement judgement = diagnose::judge_run(run, limit);
  Json json = report::final_json(judgement, run.history, run.until, arguments.all);
  std::FILE* human = arguments.json ? stderr : stdout;
  fmt::print(human, "{}\n", judgement.verdict.sentence);
  if (arguments.all)
    for (const Json& process : json["processes"])
      fmt::print(human, "{} (pid {}, {}): {}\n", process["name"].get<std::string>(),
                 process["pid"].get<int>(), process["role"].get<std::string>(),
                 process["sentence"].get<std::string>());
  if (arguments.online) {
    verdict::OnlineVerdict replay(diagnose::options_of(run, limit));
    for (const verdict::Sample& s : verdict::samples_of(run.tree, run.until)) replay.add(s);
    json["first_leak_seconds"] = replay.first_leak() ? Json(*replay.first_leak()) : Json(nullptr);
    fmt::print(human, "{}\n", online_line(replay.first_leak()));
  }
  if (arguments.json) fmt::print("{}\n", verdict::to_text(json));
  if (arguments.fail_on_leak && judgement.verdict.kind == Kind::leak) exit_code = int(Exit::leak);
}

struct BatchAnswer {
  std::string line;
  bool wrong = false, leaks = false;
};

BatchAnswer answer(const std::string& line, size_t number, double limit, bool online) {
  std::string id;
  try {
    diagnose::BatchLine batch = diagnose::parse_batch_line(line, id);
    Judged judged = judge_one(batch.series, limit, online);
    Json out = {{"id", id.empty() ? Json(number) : parse_json<Json>(id)}};
    out.update(json_of(judged, batch.series, online, 1));
    return {verdict::to_text(out), false, judged.verdict.kind == Kind::leak};
  } catch (const Error& e) {
    Json out = {
        {"id", id.empty() ? Json(nullptr) : parse_json<Json>(id)}, {"line", number}, {"error", e.what()}};
    return {verdict::to_text(out), true, false};
  }
}

void judge_batch(const Arguments& arguments, double limit) {
  std::ifstream file(arguments.batch);
  if (!file)
    fail_input(
        "{}: cannot be opened; give a file with a line {{\"id\":…,\"t\":[…],\"bytes\":[…]}} for each series",
        arguments.batch);
  const size_t workers = std::max(1u, std::thread::hardware_concurrency());
  bool wrong = false, leaks = false, any = false;
  size_t number = 0;
  // A few lines at a time, each on its own thread, answered in order.
  for (bool more = true; more;) {
    std::vector<std::future<BatchAnswer>> running;
    std::string line;
    while (running.size() < workers && (more = bool(std::getline(file, line)))) {
      ++number;
      if (line.find_first_not_of(" \t\r") == line.npos) continue;
      running.push_back(std::async(std::launch::async, answer, line, number, limit, arguments.online));
    }
    for (auto& one : running) {
      BatchAnswer done = one.get();
      any = true, wrong = wrong || done.wrong, leaks = leaks || done.leaks;
      fmt::print("{}\n", done.line);
    }
  }
  if (!any)
    fail_input("{}: holds no series; expected a line {{\"id\":…,\"t\":[…],\"bytes\":[…]}} for each",
               arguments.batch);
  if (wrong) {
    fmt::print(stderr, "plimsoll verdict: some lines of {} could not be judged; see their \"error\"\n",
               arguments.batch);
    exit_code = int(Exit::usage);
  } else if (leaks && arguments.fail_on_leak) {
    exit_code = int(Exit::leak);
  }
}

void setup(Options& options) {
  auto arguments = std::make_shared<Arguments>();
  options.value(
      "file", arguments->file,
      "recorded series: run.db, CSV (time,bytes), JSONL, mprof .dat, psrecord log or Prometheus JSON; - is "
      "standard input");
  options
      .value("--batch", arguments->batch,
             "judge many: a line {\"id\":…,\"t\":[seconds…],\"bytes\":[…]} each; a JSON line each comes out")
      .wants("FILE");
  options.value("--limit", arguments->limit, "limit, such as 16GB: also say when it would be reached")
      .wants("SIZE");
  options.flag("--all", arguments->all, "print the verdict of every process, not only of the whole");
  options.flag(
      "--online", arguments->online,
      "also replay the series as it was recorded and say when a leak would first have been reported");
  options.flag("--json", arguments->json, "print one JSON object on standard output");
  options.flag("--fail-on-leak", arguments->fail_on_leak, "exit with 10 if there is a leak");
  options.run([arguments] {
    if (arguments->file.empty() == arguments->batch.empty())
      fail_input("give either a FILE or --batch FILE.jsonl; see `plimsoll verdict --help`");
    for (std::string* file : {&arguments->file, &arguments->batch})
      if (*file == "-") *file = "/dev/stdin";
    const double limit = arguments->limit.empty() ? 0 : double(parse_bytes(arguments->limit, "--limit"));
    if (!arguments->batch.empty())
      judge_batch(*arguments, limit);
    else if (diagnose::is_run_file(arguments->file))
      judge_run(*arguments, limit);
    else
      judge_file(*arguments, limit);
  });
}

const Command command(
    30, "verdict", "judge a recorded memory series: whether it leaks, how fast, and when it reaches a limit",
    "plimsoll verdict memory.csv --limit 16GB --json", setup);

}  // namespace
}  // namespace plimsoll::cli::verdict_command
