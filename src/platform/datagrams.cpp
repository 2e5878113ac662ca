#include "platform/datagrams.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "base/error.hpp"
#include "platform/clock.hpp"
#include "platform/descriptors.hpp"

namespace plimsoll::platform {

DatagramSocket::DatagramSocket(const std::string& name) {
  const char* base = std::getenv("XDG_RUNTIME_DIR");
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  // The address holds 107 bytes; a folder that does not leave room for ours, or is not writable, gives way to
  // /tmp.
  for (std::string place : {std::string(base ? base : "/tmp"), std::string("/tmp")}) {
    if (place.size() + std::strlen("/plimsoll-socket-XXXXXX/") + name.size() >= sizeof address.sun_path)
      continue;
    folder_.emplace(place, "socket");
    if (folder_->ok()) break;
  }
  if (!folder_ || !folder_->ok())
    fail("cannot create a folder for the {} socket in /tmp ({}); use --no-steps", name, std::strerror(errno));
  path_ = folder_->path() + "/" + name;
  std::memcpy(address.sun_path, path_.c_str(), path_.size() + 1);
  if (const int error = bind_to(address)) {
    rmdir(folder_->path().c_str());
    fail("cannot create the socket '{}' ({}); use --no-steps", path_, std::strerror(error));
  }
}

DatagramSocket::DatagramSocket(const At& place) : path_(place.path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path_.empty() || path_.size() >= sizeof address.sun_path)
    fail_input("the socket path '{}' is empty or longer than {} bytes; give a shorter one", path_,
               sizeof address.sun_path - 1);
  std::memcpy(address.sun_path, path_.c_str(), path_.size() + 1);
  if (const int error = bind_to(address))
    fail_input("the socket '{}' cannot be made ({}); name a file that does not exist yet", path_,
               std::strerror(error));
}

int DatagramSocket::bind_to(const sockaddr_un& address) {
  descriptor_ = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (descriptor_ < 0) return errno;
  return bind(descriptor_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 ? 0 : errno;
}

DatagramSocket::~DatagramSocket() {
  close(descriptor_);
  unlink(path_.c_str());
  if (folder_) rmdir(folder_->path().c_str());
}

bool DatagramSocket::Sender::operator==(const Sender& other) const {
  return length == other.length && std::memcmp(&address, &other.address, length) == 0;
}

std::optional<std::string_view> DatagramSocket::receive(Sender& sender) {
  sender.length = sizeof sender.address;
  ssize_t got = recvfrom(descriptor_, buffer_.data(), buffer_.size(), 0,
                         reinterpret_cast<sockaddr*>(&sender.address), &sender.length);
  if (got < 0) return std::nullopt;
  return std::string_view(buffer_.data(), size_t(got));
}

int DatagramSocket::send(const Sender& to, std::string_view text) const {
  ssize_t put = sendto(descriptor_, text.data(), text.size(), MSG_DONTWAIT | MSG_NOSIGNAL,
                       reinterpret_cast<const sockaddr*>(&to.address), to.length);
  return put < 0 ? errno : 0;
}

std::string ask_datagram(const std::string& path, std::string_view text, double seconds) {
  const DatagramSocket own("answers");
  DatagramSocket::Sender to, from;
  to.address.sun_family = AF_UNIX;
  if (path.size() >= sizeof to.address.sun_path) fail_input("the socket path '{}' is too long", path);
  std::memcpy(to.address.sun_path, path.c_str(), path.size() + 1);
  to.length = sizeof to.address;
  if (const int error = own.send(to, text))
    fail_input("nobody answers at '{}' ({}); the program has ended or stopped listening", path,
               std::strerror(error));
  std::string answer(65536, '\0');
  const double deadline = monotonic_seconds() + seconds;
  for (double left = seconds; left > 0; left = deadline - monotonic_seconds()) {
    Awaited waits[] = {{own.descriptor()}};
    if (!wait_for(waits, left)) continue;
    from.length = sizeof from.address;
    const ssize_t got = recvfrom(own.descriptor(), answer.data(), answer.size(), 0,
                                 reinterpret_cast<sockaddr*>(&from.address), &from.length);
    if (got < 0 || path != from.address.sun_path) continue;
    answer.resize(size_t(got));
    return answer;
  }
  return {};
}

}  // namespace plimsoll::platform
