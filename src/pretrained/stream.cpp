#include "pretrained/stream.hpp"

#include <algorithm>
#include <chrono>

#include "base/error.hpp"
#include "base/file.hpp"
#include "platform/futex.hpp"
#include "platform/signals.hpp"

namespace plimsoll {

WeightStream::WeightStream(const PretrainedWeights& weights) : weights_(weights) {
  for (size_t file = 0; file < weights.files().size(); ++file)
    for (const auto& part : weights.parts(file))
      if (!part.name.empty()) {
        names_.push_back(part.name);
        tensors_.push_back(&weights[part.name]);
      }
}

WeightStream::~WeightStream() {
  if (!thread_.joinable()) return;
  stop_.store(true, std::memory_order_release);
  begun_.fetch_add(1, std::memory_order_release);
  platform::wake(begun_, 1);
  thread_.join();
}

int64_t WeightStream::piece(std::string_view name) const {
  const auto found = std::find(names_.begin(), names_.end(), name);
  if (found == names_.end()) fail("[stream] there is no tensor '{}'", name);
  return found - names_.begin();
}

void WeightStream::start(const std::unordered_map<std::string, ChecksumText>& expected) {
  if (thread_.joinable()) return;
  for (const std::string& name : names_) expected_.push_back(expected.at(name));
  buffer_.emplace();
  files_.reserve(weights_.files().size());
  for (const auto& path : weights_.files()) files_.emplace_back(path.string(), *buffer_);
  const SignalsBlocked blocked;  // signals are the main thread's
  thread_ = std::thread([this] { serve(); });
}

// One thread begins and awaits, one serves: a request's place in the ring is its number.
void WeightStream::begin(int64_t piece, std::byte* into) {
  const uint32_t number = begun_.load(std::memory_order_relaxed);
  if (number - ended_.load(std::memory_order_acquire) >= most_requests) wait_for(number - most_requests + 1);
  ring_[number % most_requests] = {piece, into};
  begun_.store(number + 1, std::memory_order_release);
  platform::wake(begun_, 1);
}

void WeightStream::wait_for(uint32_t request) {
  for (;;) {
    const uint32_t ended = ended_.load(std::memory_order_acquire);
    if (int32_t(ended - request) >= 0) return;
    platform::sleep_while(ended_, ended);
  }
}

void WeightStream::await(const std::byte* into) {
  const uint32_t begun = begun_.load(std::memory_order_relaxed);
  for (uint32_t back = 1; back <= std::min<uint32_t>(begun, most_requests); ++back)
    if (ring_[(begun - back) % most_requests].into == into) return wait_for(begun - back + 1);
}

void WeightStream::drain() { wait_for(begun_.load(std::memory_order_relaxed)); }

void WeightStream::serve() {
  for (uint32_t next = 0;;) {
    const uint32_t begun = begun_.load(std::memory_order_acquire);
    if (stop_.load(std::memory_order_acquire)) return;
    if (begun == next) {
      platform::sleep_while(begun_, begun);
      continue;
    }
    const Request request = ring_[next % most_requests];
    if (!failed())
      if (const int code = read(request)) {
        failed_piece_.store(request.piece, std::memory_order_relaxed);
        failure_.store(code, std::memory_order_release);
      }
    ended_.store(++next, std::memory_order_release);
    platform::wake(ended_, 1);
  }
}

int WeightStream::read(const Request& request) {
  constexpr uint64_t at_once = 1 << 20;
  const auto piece = static_cast<size_t>(request.piece);
  const PretrainedTensor& tensor = *tensors_[piece];
  Checksum checksum;
  for (uint64_t done = 0; done < tensor.bytes;) {
    const uint64_t bytes = std::min(at_once, tensor.bytes - done);
    if (const int code = files_[tensor.file].read(tensor.offset + done, {request.into + done, bytes}))
      return code;
    checksum.update(request.into + done, bytes);
    done += bytes;
  }
  return checksum.text() == expected_[piece] ? 0 : damaged;
}

std::string WeightStream::failure() const {
  const int code = failure_.load(std::memory_order_acquire);
  if (code == 0) return "";
  const auto piece = static_cast<size_t>(failed_piece_.load(std::memory_order_relaxed));
  const std::string file = weights_.files()[tensors_[piece]->file].string();
  if (code == damaged)
    return fmt::format("{}: tensor '{}' is no longer what it was when the run began", file, names_[piece]);
  return fmt::format("{}: tensor '{}' can no longer be read: {}", file, names_[piece], error_text(code));
}

double WeightStream::speed() const {
  const PretrainedTensor* largest = *std::max_element(
      tensors_.begin(), tensors_.end(), [](const auto* a, const auto* b) { return a->bytes < b->bytes; });
  platform::DirectBuffer direct;
  platform::DirectFile file(weights_.files()[largest->file].string(), direct);
  std::vector<std::byte> buffer(1 << 20);
  const uint64_t bytes = std::min<uint64_t>(largest->bytes, 64 << 20) / buffer.size() * buffer.size();
  const auto start = std::chrono::steady_clock::now();
  for (uint64_t done = 0; done < bytes; done += buffer.size())
    if (const int code = file.read(largest->offset + done, buffer))
      fail("{} cannot be read: {}", weights_.files()[largest->file].string(), error_text(code));
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return double(std::max<uint64_t>(bytes, 1)) / std::max(seconds, 1e-6);
}

}  // namespace plimsoll
