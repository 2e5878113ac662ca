#include "report/profile_exports.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>

#include "record/run_reader.hpp"

namespace plimsoll::report {
namespace {

std::string shown_name(const ExportedFrame& frame) {
  std::string where = frame.file;
  if (frame.line) where += fmt::format(":{}", frame.line);
  return frame.function.empty() ? where : fmt::format("{} ({})", frame.function, where);
}

// Protocol buffers: only the two forms of field that profile.proto needs.
class Message {
 public:
  void number(unsigned field, uint64_t value) {
    variable(field << 3);
    variable(value);
  }
  void text(unsigned field, std::string_view value) {
    variable(field << 3 | 2);
    variable(value.size());
    bytes_ += value;
  }
  void message(unsigned field, const Message& inner) { text(field, inner.bytes_); }
  void numbers(unsigned field, const std::vector<uint64_t>& values) {
    Message packed;
    for (const uint64_t value : values) packed.variable(value);
    text(field, packed.bytes_);
  }
  const std::string& bytes() const { return bytes_; }

 private:
  void variable(uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes_ += char(value | 0x80);
    bytes_ += char(value);
  }
  std::string bytes_;
};

uint32_t checksum(std::string_view bytes) {
  static const auto table = [] {
    std::array<uint32_t, 256> made{};
    for (uint32_t i = 0; i < 256; ++i) {
      uint32_t value = i;
      for (int bit = 0; bit < 8; ++bit) value = value & 1 ? 0xedb88320u ^ (value >> 1) : value >> 1;
      made[i] = value;
    }
    return made;
  }();
  uint32_t sum = ~0u;
  for (const char byte : bytes) sum = table[(sum ^ uint8_t(byte)) & 255] ^ (sum >> 8);
  return ~sum;
}

// A gzip file of stored blocks: profiles are small, and readers expect the name to tell the truth.
std::string gzip(std::string_view bytes) {
  std::string out("\x1f\x8b\x08\0\0\0\0\0\0\xff", 10);
  const auto little = [&](uint64_t value, int width) {
    for (int i = 0; i < width; ++i) out += char(value >> (8 * i));
  };
  size_t at = 0;
  do {
    const size_t part = std::min<size_t>(bytes.size() - at, 65535);
    out += char(at + part == bytes.size());
    little(part, 2);
    little(~part, 2);
    out += bytes.substr(at, part);
    at += part;
  } while (at < bytes.size());
  little(checksum(bytes), 4);
  little(bytes.size(), 4);
  return out;
}

class Texts {
 public:
  Texts() { number(""); }
  uint64_t number(const std::string& text) {
    const auto [at, is_new] = numbers_.try_emplace(text, order_.size());
    if (is_new) order_.push_back(text);
    return at->second;
  }
  const std::vector<std::string>& order() const { return order_; }

