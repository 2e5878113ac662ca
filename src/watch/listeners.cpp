#include "watch/listeners.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>

#include "base/text.hpp"

namespace plimsoll::watch {

Listeners::Listener* Listeners::find(const observe::StepSocket::Sender& sender) {
  auto* end = listeners_.data() + size_;
  auto* at = std::find_if(listeners_.data(), end, [&](const Listener& one) { return one.sender == sender; });
  return at == end ? nullptr : at;
}

std::optional<Listeners::Heard> Listeners::next() {
  observe::StepSocket::Sender sender;
  auto message = socket_.receive(sender);
  if (!message) return std::nullopt;
  Heard heard;
  std::string_view rest = *message, word = text::next_word(rest);
  const bool has_address = sender.length > sizeof(sa_family_t);
  if (word == "step") {
    heard.step = text::number<int64_t>(text::next_word(rest));
  } else if (word == "listen" && has_address) {
    if (Listener* known = find(sender)) {
      known->can_shrink = true;
    } else if (size_ < most) {
      listeners_[size_++] = {sender, true};
      heard.joined = true;
    }
  } else if (word == "shrunk") {
    // What gives nothing back has nothing left to give, until all is well again.
    heard.given_back = text::number<uint64_t>(text::next_word(rest));
    if (Listener* known = has_address ? find(sender) : nullptr)
      known->can_shrink = heard.given_back.value_or(0) > 0;
  }
  return heard;
}

size_t Listeners::tell(const guard::Decision& decision) {
  char text[512];
  auto end = fmt::format_to_n(
      text, sizeof text, R"({{"guard":"{}","used_bytes":{},"limit_bytes":{},"reason":"{}"}})",
      guard::level_name(decision.level), decision.used, decision.limit, decision.reason());
  const std::string_view message(text, std::min(end.size, sizeof text));
  size_t reached = 0;
  for (size_t i = 0; i < size_;) {
    const int error = socket_.send(listeners_[i].sender, message);
    if (error == ECONNREFUSED || error == ENOENT || error == ENOTCONN) {
      listeners_[i] = listeners_[--size_];
      continue;
    }
    reached += error == 0;
    if (decision.level == guard::Level::ok) listeners_[i].can_shrink = true;
    ++i;
  }
  return reached;
}

bool Listeners::can_shrink() const {
  return std::any_of(listeners_.begin(), listeners_.begin() + ptrdiff_t(size_),
                     [](const Listener& one) { return one.can_shrink; });
}

}  // namespace plimsoll::watch
