#include "diagnose/series_files.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <optional>
#include <sstream>

#include "base/error.hpp"
#include "base/json.hpp"
#include "verdict/step_marks.hpp"

namespace plimsoll::diagnose {
namespace {

using nlohmann::json;
constexpr double mebibyte = 1048576;
constexpr const char* known_formats =
    "CSV (time,bytes), JSON lines ({\"time\":…,\"bytes\":…}), mprof .dat, a psrecord log, a Prometheus range "
    "query or run.db";

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front()))) text.remove_prefix(1);
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back()))) text.remove_suffix(1);
  return text;
}

std::optional<double> number(std::string_view text) {
  text = trimmed(text);
  if (!text.empty() && text.front() == '+') text.remove_prefix(1);
  double value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;  // may be nan or inf: the verdict leaves such samples out
}

std::string lower(std::string_view text) {
  std::string out(trimmed(text));
  for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

std::vector<std::string_view> fields(std::string_view line, char separator) {
  std::vector<std::string_view> out;
  if (separator == ' ') {
    while (!(line = trimmed(line)).empty()) {
      size_t end = 0;
      while (end < line.size() && !std::isspace(static_cast<unsigned char>(line[end]))) ++end;
      out.push_back(line.substr(0, end));
      line.remove_prefix(end);
    }
    return out;
  }
  for (;;) {
    size_t at = line.find(separator);
    std::string_view field = trimmed(line.substr(0, at));
    if (field.size() >= 2 && field.front() == '"' && field.back() == '"')
      field = field.substr(1, field.size() - 2);
    out.push_back(field);
    if (at == std::string_view::npos) return out;
    line.remove_prefix(at + 1);
  }
}

// Calls f(line, number) for every line that is not blank.
template <typename F>
void each_line(std::string_view text, F f) {
  size_t count = 0;
  while (!text.empty()) {
    size_t end = text.find('\n');
    std::string_view line = trimmed(text.substr(0, end));
    ++count;
    if (!line.empty()) f(line, count);
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
}

std::string shown(std::string_view line) {
  std::string out(line.substr(0, 40));
  for (char& c : out)
    if (static_cast<unsigned char>(c) < 32 || static_cast<unsigned char>(c) > 126) c = '?';
  return out + (line.size() > 40 ? "…" : "");
}

// The names a column or key may have, and what its values are multiplied with.
bool is_time(const std::string& name) {
  for (const char* known :
       {"time", "t", "seconds", "timestamp", "ts", "elapsed", "time_s", "elapsed_s", "time_seconds", "unix"})
    if (name == known) return true;
  return false;
}

double bytes_factor(std::string name) {  // 0: not a column of memory
  static const std::map<std::string, double> units{{"", 1},        {"_bytes", 1},      {"_b", 1},
                                                   {"_kb", 1e3},   {"_mb", 1e6},       {"_gb", 1e9},
                                                   {"_kib", 1024}, {"_mib", mebibyte}, {"_gib", 1073741824.}};
  std::replace(name.begin(), name.end(), ' ', '_');
  for (const char* known : {"bytes", "rss", "pss", "uss", "memory", "mem", "value", "private", "size"})
    if (name.starts_with(known)) {
      auto unit = units.find(name.substr(std::string_view(known).size()));
      if (unit != units.end()) return unit->second;
    }
  return 0;
}

// The series of one process among others, in the order they were first seen.
struct Mixed {
  std::vector<NamedSeries> series;
  std::vector<verdict::StepMarks> steps;
  std::map<std::string, size_t> at;

  // By its number or, where there is none, by its name.
  size_t of(const std::string& pid, const std::string& own_name, const std::string& file) {
    const auto [found, is_new] = at.try_emplace(pid.empty() ? own_name : pid, series.size());
    if (is_new) {
      series.emplace_back().name = !own_name.empty() ? own_name : pid.empty() ? file : "pid " + pid;
      const auto value = number(pid);
      if (value && *value > 0 && *value < 1e9) series.back().pid = int(*value);
      steps.emplace_back();
    }
    return found->second;
  }
  std::vector<NamedSeries> done() {
    for (size_t i = 0; i < series.size(); ++i) series[i].steps = steps[i].marks();
    return std::move(series);
  }
};

std::vector<NamedSeries> parse_csv(std::string_view text, const std::string& name) {
  Mixed mixed;
  constexpr size_t none = std::string::npos;
  size_t time_at = 0, bytes_at = 1, step_at = none, pid_at = none, name_at = none;
  double factor = 1;
  char separator = 0;
  bool started = false;
  each_line(text, [&](std::string_view line, size_t count) {
    if (line.front() == '#') return;
    if (!separator)
      separator = line.find(',') != line.npos    ? ','
                  : line.find(';') != line.npos  ? ';'
                  : line.find('\t') != line.npos ? '\t'
                                                 : ' ';
    auto parts = fields(line, separator);
    if (!started) {
      started = true;
      if (parts.size() >= 2 && !number(parts[0]) && !number(parts[1])) {
        std::optional<size_t> time, bytes;
        for (size_t i = 0; i < parts.size(); ++i) {
          std::string title = lower(parts[i]);
          if (!time && is_time(title)) time = i;
          if (!bytes && bytes_factor(title) > 0) bytes = i, factor = bytes_factor(title);
          if (title == "step") step_at = i;
          if (title == "pid") pid_at = i;
          if (title == "name") name_at = i;
        }
        if (!time || !bytes)
          fail_input("{}: line {} has no time and memory columns ('{}'); expected time,bytes", name, count,
                     shown(line));
        time_at = *time, bytes_at = *bytes;
        return;
      }
    }
    if (parts.size() <= std::max(time_at, bytes_at))
      fail_input("{}: line {} has {} field{} ('{}'); expected time,bytes", name, count, parts.size(),
                 parts.size() == 1 ? "" : "s", shown(line));
    if (parts[bytes_at].empty()) return;  // a sample that was not taken
    auto time = number(parts[time_at]), bytes = number(parts[bytes_at]);
    if (!time || !bytes)
      fail_input("{}: line {} is not two numbers ('{}'); expected time,bytes", name, count, shown(line));
    const auto field = [&](size_t at) { return at < parts.size() ? std::string(parts[at]) : std::string(); };
    const size_t one = mixed.of(field(pid_at), field(name_at), name);
    mixed.series[one].samples.push_back({*time, *bytes * factor});
    if (const auto step = number(field(step_at))) mixed.steps[one].see(*time, *step);
  });
  return mixed.done();
}

// MEM <MiB> <epoch seconds>; children as CHLD <index> <MiB> <epoch seconds>.
std::vector<NamedSeries> parse_mprof(std::string_view text, const std::string& name) {
  std::vector<NamedSeries> out(1);
  out[0].name = name;
  std::map<std::string, NamedSeries, std::less<>> children;
  each_line(text, [&](std::string_view line, size_t count) {
    auto parts = fields(line, ' ');
    const bool memory = parts[0] == "MEM", child = parts[0] == "CHLD";
    if (!memory && !child) return;
    const size_t at = memory ? 1 : 2;
    auto bytes = parts.size() > at + 1 ? number(parts[at]) : std::nullopt;
    auto time = parts.size() > at + 1 ? number(parts[at + 1]) : std::nullopt;
    if (!bytes || !time)
      fail_input("{}: line {} is not an mprof sample ('{}'); expected MEM mebibytes time", name, count,
                 shown(line));
    NamedSeries& series = memory ? out[0] : children[std::string(parts[1])];
    series.samples.push_back({*time, *bytes * mebibyte});
  });
  for (auto& [index, series] : children) {
    series.name = name + " child " + index;
    out.push_back(std::move(series));
  }
  return out;
}

// Columns: elapsed seconds, CPU %, real MiB, virtual MiB.
NamedSeries parse_psrecord(std::string_view text, const std::string& name) {
  NamedSeries out;
  out.name = name;
  each_line(text, [&](std::string_view line, size_t count) {
    if (line.front() == '#') return;
    auto parts = fields(line, ' ');
    auto time = parts.size() >= 3 ? number(parts[0]) : std::nullopt,
         real = parts.size() >= 3 ? number(parts[2]) : std::nullopt;
    if (!time || !real)
      fail_input("{}: line {} is not a psrecord sample ('{}'); expected time cpu real virtual", name, count,
                 shown(line));
    out.samples.push_back({*time, *real * mebibyte});
  });
  return out;
}

double json_number(const json& value) {
  if (value.is_number()) return value.get<double>();
  if (value.is_string())
    return number(value.get_ref<const std::string&>()).value_or(std::numeric_limits<double>::quiet_NaN());
  return std::numeric_limits<double>::quiet_NaN();  // null and the like: a sample that was not taken
}

std::vector<NamedSeries> parse_prometheus(const json& document, const std::string& name) {
  const json* data = document.contains("data") ? &document["data"] : nullptr;
  if (!data || !data->is_object() || !data->contains("result") || !(*data)["result"].is_array())
    fail_input("{}: a Prometheus answer without data.result; ask /api/v1/query_range", name);
  std::vector<NamedSeries> out;
  for (const json& result : (*data)["result"]) {
    if (!result.is_object() || !result.contains("values") || !result["values"].is_array())
      fail_input("{}: a Prometheus result without values; ask /api/v1/query_range, not /query", name);
    NamedSeries series;
    if (result.contains("metric") && result["metric"].is_object())
      for (auto& [label, value] : result["metric"].items())
        if (label != "__name__" && value.is_string())
          series.name += (series.name.empty() ? "" : " ") + label + "=" + value.get<std::string>();
    if (series.name.empty()) series.name = name;
    for (const json& pair : result["values"])
      if (pair.is_array() && pair.size() == 2)
        series.samples.push_back({json_number(pair[0]), json_number(pair[1])});
    out.push_back(std::move(series));
  }
  return out;
}

// {"t": […], "bytes": […]} in one object.
NamedSeries arrays(const json& object, const std::string& name) {
  const json &times = object["t"], &bytes = object["bytes"];
  if (!times.is_array() || !bytes.is_array()) fail_input("{}: t and bytes must be arrays of numbers", name);
  if (times.size() != bytes.size())
    fail_input("{}: t has {} values and bytes has {}; they must have the same length", name, times.size(),
               bytes.size());
  NamedSeries out;
  out.name = name;
  out.samples.reserve(times.size());
  for (size_t i = 0; i < times.size(); ++i)
    out.samples.push_back({json_number(times[i]), json_number(bytes[i])});
  return out;
}

std::string text_of(const json& value) {
  return value.is_string() ? value.get<std::string>()
                           : value.dump(-1, ' ', false, json::error_handler_t::replace);
}

std::vector<NamedSeries> parse_json_lines(std::string_view text, const std::string& name) {
  std::vector<NamedSeries> whole;  // lines that are a series each
  Mixed mixed;                     // lines that are a sample each, by process
  each_line(text, [&](std::string_view line, size_t count) {
    json object = parse_json(line);
    if (!object.is_object()) fail_input("{}: line {} is not a JSON object ('{}')", name, count, shown(line));
    if (object.contains("t") && object.contains("bytes") && object["t"].is_array()) {
      whole.push_back(arrays(object, object.contains("id") ? text_of(object["id"]) : name));
      return;
    }
    double time = std::numeric_limits<double>::quiet_NaN(), bytes = time;
    bool has_time = false, has_bytes = false;
    for (auto& [key, value] : object.items()) {
      std::string title = lower(key);
      if (!has_time && is_time(title)) time = json_number(value), has_time = true;
      double factor = bytes_factor(title);
      if (!has_bytes && factor > 0) bytes = json_number(value) * factor, has_bytes = true;
    }
    if (!has_time || !has_bytes)
      fail_input("{}: line {} has no time and bytes ('{}'); expected {{\"time\":…,\"bytes\":…}}", name, count,
                 shown(line));
    const auto field = [&](const char* key) { return object.contains(key) ? text_of(object[key]) : ""; };
    const size_t one = mixed.of(field("pid"), field("name"), name);
    mixed.series[one].samples.push_back({time, bytes});
    if (object.contains("step") && object["step"].is_number())
      mixed.steps[one].see(time, object["step"].get<double>());
  });
  for (NamedSeries& series : mixed.done()) whole.push_back(std::move(series));
  return whole;
}

}  // namespace

std::vector<NamedSeries> parse_series(std::string_view text, const std::string& name) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);  // a byte order mark
  std::string_view body = trimmed(text);
  if (body.empty()) fail_input("{}: is empty; expected {}", name, known_formats);
  if (body.find('\0') != body.npos) fail_input("{}: is not text; expected {}", name, known_formats);
  std::vector<NamedSeries> out;
  std::string_view first = trimmed(body.substr(0, body.find('\n')));
  if (first.front() == '{') {
    json whole = parse_json(body);  // fails on several lines, which are then read one by one
    if (whole.is_object() && whole.contains("status") && whole.contains("data"))
      out = parse_prometheus(whole, name);
    else if (whole.is_object() && whole.contains("t") && whole.contains("bytes") && whole["t"].is_array())
      out.push_back(arrays(whole, whole.contains("id") ? text_of(whole["id"]) : name));
    else
      out = parse_json_lines(body, name);
  } else if (first.starts_with("CMDLINE") || first.starts_with("MEM ") || first.starts_with("CHLD ") ||
             first.starts_with("FUNC ")) {
    out = parse_mprof(body, name);
  } else if (first.front() == '#' && lower(first).find("elapsed") != std::string::npos) {
    out.push_back(parse_psrecord(body, name));
  } else {
    out = parse_csv(body, name);
  }
  std::erase_if(out, [](const NamedSeries& s) { return s.samples.empty(); });
  if (out.empty()) fail_input("{}: contains no samples; expected {}", name, known_formats);
  return out;
}

std::vector<NamedSeries> read_series(const std::string& path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error))
    fail_input("{}: is a folder; give a file in it: {}", path, known_formats);
  std::ifstream file(path, std::ios::binary);
  if (!file) fail_input("{}: cannot be opened; give a recorded series: {}", path, known_formats);
  std::stringstream buffer;
  buffer << file.rdbuf();
  if (file.bad()) fail_input("{}: cannot be read; give a recorded series: {}", path, known_formats);
  const std::string text = buffer.str();
  return parse_series(text, path);
}

BatchLine parse_batch_line(std::string_view line, std::string& id_if_known) {
  json object = parse_json(line);
  if (!object.is_object()) fail_input("not a JSON object; expected {{\"id\":…,\"t\":[…],\"bytes\":[…]}}");
  if (object.contains("id")) id_if_known = object["id"].dump(-1, ' ', false, json::error_handler_t::replace);
  if (!object.contains("t") || !object.contains("bytes"))
    fail_input("no t or bytes; expected {{\"id\":…,\"t\":[…],\"bytes\":[…]}}");
  return {id_if_known, arrays(object, object.contains("id") ? text_of(object["id"]) : "series")};
}

}  // namespace plimsoll::diagnose
