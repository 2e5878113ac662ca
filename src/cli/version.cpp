// `plimsoll version`: which build this is and what it can compute with.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/command.hpp"
#include "kernels/gemm/backend.hpp"

namespace plimsoll::cli::version_command {
namespace {

bool as_json = false;

void run() {
  const std::string products = kernels::open_backend("native").description;
  if (!as_json) {
    fmt::print("plimsoll {} ({}; compiled by {})\n", PLIMSOLL_VERSION, products, PLIMSOLL_COMPILER);
    return;
  }
  const nlohmann::ordered_json out = {{"version", PLIMSOLL_VERSION},
                                      {"compiler", PLIMSOLL_COMPILER},
                                      {"gemm", products},
                                      {"backends", kernels::backend_names()}};
  fmt::print("{}\n", out.dump());
}

Command command(90, "version", "print the version, the compiler and the kernels in use",
                "plimsoll version --json", [](Options& options) {
                  options.flag("--json", as_json, "print one JSON object");
                  options.run(run);
                });

}  // namespace
}  // namespace plimsoll::cli::version_command
