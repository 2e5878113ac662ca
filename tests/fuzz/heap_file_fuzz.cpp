// The heap file as a hostile process may leave it.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "heap/format.hpp"
#include "heap/reader.hpp"

// The first bytes replace a header that would be accepted; so the fuzzer need not find six matching tables first. An
// even first byte leaves the tables where they are right.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace plimsoll::heap;
  if (size < 8) return 0;
  std::string file(header_bytes, '\0');
  Header header{};
  std::memcpy(header.magic, file_magic, sizeof file_magic);
  header.version = file_version;
  const size_t rest = size - 8;
  file.append(reinterpret_cast<const char*>(data + 8), rest);
  Table* tables[] = {&header.text,  &header.modules, &header.frames,
                     &header.nodes, &header.sites,   &header.blocks};
  const size_t entry[] = {1, sizeof(Module), sizeof(Frame), sizeof(Node), sizeof(Site), sizeof(Block)};
  for (size_t i = 0; i < 6; ++i) {
    const uint64_t offset = rest / 8 * (i % 3);  // tables may overlap
    const auto fits = uint32_t((rest - offset) / entry[i]);
    *tables[i] = {header_bytes + offset, fits, std::min<uint32_t>(fits, data[i + 1])};
  }
  std::memcpy(file.data(), &header, sizeof header);
  if (data[0] & 1) std::memcpy(file.data() + 8, data + 8, std::min<size_t>(rest, sizeof header - 8));
  Reader reader(
      [&](uint64_t offset, void* to, size_t wanted) -> size_t {
        if (offset >= file.size()) return 0;
        const size_t got = std::min<size_t>(wanted, file.size() - offset);
        std::memcpy(to, file.data() + offset, got);
        return got;
      },
      file.size());
  for (int look = 0; look < 2; ++look) {
    if (!reader.refresh()) continue;
    size_t seen = 0;
    for (const LiveSite& site : reader.live())
      for (const uint32_t number : reader.stack(site.site)) {
        const FrameView frame = reader.frame(number);
        seen += frame.file.size() + frame.function.size() + reader.module(frame.module).path.size();
        if (seen > 1 << 20) return 0;
      }
    // The process goes on writing between two looks.
    file[size_t(data[7]) * 2 % sizeof header] ^= char(data[0]);
  }
  return 0;
}
