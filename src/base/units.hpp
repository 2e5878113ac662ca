// Parses and formats sizes and durations: `512MB`, `1.5GiB`, `80%`; `2s`, `5m`, `1h`.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace plimsoll {

// A size, or a share of something whose total is known only later.
struct Size {
  uint64_t bytes = 0;
  double share = 0;  // 0..1 where the text ended in %
  bool is_share = false;
  // The size in bytes, once `total` is known.
  uint64_t of(uint64_t total) const {
    return is_share ? static_cast<uint64_t>(share * double(total)) : bytes;
  }
  bool operator==(const Size&) const = default;
};

// B, kB/KB, MB, GB, TB are powers of 1000; KiB, MiB, GiB, TiB of 1024; a bare number is bytes. InputError
// otherwise, which begins with `where` (the name of an option) if there is one.
Size parse_size(std::string_view text, std::string_view where = {});
// As parse_size reads it, exactly: 2GB, 512MiB, 1234567, 80%.
std::string format_size(const Size& size);
// `parse_size` that refuses a percentage.
uint64_t parse_bytes(std::string_view text, std::string_view where = {});
// ms, s, m, h, d; a bare number is seconds. InputError otherwise. Returns seconds.
double parse_duration(std::string_view text, std::string_view where = {});

std::string format_bytes(uint64_t bytes);     // 13.1 MB
std::string format_duration(double seconds);  // 1h 04m, 3m 20s, 4.2s
std::string format_count(uint64_t count);     // 422,560

}  // namespace plimsoll
