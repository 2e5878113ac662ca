#include "diagnose/hints.hpp"

#include <fmt/format.h>
#include <re2/re2.h>

#include <optional>

#include "base/units.hpp"
#include "diagnose/source.hpp"

namespace plimsoll::diagnose {
namespace {

// Of what a line holds, how much must be of a kind to be worth a word, beside two samples.
constexpr double worth_a_word = 0.02;

bool shows(uint64_t bytes, const Site& site, double sample_bytes) {
  return double(bytes) >= 2 * sample_bytes && double(bytes) >= worth_a_word * double(site.bytes);
}

// A function of the program on the way to the allocation whose results are cached without bound.
std::string cached_function(const Site& site) {
  static const re2::RE2 unbounded(R"(^@(functools\.)?(cache(\s|#|$)|lru_cache\(\s*(maxsize\s*=\s*)?None))");
  for (const Place& place : site.stack) {
    if (!place.python || place.library) continue;
    const FunctionSource function = python_function(place.file, place.line, place.function);
    for (const std::string& decorator : function.decorators)
      if (re2::RE2::PartialMatch(decorator, unbounded))
        return fmt::format(
            "give the cache of {} a bound: {} keeps every result{}", place.function, decorator,
            function.head.find("(self") != std::string::npos ? ", and every object it was called on" : "");
  }
  return {};
}

// A hook that the function registers and does not remove.
std::string kept_hook(const Site& site) {
  static const re2::RE2 registers(R"(\.register_\w*hook\()");
  if (!site.place.python) return {};
  std::optional<unsigned> line;
  for (const auto& [number, text] :
       python_function(site.place.file, site.place.line, site.place.function).body) {
    if (re2::RE2::PartialMatch(text, registers)) line = number;
    if (text.find(".remove()") != std::string::npos) return {};
  }
  if (!line) return {};
  return fmt::format(
      "remove the hook that line {} registers when it is no longer needed (handle.remove()): it keeps what "
      "it refers to",
      *line);
}

std::string what_it_is(const Site& site, double sample_bytes) {
  if (site.content == Content::kernel_cache)
    return "oneDNN keeps one compiled kernel for each shape of input, 1,024 at most: pad inputs to a few "
           "shapes, or set "
           "ONEDNN_PRIMITIVE_CACHE_CAPACITY";
  if (shows(site.graph_bytes, site, sample_bytes))
    return fmt::format(
        "keep tensor.item() or tensor.detach() instead of the tensor: {} of this are nodes of the autograd "
        "graph, which a "
        "tensor that is kept holds",
        format_bytes(site.graph_bytes));
  if (std::string hint = cached_function(site); !hint.empty()) return hint;
  if (std::string hint = kept_hook(site); !hint.empty()) return hint;
  if (site.place.python && re2::RE2::PartialMatch(site.source, R"(\bcycle\()"))
    return "do not wrap a loader in itertools.cycle, which keeps every element of the first pass: begin the "
           "loader again "
           "in a loop of its own";
  if (shows(site.image_bytes, site, sample_bytes))
    return fmt::format(
        "{} of this are decoded images: keep the encoded files and decode when an item is used, or bound the "
        "cache",
        format_bytes(site.image_bytes));
  return {};
}

std::string where_it_is(const Site& site) {
  if (site.grows_by_processes)
    return fmt::format(
        "{} processes hold it and none of them grows: make the workers once and use them again, or end them",
        site.pids.size());
  if (site.worker == Worker::loader)
    return fmt::format("it is held in {} of a DataLoader: what the dataset keeps is kept by every worker",
                       site.pids.size() == 1 ? "a worker" : fmt::format("{} workers", site.pids.size()));
  if (site.worker == Worker::other && site.pids.size() > 1)
    return fmt::format("it is held in {} worker processes, each of its own", site.pids.size());
  return {};
}

}  // namespace

std::string hint_for(const Site& site, double sample_bytes) {
  const std::string what = what_it_is(site, sample_bytes), where = where_it_is(site);
  return what.empty() || where.empty() ? what + where : what + "; " + where;
}

}  // namespace plimsoll::diagnose
