// `--tensorboard FOLDER`: an event file that TensorBoard reads. A record is a TFRecord frame around a
// protocol-buffer Event: a scalar or a text, with its step and time. Each is appended with a single write, so
// a reader never sees half of one. Nothing allocates or throws after opening.
//
//   EventFile events("runs/board");
//   events.scalar("train/loss", 100, 2.31);
#pragma once
#include <cstdint>
#include <filesystem>
#include <string_view>

#include "base/file.hpp"

namespace plimsoll {

class EventFile {
 public:
  static constexpr size_t longest_text = 16384;  // bytes of a text that are kept
  static constexpr size_t longest_tag = 128;

  // Creates a new file in `folder`, creating that too; InputError if that cannot be done.
  explicit EventFile(const std::filesystem::path& folder);
  EventFile(const EventFile&) = delete;
  EventFile& operator=(const EventFile&) = delete;

  // A value that is NaN or infinite is written as it is: TensorBoard marks it.
  void scalar(std::string_view tag, int64_t step, double value) noexcept;
  void text(std::string_view tag, int64_t step, std::string_view text) noexcept;

  const std::filesystem::path& path() const { return path_; }
  // Why the last record could not be written; empty while all is well.
  std::string_view error() const noexcept { return {error_}; }

 private:
  void append(const void* event, size_t bytes) noexcept;
  std::filesystem::path path_;
  AppendFile file_;
  char error_[256] = {};
};

// CRC-32C (Castagnoli), as TFRecord frames carry it.
uint32_t crc32c(const void* data, size_t bytes) noexcept;

}  // namespace plimsoll
