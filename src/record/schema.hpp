// The run file's tables, its magic and its version. docs/formats/run-db.md shows the same text; a test
// compares them.
#pragma once
#include <cstdint>

namespace plimsoll {

inline constexpr int32_t run_application_id = 0x506c696d;  // "Plim"
inline constexpr int32_t run_format_version = 1;
extern const char* const run_schema;

}  // namespace plimsoll
