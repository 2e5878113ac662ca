// A file whose parts are read and replaced in place. Nothing is waited for: after a crash of the machine it holds any mixture of
// old and new, so whoever reads must check what is found. Calls return 0 or an errno code and allocate nothing.
#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>

namespace plimsoll::platform {

class PlacedFile {
 public:
  PlacedFile() = default;
  ~PlacedFile();
  PlacedFile(const PlacedFile&) = delete;
  PlacedFile& operator=(const PlacedFile&) = delete;

  // Creates it where there is none; a link is not followed.
  [[nodiscard]] int open(const std::filesystem::path& path);
  // Exactly these bytes; ENODATA where the file ends before.
  [[nodiscard]] int read(uint64_t offset, std::span<std::byte> out) const;
  [[nodiscard]] int write(uint64_t offset, std::span<const std::byte> bytes) const;
  // Leaves it empty.
  [[nodiscard]] int clear() const;

 private:
  int descriptor_ = -1;
};

}  // namespace plimsoll::platform
