#include "live/companion.hpp"

#include <cerrno>
#include <cstring>
#include <optional>

#include "base/error.hpp"
#include "base/file.hpp"
#include "live/site.hpp"
#include "platform/descriptors.hpp"
#include "platform/detached.hpp"
#include "platform/owned_folder.hpp"
#include "platform/sockets.hpp"

namespace plimsoll::live {
namespace {

constexpr int below_the_run = 10;       // nice: the run's own work comes first
constexpr double farewell_seconds = 3;  // readers have this long to take the end of the record

}  // namespace

Companion::Companion(const ServeOptions& options) {
  if (!options.wanted) return;
  Listening listening = listen_on(parse_endpoint(options));
  int ends[2];
  if (const int code = platform::make_packet_pair(ends))
    fail("[serve] cannot create a socket pair ({})", error_text(code));
  const int code = platform::run_detached(
      {.name = "plimsoll-serve", .nice = below_the_run, .keep = {listening.descriptor, ends[1]}},
      [&] { serve_followed(listening, options.token, ends[1]); });
  platform::close_socket(ends[1]);
  platform::close_socket(listening.descriptor);
  if (code) {
    platform::close_socket(ends[0]);
    fail("[serve] cannot start the server process ({})", error_text(code));
  }
  control_ = ends[0];
  url_ = listening.url;
}

void Companion::follow(const std::filesystem::path& record, bool remove_after) {
  if (control_ < 0) return;
  std::error_code ignored;
  const std::string message =
      (remove_after ? "-" : "+") + std::filesystem::absolute(record, ignored).string();
  // If the server is gone, the run continues.
  size_t sent = 0;
  platform::send(control_, message, false, sent);
}

Companion::~Companion() {
  if (control_ < 0) return;
  platform::finish_sending(control_);
  platform::Awaited gone[] = {{control_}};
  try {
    platform::wait_for(gone, farewell_seconds);
  } catch (const Error&) {  // waiting for readers is a courtesy
  }
  platform::close_socket(control_);
}

std::filesystem::path temporary_record() {
  const std::string place = std::filesystem::temp_directory_path().string();
  static std::optional<platform::OwnedFolder> folder;  // ours until the process ends
  folder.emplace(place, "live");
  if (!folder->ok()) fail("no temporary folder can be made in {} ({})", place, std::strerror(errno));
  return std::filesystem::path(folder->path()) / "run.db";
}

}  // namespace plimsoll::live
