#include "observe/step_socket.hpp"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "base/error.hpp"

namespace plimsoll::observe {

StepSocket::StepSocket() {
  const char* base = std::getenv("XDG_RUNTIME_DIR");
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  // The address holds 107 bytes; a folder that does not leave room for ours, or is not writable, gives way to
  // /tmp.
  for (std::string place : {std::string(base ? base : "/tmp"), std::string("/tmp")}) {
    folder_ = place + "/plimsoll-XXXXXX";
    if (folder_.size() + 7 < sizeof address.sun_path && mkdtemp(folder_.data())) break;
    folder_.clear();
  }
  if (folder_.empty())
    fail("no folder for the step socket can be made in /tmp ({}); use --no-steps", std::strerror(errno));
  path_ = folder_ + "/steps";
  std::memcpy(address.sun_path, path_.c_str(), path_.size() + 1);
  descriptor_ = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (descriptor_ < 0 || bind(descriptor_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
    int error = errno;
    rmdir(folder_.c_str());
    fail("the step socket '{}' cannot be made ({}); use --no-steps", path_, std::strerror(error));
  }
}

StepSocket::~StepSocket() {
  close(descriptor_);
  unlink(path_.c_str());
  rmdir(folder_.c_str());
}

bool StepSocket::receive(std::string& text) {
  text.resize(1024);
  ssize_t got = recv(descriptor_, text.data(), text.size(), 0);
  text.resize(got < 0 ? 0 : size_t(got));
  return got >= 0;
}

}  // namespace plimsoll::observe
