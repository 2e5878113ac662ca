// The JSON of a run: extremes are kept, sizes are bounded, hostile text remains text.
#include "report/run_json.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "record/folder.hpp"
#include "record/run_record.hpp"
#include "report/page.hpp"
#include "report/process_stack.hpp"
#include "report/text.hpp"
#include "report/thin.hpp"
#include "report/trend.hpp"

namespace plimsoll::report {
namespace {

using Json = nlohmann::json;

RunReader::Memory memory_at(double time, int64_t pss) {
  RunReader::Memory row;
  row.time = time, row.pss = pss, row.rss = pss + 4096;
  return row;
}

std::vector<int64_t> column(const Json& table, const char* name) {
  const auto& columns = table["columns"];
  const size_t at = size_t(std::find(columns.begin(), columns.end(), name) - columns.begin());
  std::vector<int64_t> out;
  for (const Json& row : table["rows"]) out.push_back(row[at].is_null() ? -1 : row[at].get<int64_t>());
  return out;
}

// A day of thirty processes, each with noise of its own and one sharp peak and dip.
RunData long_run(size_t samples, size_t processes) {
  RunData data;
  data.run = {"watch", "2030-01-01T00:00:00Z", "0", "a machine"};
  uint64_t random = 1;
  const auto noise = [&] {
    return int64_t((random = random * 6364136223846793005u + 1442695040888963407u) >> 44);
  };
  for (size_t p = 0; p < processes; ++p) {
    RunReader::Process process;
    process.id = int64_t(p + 1), process.pid = int64_t(1000 + p), process.start_time = 5;
    process.name = "worker", process.arguments = "python3 -m worker --index " + std::to_string(p);
    process.role = p ? "worker pool" : "main", process.first_seen = 0;
    data.processes.push_back(process);
  }
  for (size_t i = 0; i < samples; ++i) {
    int64_t total = 0;
    for (size_t p = 0; p < processes; ++p) {
      const int64_t odd = i == 100 * (p + 7) ? 500'000'000 : i == 100 * (p + 9) ? -300'000'000 : 0;
      const int64_t bytes = 400'000'000 + int64_t(i) * 100 + noise() + odd;
      total += bytes;
      data.samples.push_back({.process = int64_t(p + 1), .time = double(i), .rss = bytes, .pss = bytes});
    }
    data.memory.push_back(memory_at(double(i), total));
    if (i % 10 == 0)
      data.steps.push_back({.step = int64_t(i),
                            .time = double(i),
                            .loss = 1 + std::sin(double(i)),
                            .learning_rate = 1e-4,
                            .tokens_per_second = double(noise()),
                            .iterations_per_second = 3.3,
                            .gradient_norm = 1});
  }
  data.until = double(samples);
  return data;
}

RC_GTEST_PROP(Thin, KeepsTheLeastAndTheGreatestAsTheyAre, (const std::vector<int>& values)) {
  const size_t stretches = 5;
  const auto kept = rows_to_show(
      values.size(), [](size_t i) { return double(i); }, {[&](size_t i) { return double(values[i]); }},
      stretches);
  RC_ASSERT(std::is_sorted(kept.begin(), kept.end()));
  RC_ASSERT(std::adjacent_find(kept.begin(), kept.end()) == kept.end());
  RC_ASSERT(kept.size() <= 2 * stretches + 2);
  if (values.empty()) return;
  int least = values[kept[0]], most = least;
  for (const size_t i : kept) least = std::min(least, values[i]), most = std::max(most, values[i]);
  RC_ASSERT(least == *std::min_element(values.begin(), values.end()));
  RC_ASSERT(most == *std::max_element(values.begin(), values.end()));
  RC_ASSERT(kept.front() == 0u && kept.back() == values.size() - 1);
}

TEST(RunJson, ADayOfThirtyProcessesStaysSmallAndKeepsItsExtremes) {
  const RunData data = long_run(86'400, 30);
  const std::string text = run_json(data);
  const Json run = Json::parse(text);
  int64_t least = INT64_MAX, most = 0;
  for (const auto& row : data.memory) least = std::min(least, row.pss), most = std::max(most, row.pss);
  const auto bytes = column(run["memory"], "bytes");
  EXPECT_EQ(*std::min_element(bytes.begin(), bytes.end()), least);
  EXPECT_EQ(*std::max_element(bytes.begin(), bytes.end()), most);
  EXPECT_EQ(run["memory"]["samples"], 86'400);
  EXPECT_LT(bytes.size(), 4000u);
  ASSERT_EQ(run["processes"]["list"].size(), 30u);
  for (const Json& process : run["processes"]["list"]) {
    const auto own = column(run["processes"]["samples"], std::to_string(process["id"].get<int>()).c_str());
    EXPECT_EQ(*std::max_element(own.begin(), own.end()), process["peak_bytes"]);
    EXPECT_EQ(*std::min_element(own.begin(), own.end()), process["low_bytes"]);
    EXPECT_GT(process["peak_bytes"], 900'000'000);
  }
  if (has_charts()) {
    const std::string html = page(PageMode::file, text);
    EXPECT_LT(html.size(), 1'500'000u);
    RecordProperty("html_bytes", int(html.size()));
  }
}

TEST(RunJson, AnIncrementHasOnlyWhatItWasGiven) {
  RunData data;
  data.memory = {memory_at(1, 5), memory_at(2, 6)};
  const Json more = Json::parse(run_json(data, Extent::increment));
  EXPECT_EQ(more.size(), 1u);
  EXPECT_EQ(column(more["memory"], "bytes"), (std::vector<int64_t>{5, 6}));
  EXPECT_EQ(run_json({}, Extent::increment), "{}");
  const Json whole = Json::parse(run_json({}));
  for (const char* key : {"run", "verdict", "line", "memory", "floor", "trend", "spikes", "phases", "events",
                          "processes", "steps", "evaluations", "plan", "sites", "configuration"})
    EXPECT_TRUE(whole.contains(key)) << key;
}

TEST(RunJson, ThePlanSaysWhatTheMeasuredMemoryIsMadeOf) {
  RunData data;
  data.memory = {memory_at(1, 900), memory_at(2, 1700)};
  data.plan = {{"x", "image cache", 0, 300, 0, 1}};
  data.plan_roles = {{"total", 1000}, {"image cache", 300}, {"image buffer", 600}};
  data.memory[1].rss = 1700;
  const Json parts = Json::parse(run_json(data))["plan"]["measured"];
  int64_t sum = 0;
  for (const auto& [name, bytes] : parts.items()) sum += bytes.get<int64_t>();
  EXPECT_EQ(sum, 1700) << parts;
  EXPECT_EQ(parts["image cache"], 300);
  EXPECT_EQ(parts["the process beside the plan"], 700);
  data.plan_roles[0].bytes = 5;  // a record that lies
  EXPECT_TRUE(Json::parse(run_json(data))["plan"]["measured"].empty());
}

TEST(RunJson, ProcessesBeyondTheShownOnesAreSummed) {
  RunData data = long_run(20, 40);
  for (auto& process : data.processes) process.name = "p";
  const ProcessStack stack = stack_processes(data, 32, 100);
  EXPECT_EQ(stack.others, 8u);
  ASSERT_FALSE(stack.rows.empty());
  for (size_t i = 0; i < stack.rows.size(); ++i) {
    int64_t sum = 0;
    for (const int64_t bytes : stack.rows[i].bytes) sum += bytes;
    EXPECT_EQ(sum, data.memory[size_t(stack.rows[i].time)].pss);
  }
}

TEST(Trend, FollowsTheVerdictAndIsSurestInTheMiddle) {
  RunData data;
  for (int i = 0; i < 600; ++i) data.memory.push_back(memory_at(i, 100'000'000 + i * 50'000));
  data.until = 599;
  data.judgement.emplace().verdict.rate = 50'000;
  data.judgement->verdict.rate_low = 48'000, data.judgement->verdict.rate_high = 52'000;
  const Trend trend = trend_of(data);
  ASSERT_FALSE(trend.band.empty());
  const BandPoint &first = trend.band.front(), &middle = trend.band[trend.band.size() / 2],
                  &last = trend.band.back();
  EXPECT_NEAR((last.bytes - first.bytes) / (last.time - first.time), 50'000, 1);
  EXPECT_NEAR(middle.bytes, 100'000'000 + middle.time * 50'000, 1e6);
  EXPECT_LT(middle.high - middle.low, last.high - last.low);
  EXPECT_LT(middle.high - middle.low, first.high - first.low);
  for (const BandPoint& point : trend.band) EXPECT_TRUE(point.low < point.bytes && point.bytes < point.high);
}

// Whatever bytes a record holds: JSON that parses, no markup, no control character, in every form.
RunData hostile(const std::string& text) {
  RunData data = long_run(30, 2);
  data.name = data.run.kind = data.run.machine = data.run.started = text;
  for (auto& process : data.processes) process.name = process.arguments = process.role = text;
  data.configuration = {{text, text}};
  data.phases = {{1, "x" + text}};  // one without a name is not drawn
  data.events = {{2, text, text}};
  data.plan = {{text, text, 0, 10, 0, 1}};
  data.plan_roles = {{text, 10}};
  data.sites = {{1, 1, text + "\n" + text, 5, 1, 2, "x" + text}};  // one without a hint shows none
  data.pictures = {{0, text, text, text, text}};
  data.answers = {{1, 0, text}};
  verdict::Judgement& judgement = data.judgement.emplace();
  judgement.verdict.sentence = judgement.verdict.explanation = judgement.verdict.spikes.phase = text;
  judgement.culprit = {.name = text, .role = text};
  return data;
}

size_t count_of(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++count;
  return count;
}

void expect_harmless(const std::string& text) {
  const RunData data = hostile(text);
  const std::string json = run_json(data);
  ASSERT_TRUE(Json::accept(json));
  ASSERT_EQ(json.find_first_of("<>&"), json.npos);
  const auto control = [](const std::string& out) {
    return std::any_of(out.begin(), out.end(),
                       [](char c) { return (c >= 0 && c < 32 && c != '\n') || c == 127; });
  };
  ASSERT_FALSE(control(json));
  if (has_charts()) {
    const RunData ordinary = hostile("plain");
    const std::string plain = page(PageMode::file, run_json(ordinary), sentence_of(ordinary)),
                      html = page(PageMode::file, json, sentence_of(data));
    // As many elements and comments as with a harmless name.
    ASSERT_EQ(count_of(html, "<"), count_of(plain, "<"));
    ASSERT_EQ(count_of(html, "</script"), count_of(plain, "</script"));
  }
  for (const std::string& out : {terminal_text(data, {}), markdown(data), memory_csv(data), memory_svg(data)})
    ASSERT_FALSE(control(out));
  // A name cannot add a line.
  const RunData harmless = hostile("plain");
  ASSERT_EQ(count_of(markdown(data), "\n"), count_of(markdown(harmless), "\n"));
  ASSERT_EQ(count_of(memory_csv(data), "\n"), count_of(memory_csv(harmless), "\n"));
  ASSERT_EQ(count_of(memory_svg(data), "<"), count_of(memory_svg(harmless), "<"));
  ASSERT_EQ(count_of(markdown(data), "<"), 0u);
}

TEST(RunJson, HostileTextStaysText) {
  for (const char* text : {"<svg/onload=alert(1)>\n# TYPE x", "</script><script>alert(1)</script>", "<!--",
                           "]]>", "\x1b[31mred\x1b]0;title\x07", "\xff\xfe broken", "\xe2\x80\xae turned",
                           "a|b`c*d_e[f](g)", "=HYPERLINK(\"x\")", "'\"&amp;", "\xe2\x80\xa8 line"})
    expect_harmless(text);
}

RC_GTEST_PROP(RunJson, AnyBytesStayText, (const std::string& text)) { expect_harmless(text); }

TEST(RunJson, SecretsOfForeignRecordsAreMasked) {
  RunData data = hostile("run --token hunter2 API_KEY=hunter2 https://me:hunter2@host/");
  for (const std::string& out : {run_json(data), markdown(data), terminal_text(data, {})}) {
    EXPECT_EQ(count_of(out, "hunter2"), count_of(out, "never")) << out.substr(0, 2000);
  }
}

TEST(Sites, AreWrittenReadAndShown) {
  test::Folder folder;
  const auto path = folder.path / "run.db";
  {
    RunRecord record = RunRecord::create(path, {.kind = RunKind::watch});
    record.site({.time = 1, .stack = "main\nload", .bytes = 10});
    record.clear_sites();
    record.site({.time = 5,
                 .process = 3,
                 .stack = "main\ntrain\nkeep",
                 .bytes = 700,
                 .blocks = 7,
                 .bytes_per_second = 35,
                 .hint = "keep less"});
    record.site({.time = 5, .stack = "main\nload", .bytes = 900});
  }
  const auto sites = RunReader(path).sites();
  ASSERT_EQ(sites.size(), 2u);
  EXPECT_EQ(sites[0].stack, "main\nload");
  EXPECT_EQ(sites[0].process, unknown_count);
  EXPECT_EQ(sites[1].blocks, 7);
  const Json run = Json::parse(run_json(read_run_data(path.string())));
  EXPECT_EQ(run["sites"]["rows"][1][0], Json({"main", "train", "keep"}));
  EXPECT_EQ(run["sites"]["rows"][1][3], 35);
  EXPECT_EQ(run["sites"]["rows"][1][5], "keep less");
  EXPECT_EQ(run["sites"]["rows"][0][5], "");
  EXPECT_TRUE(run["verdict"].is_null());
}

TEST(Pictures, AreShownWithWhatWasSaidOfThem) {
  test::Folder folder;
  const auto path = folder.path / "run.db";
  {
    RunRecord record = RunRecord::create(path, {.kind = RunKind::train});
    record.picture({0, "old.png", "?", "!", "AAAA"});
    record.clear_pictures();
    record.picture({0, "a.png", "What colour?", "red", "iVBORw0="});
    record.picture({1, "b.png", "How many?", "two", "\"><script>"});
    record.answer({10, 0, "blue"});
    record.answer({10, 1, "two"});
    record.answer({20, 0, "red"});
  }
  {
    // What was said after the step a run is resumed from is said again.
    RunRecord record = RunRecord::resume(path, {.kind = RunKind::train}, 10);
  }
  const Json run = Json::parse(run_json(read_run_data(path.string())));
  ASSERT_EQ(run["pictures"].size(), 2u);
  EXPECT_EQ(run["pictures"][0]["name"], "a.png");
  EXPECT_EQ(run["pictures"][0]["thumbnail"], "iVBORw0=");
  EXPECT_EQ(run["pictures"][0]["said"], Json::parse(R"([{"step": 10, "text": "blue"}])"));
  EXPECT_EQ(run["pictures"][1]["thumbnail"], "");
  EXPECT_EQ(run["pictures"][1]["said"][0]["text"], "two");
}

}  // namespace
}  // namespace plimsoll::report