 private:
  std::map<std::string, uint64_t> numbers_;
  std::vector<std::string> order_;
};

std::string root_name(const ExportedStack& stack) { return fmt::format("process {}", stack.pid); }

}  // namespace

ExportedFrame parse_frame(std::string_view text) {
  ExportedFrame frame;
  // The function follows the first ":digits " or, without a line, the first blank.
  for (size_t colon = text.find(':'); colon != text.npos; colon = text.find(':', colon + 1)) {
    size_t end = colon + 1;
    while (end < text.size() && text[end] >= '0' && text[end] <= '9' && end - colon < 10) ++end;
    if (end == colon + 1 || (end < text.size() && text[end] != ' ')) continue;
    frame.file = text.substr(0, colon);
    for (size_t i = colon + 1; i < end; ++i) frame.line = frame.line * 10 + (text[i] - '0');
    if (end < text.size()) frame.function = text.substr(end + 1);
    return frame;
  }
  const size_t blank = text.find(' ');
  frame.file = text.substr(0, blank);
  if (blank != text.npos) frame.function = text.substr(blank + 1);
  return frame;
}

std::vector<ExportedStack> recorded_stacks(const std::string& run_file) {
  const RunReader reader(run_file);
  std::map<int64_t, int64_t> pids;
  for (const auto& process : reader.processes()) pids[process.id] = process.pid;
  std::vector<ExportedStack> stacks;
  for (const auto& site : reader.sites_and_freed()) {
    ExportedStack stack;
    if (const auto pid = pids.find(site.process); pid != pids.end()) stack.pid = pid->second;
    stack.bytes = std::max<int64_t>(0, site.bytes);
    stack.blocks = std::max<int64_t>(0, site.blocks);
    if (site.allocated_bytes != unknown_count && site.allocated_blocks != unknown_count) {
      stack.allocated_bytes = std::max<int64_t>(0, site.allocated_bytes);
      stack.allocated_blocks = std::max<int64_t>(0, site.allocated_blocks);
    }
    for (std::string_view rest = site.stack; !rest.empty();) {
      const size_t end = std::min(rest.find('\n'), rest.size());
      stack.frames.push_back(parse_frame(rest.substr(0, end)));
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    if (!stack.frames.empty()) stacks.push_back(std::move(stack));
  }
  return stacks;
}

std::string pprof(const std::vector<ExportedStack>& stacks) {
  Message profile;
  Texts texts;
  const auto value_type = [&](const char* type, const char* unit) {
    Message message;
    message.number(1, texts.number(type));
    message.number(2, texts.number(unit));
    return message;
  };
  const bool allocated =
      !stacks.empty() && std::all_of(stacks.begin(), stacks.end(),
                                     [](const ExportedStack& stack) { return stack.allocated_bytes >= 0; });
  if (allocated) {
    profile.message(1, value_type("alloc_objects", "count"));
    profile.message(1, value_type("alloc_space", "bytes"));
  }
  profile.message(1, value_type("inuse_objects", "count"));
  profile.message(1, value_type("inuse_space", "bytes"));
  std::map<std::string, uint64_t> functions, locations;
  Message tables;
  const auto location = [&](const ExportedFrame& frame) {
    const std::string name = frame.function.empty() ? frame.file : frame.function;
    const auto [function, new_function] =
        functions.try_emplace(name + "\n" + frame.file, functions.size() + 1);
    if (new_function) {
      Message message;
      message.number(1, function->second);
      message.number(2, texts.number(name));
      message.number(4, texts.number(frame.file));
      tables.message(5, message);
    }
    const auto [place, new_place] =
        locations.try_emplace(fmt::format("{}:{}", function->second, frame.line), locations.size() + 1);
    if (new_place) {
      Message line, message;
      line.number(1, function->second);
      line.number(2, uint64_t(frame.line));
      message.number(1, place->second);
      message.message(4, line);
      tables.message(4, message);
    }
    return place->second;
  };
  for (const ExportedStack& stack : stacks) {
    std::vector<uint64_t> path;
    for (auto frame = stack.frames.rbegin(); frame != stack.frames.rend(); ++frame)
      path.push_back(location(*frame));
    Message sample, label;
    sample.numbers(1, path);
    std::vector<uint64_t> values;
    if (allocated) values = {uint64_t(stack.allocated_blocks), uint64_t(stack.allocated_bytes)};
    values.insert(values.end(), {uint64_t(stack.blocks), uint64_t(stack.bytes)});
    sample.numbers(2, values);
    label.number(1, texts.number("pid"));
    label.number(3, uint64_t(stack.pid));
    sample.message(3, label);
    profile.message(2, sample);
  }
  Message tail;
  tail.message(11, value_type("space", "bytes"));
  tail.number(14, texts.number("inuse_space"));
  std::string all = profile.bytes() + tables.bytes() + tail.bytes();
  Message names;
  for (const std::string& text : texts.order()) names.text(6, text);
  return gzip(all + names.bytes());
}

std::string collapsed(const std::vector<ExportedStack>& stacks) {
  std::string out;
  for (const ExportedStack& stack : stacks) {
    if (stack.bytes == 0) continue;
    out += root_name(stack);
    for (const ExportedFrame& frame : stack.frames) {
      std::string name = shown_name(frame);
      std::replace(name.begin(), name.end(), ';', ',');
      out += ";" + name;
    }
    out += fmt::format(" {}\n", stack.bytes);
  }
  return out;
}

std::string speedscope(const std::vector<ExportedStack>& stacks, std::string_view name) {
  using Json = nlohmann::ordered_json;
  Json frames = Json::array(), samples = Json::array(), weights = Json::array();
  std::map<std::string, size_t> numbers;
  const auto frame_number = [&](const std::string& key, Json frame) {
    const auto [at, is_new] = numbers.try_emplace(key, numbers.size());
    if (is_new) frames.push_back(std::move(frame));
    return at->second;
  };
  int64_t total = 0;
  for (const ExportedStack& stack : stacks) {
    if (stack.bytes == 0) continue;
    Json sample = Json::array({frame_number(root_name(stack), {{"name", root_name(stack)}})});
    for (const ExportedFrame& frame : stack.frames) {
      Json entry{{"name", frame.function.empty() ? frame.file : frame.function}, {"file", frame.file}};
      if (frame.line) entry["line"] = frame.line;
      sample.push_back(frame_number(shown_name(frame), std::move(entry)));
    }
    samples.push_back(std::move(sample));
    weights.push_back(stack.bytes);
    total += stack.bytes;
  }
  const Json out{{"$schema", "https://www.speedscope.app/file-format-schema.json"},
                 {"name", name},
                 {"exporter", "plimsoll"},
                 {"activeProfileIndex", 0},
                 {"shared", {{"frames", std::move(frames)}}},
                 {"profiles", Json::array({{{"type", "sampled"},
                                            {"name", "live heap"},
                                            {"unit", "bytes"},
                                            {"startValue", 0},
                                            {"endValue", total},
                                            {"samples", std::move(samples)},
                                            {"weights", std::move(weights)}}})}};
  return out.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace plimsoll::report
