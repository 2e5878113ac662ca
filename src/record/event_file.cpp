#include "record/event_file.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>

#include "base/error.hpp"

namespace plimsoll {
namespace {

constexpr auto crc_table = [] {
  std::array<uint32_t, 256> table{};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t value = i;
    for (int bit = 0; bit < 8; ++bit) value = value & 1 ? 0x82f63b78u ^ (value >> 1) : value >> 1;
    table[i] = value;
  }
  return table;
}();

// TFRecord stores checksums rotated and shifted, so that the checksum of a checksum is not constant.
uint32_t masked_crc(const void* data, size_t bytes) noexcept {
  const uint32_t crc = crc32c(data, bytes);
  return ((crc >> 15) | (crc << 17)) + 0xa282ead8u;
}

double wall_time() noexcept {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

// A protocol-buffer message under construction in a fixed buffer. What does not fit is left out.
template <size_t Capacity>
class Message {
 public:
  void number(int field, uint64_t value) noexcept {
    varint(static_cast<uint64_t>(field) << 3);
    varint(value);
  }
  void real(int field, double value) noexcept { fixed(field, 1, &value, sizeof value); }
  void real(int field, float value) noexcept { fixed(field, 5, &value, sizeof value); }
  void bytes(int field, const void* data, size_t size) noexcept {
    varint(static_cast<uint64_t>(field) << 3 | 2);
    varint(size);
    put(data, size);
  }
  void bytes(int field, std::string_view text) noexcept { bytes(field, text.data(), text.size()); }
  template <size_t Inner>
  void message(int field, const Message<Inner>& inner) noexcept {
    bytes(field, inner.data(), inner.size());
    overflowed_ |= inner.overflowed();
  }
  const uint8_t* data() const noexcept { return data_; }
  size_t size() const noexcept { return size_; }
  bool overflowed() const noexcept { return overflowed_; }

 private:
  void varint(uint64_t value) noexcept {
    for (; value >= 0x80; value >>= 7) put_byte(static_cast<uint8_t>(value | 0x80));
    put_byte(static_cast<uint8_t>(value));
  }
  void fixed(int field, int wire, const void* data, size_t size) noexcept {
    varint(static_cast<uint64_t>(field) << 3 | static_cast<uint64_t>(wire));
    put(data, size);
  }
  void put_byte(uint8_t byte) noexcept { put(&byte, 1); }
  void put(const void* data, size_t size) noexcept {
    if (size > Capacity - size_) {
      overflowed_ = true;
      return;
    }
    std::memcpy(data_ + size_, data, size);
    size_ += size;
  }
  uint8_t data_[Capacity];
  size_t size_ = 0;
  bool overflowed_ = false;
};

// The fields of TensorFlow's event.proto, summary.proto and tensor.proto that are used here.
namespace event {
constexpr int wall_time = 1, step = 2, file_version = 3, summary = 5;
}
namespace summary {
constexpr int value = 1;
}
namespace value {
constexpr int tag = 1, simple_value = 2, tensor = 8, metadata = 9;
}
namespace tensor {
constexpr int dtype = 1, string_val = 8;
constexpr uint64_t dt_string = 7;
}  // namespace tensor
namespace metadata {
constexpr int plugin_data = 1, plugin_name = 1;
}

constexpr size_t value_capacity = EventFile::longest_text + EventFile::longest_tag + 128;
constexpr size_t event_capacity = value_capacity + 64;

template <size_t Inner>
Message<event_capacity> event_of(int64_t step, const Message<Inner>& shown) noexcept {
  Message<event_capacity> out;
  out.real(event::wall_time, wall_time());
  out.number(event::step, static_cast<uint64_t>(step));
  Message<event_capacity> values;
  values.message(summary::value, shown);
  out.message(event::summary, values);
  return out;
}

// At most `most` bytes of `text`, not ending inside a UTF-8 character.
std::string_view shortened(std::string_view text, size_t most) noexcept {
  if (text.size() <= most) return text;
  while (most > 0 && (static_cast<uint8_t>(text[most]) & 0xc0) == 0x80) --most;
  return text.substr(0, most);
}

}  // namespace

uint32_t crc32c(const void* data, size_t bytes) noexcept {
  uint32_t crc = ~0u;
  const auto* at = static_cast<const uint8_t*>(data);
  for (size_t i = 0; i < bytes; ++i) crc = crc_table[(crc ^ at[i]) & 0xff] ^ (crc >> 8);
  return ~crc;
}

EventFile::EventFile(const std::filesystem::path& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  // TensorBoard reads the files of a folder in the order of their names; a resumed run begins another.
  const auto seconds = static_cast<int64_t>(wall_time());
  int code = EEXIST;
  for (int n = 0; code == EEXIST && n < 1000; ++n) {
    path_ = folder / fmt::format("events.out.tfevents.{:010}.plimsoll.{:03}", seconds, n);
    code = file_.create(path_);
  }
  if (code)
    fail_input("[tensorboard] cannot write {}: {}; give a writable folder", path_.string(),
               error_text(code));
  Message<64> first;
  first.real(event::wall_time, wall_time());
  first.bytes(event::file_version, "brain.Event:2");
  append(first.data(), first.size());
}

void EventFile::scalar(std::string_view tag, int64_t step, double number) noexcept {
  Message<longest_tag + 64> shown;
  shown.bytes(value::tag, shortened(tag, longest_tag));
  shown.real(value::simple_value, static_cast<float>(number));
  const auto all = event_of(step, shown);
  append(all.data(), all.size());
}

void EventFile::text(std::string_view tag, int64_t step, std::string_view words) noexcept {
  Message<value_capacity> shown;
  shown.bytes(value::tag, shortened(tag, longest_tag));
  Message<32> plugin;
  plugin.bytes(metadata::plugin_name, "text");
  Message<64> kind;
  kind.message(metadata::plugin_data, plugin);
  Message<value_capacity> content;
  content.number(tensor::dtype, tensor::dt_string);
  content.bytes(tensor::string_val, shortened(words, longest_text));
  shown.message(value::tensor, content);
  shown.message(value::metadata, kind);
  const auto all = event_of(step, shown);
  append(all.data(), all.size());
}

void EventFile::append(const void* event, size_t bytes) noexcept {
  uint8_t frame[event_capacity + 16];
  const auto length = static_cast<uint64_t>(bytes);
  const uint32_t length_crc = masked_crc(&length, sizeof length), crc = masked_crc(event, bytes);
  std::memcpy(frame, &length, 8);
  std::memcpy(frame + 8, &length_crc, 4);
  std::memcpy(frame + 12, event, bytes);
  std::memcpy(frame + 12 + bytes, &crc, 4);
  // All or nothing: a reader stops at the first record that does not fit its checksum.
  const int code = file_.append(frame, bytes + 16);
  error_[0] = 0;
  if (!code) return;
  const auto text =
      fmt::format_to_n(error_, sizeof error_ - 1, "[tensorboard] a record was lost: {}", error_text(code));
  *text.out = 0;
}

}  // namespace plimsoll
