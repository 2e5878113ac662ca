#!/usr/bin/env bash
# Installs the build into a fresh folder and uses it from there: find_package, every installed header, the
# library, the program, the manual page.
set -euo pipefail
build=${PLIMSOLL_BUILD:?}
cmake=/usr/bin/cmake
[ -x $cmake ] || cmake=cmake
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

$cmake --install "$build" --prefix "$work/prefix" >/dev/null
"$work/prefix/bin/plimsoll" --version
[ -s "$work/prefix/share/man/man1/plimsoll.1" ]

mkdir "$work/consumer"
cat > "$work/consumer/CMakeLists.txt" <<'CMAKE'
cmake_minimum_required(VERSION 3.22)
project(consumer CXX)
find_package(plimsoll REQUIRED)
add_executable(consumer main.cpp)
target_link_libraries(consumer PRIVATE plimsoll::plimsoll)
CMAKE
cat > "$work/consumer/main.cpp" <<'CPP'
#include <cstdio>

#include "base/units.hpp"
#include "graph/plan.hpp"
#include "model/program.hpp"

int main() {
  const plimsoll::Program program = plimsoll::record({.model = {.layers = 1, .heads = 2, .dim = 32, .ff = 64, .context = 16, .vocab = 11}});
  const plimsoll::Plan plan = plimsoll::make_plan(*program.graph, 1);
  std::printf("%s in %s\n", plimsoll::format_count(program.model->count()).c_str(), plimsoll::format_bytes(plan.total).c_str());
  return plan.total >= plan.lower_bound && plimsoll::find_overlap(*program.graph, plan).empty() ? 0 : 1;
}
CPP
# The sanitizers of this build, if any, are needed to link its library.
flags=$(sed -n 's/^PLIMSOLL_SANITIZE:STRING=\(..*\)/-fsanitize=\1/p' "$build/CMakeCache.txt")
compiler=$(sed -n 's/^CMAKE_CXX_COMPILER:[A-Z]*=//p' "$build/CMakeCache.txt")
$cmake -S "$work/consumer" -B "$work/consumer/build" -DCMAKE_PREFIX_PATH="$work/prefix" -DCMAKE_CXX_FLAGS="$flags" \
  -DCMAKE_CXX_COMPILER="$compiler" >/dev/null
$cmake --build "$work/consumer/build"
"$work/consumer/build/consumer"

# No installed header needs one that is not installed.
include=$work/prefix/include/plimsoll
(cd "$include" && find . -name '*.hpp' -printf '#include "%P"\n') | sort > "$work/all.cpp"
"$compiler" -std=c++20 -I"$include" -fsyntax-only "$work/all.cpp"
echo "$(wc -l < "$work/all.cpp") installed headers compile"
