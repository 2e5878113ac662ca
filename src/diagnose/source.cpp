#include "diagnose/source.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>

namespace plimsoll::diagnose {
namespace {

constexpr size_t longest_file = 16 << 20, longest_function = 2000;

// Lines from the first to `last`, fewer where the file ends before.
std::vector<std::string> read_lines(const std::string& file, size_t last) {
  std::vector<std::string> lines;
  std::error_code error;
  if (file.empty() || file[0] != '/' || !std::filesystem::is_regular_file(file, error) ||
      std::filesystem::file_size(file, error) > longest_file)
    return lines;
  std::ifstream in(file);
  std::string text;
  while (lines.size() < last && std::getline(in, text)) lines.push_back(text);
  return lines;
}

size_t indentation(const std::string& text) {
  const size_t at = text.find_first_not_of(" \t");
  return at == text.npos ? text.size() : at;
}

bool blank(const std::string& text) { return text.find_first_not_of(" \t\r") == text.npos; }

std::string trimmed(const std::string& text) {
  if (blank(text)) return {};
  const size_t begin = indentation(text);
  return text.substr(begin, text.find_last_not_of(" \t\r") + 1 - begin);
}

bool defines(const std::string& text, const std::string& name) {
  const std::string plain = trimmed(text);
  return plain.starts_with("def " + name + "(") || plain.starts_with("async def " + name + "(");
}

}  // namespace

std::string source_line(const std::string& file, unsigned line) {
  if (line == 0) return {};
  const std::vector<std::string> lines = read_lines(file, line);
  return lines.size() == line ? trimmed(lines.back()).substr(0, 120) : std::string();
}

FunctionSource python_function(const std::string& file, unsigned line, const std::string& name) {
  FunctionSource found;
  if (line == 0 || name.empty()) return found;
  const std::string last = name.substr(name.rfind('.') + 1);
  const std::vector<std::string> lines = read_lines(file, line + longest_function);
  size_t at = std::min<size_t>(line, lines.size());
  while (at > 0 && !defines(lines[at - 1], last)) --at;
  if (at == 0) return found;
  const size_t head = at - 1, deep = indentation(lines[head]);
  found.head = trimmed(lines[head]);
  for (size_t i = head; i > 0 && trimmed(lines[i - 1]).starts_with('@'); --i)
    found.decorators.insert(found.decorators.begin(), trimmed(lines[i - 1]));
  for (size_t i = head + 1; i < lines.size() && (blank(lines[i]) || indentation(lines[i]) > deep); ++i)
    found.body.push_back({unsigned(i + 1), lines[i]});
  return found;
}

}  // namespace plimsoll::diagnose
