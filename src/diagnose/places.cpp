#include "diagnose/places.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace plimsoll::diagnose {
namespace {

bool has(std::string_view text, std::string_view part) { return text.find(part) != text.npos; }

bool is_python_library(std::string_view file) {
  if (file.starts_with('<')) return !file.starts_with("<string>") && !file.starts_with("<stdin>");
  return has(file, "/site-packages/") || has(file, "/dist-packages/") || has(file, "/lib/python3");
}

// "/usr/bin/python3.11": the interpreter is to a Python program what the C library is to a C program.
bool is_interpreter(std::string_view path) {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  return name == "python" || name.starts_with("python3");
}

bool is_system_file(std::string_view path) {
  if (is_interpreter(path)) return true;
  for (const std::string_view start :
       {"/usr/lib", "/lib/", "/lib64/", "/usr/include/", "/usr/local/include/"})
    if (path.starts_with(start)) return true;
  return has(path, "/site-packages/") || has(path, "/dist-packages/") || has(path, "/lib/python3") ||
         has(path, "/libpython3") || has(path, "/include/c++/");
}

// Parts of the C++ library that end up in the program itself.
bool is_standard_function(std::string_view name) {
  // A template's return type may stand in front: "void std::vector<...>::push_back".
  const size_t blank = name.substr(0, name.find_first_of("<(")).rfind(' ');
  if (blank != name.npos) name.remove_prefix(blank + 1);
  return name.starts_with("std::") || name.starts_with("__gnu_cxx::") || name.starts_with("operator new");
}

}  // namespace

std::string Place::text() const {
  std::string where = file;
  if (line) where += fmt::format(":{}", line);
  return function.empty() ? where : where + " " + function;
}

const std::vector<Place>& Places::of_frame(uint32_t number) {
  auto [at, is_new] = known_.try_emplace(number);
  if (!is_new) return at->second;
  const heap::FrameView frame = reader_.frame(number);
  if (frame.kind == heap::FrameKind::python) {
    at->second.push_back(python_place(std::string(frame.file), std::string(frame.function), frame.line));
    return at->second;
  }
  const heap::ModuleView module = reader_.module(frame.module);
  const std::string path(module.path);
  if (frame.module == 0) {
    at->second.push_back({fmt::format("{:#x}", frame.address), "", 0, false, true});
    return at->second;
  }
  // A return address is one past the call.
  static const std::vector<heap::SourceFrame> unnamed(1);
  for (const heap::SourceFrame& source : symbols_ && !(own_only_ && is_system_file(path))
                                             ? symbols_->at(path, module.build_id, frame.address - 1)
                                             : unnamed) {
    Place place{source.file.empty() ? path : source.file, source.function, source.line, false, false};
    if (source.function.empty() && source.file.empty())
      place.file = fmt::format("{}+{:#x}", path, frame.address);
    place.library =
        is_system_file(path) || is_system_file(place.file) || is_standard_function(place.function);
    at->second.push_back(std::move(place));
  }
  return at->second;
}

std::vector<Place> Places::stack(uint32_t site) {
  std::vector<Place> places;
  for (const uint32_t frame : reader_.stack(site)) {
    const std::vector<Place>& found = of_frame(frame);
    places.insert(places.end(), found.begin(), found.end());
  }
  return places;
}

Place python_place(std::string file, std::string function, unsigned line) {
  const bool library = is_python_library(file);
  return {std::move(file), std::move(function), line, true, library};
}

size_t place_to_name(const std::vector<Place>& stack) {
  const auto own =
      std::find_if(stack.begin(), stack.end(), [](const Place& place) { return !place.library; });
  if (own != stack.end()) return size_t(own - stack.begin());
  const auto python = std::find_if(stack.begin(), stack.end(), [](const Place& place) {
    return place.python && !place.file.starts_with("<frozen");
  });
  if (python != stack.end()) return size_t(python - stack.begin());
  const auto named = std::find_if(stack.begin(), stack.end(), [](const Place& place) {
    return !place.function.empty() && !is_standard_function(place.function);
  });
  return named == stack.end() ? 0 : size_t(named - stack.begin());
}

}  // namespace plimsoll::diagnose
