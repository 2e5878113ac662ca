// Arbitrary bytes as run.db: refused with an InputError, or read whole and judged without a crash.
#include "as_file.hpp"
#include "base/error.hpp"
#include "diagnose/recorded_run.hpp"
#include "record/run_rows.hpp"

using namespace plimsoll;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static fuzz::AsFile file;
  const std::string& path = file.holding(data, size);
  try {
    const RunRows rows = read_run_rows(path);
    diagnose::judge_run(diagnose::recorded_run(rows));
  } catch (const InputError&) {
  }
  return 0;
}
