// Arbitrary bytes as the output or the messages of a watched program.
#include <cstddef>
#include <cstdint>

#include "observe/steps.hpp"

using namespace plimsoll::observe;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const StepPattern pattern("(?:it|n)=([0-9]+)(a|b*)*");
  std::string_view content(reinterpret_cast<const char*>(data), size);
  StepCounter counter;
  LineCutter cutter;
  auto line = [&](std::string_view text) {
    if (text.size() > longest_line) __builtin_trap();
    counter.take(recognise(text, nullptr));
    recognise(text, &pattern);
  };
  size_t half = size / 2;
  cutter.feed(content.substr(0, half), line);
  cutter.feed(content.substr(half), line);
  if (auto message = parse_datagram(content)) counter.take(*message);
  if (auto step = counter.step(); step && *step < 0) __builtin_trap();
  return 0;
}
