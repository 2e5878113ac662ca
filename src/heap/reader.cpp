#include "heap/reader.hpp"

#include <algorithm>
#include <cstring>
#include <memory>

#include "base/error.hpp"
#include "platform/shared_file.hpp"

namespace plimsoll::heap {
namespace {

// What the allocator really takes for a block of this size: glibc adds a header of 8 bytes and rounds to 16, at least
// 32; Python's allocator rounds to 16; mappings are whole pages.
uint64_t footprint_of(uint64_t size, Domain domain) {
  switch (domain) {
    case Domain::malloc:
      return std::max<uint64_t>(32, (size + 8 + 15) & ~uint64_t(15));
    case Domain::mapping:
      return (size + 4095) & ~uint64_t(4095);
    case Domain::python:
      return std::max<uint64_t>(16, (size + 15) & ~uint64_t(15));
  }
  return size;
}

// Far above what a machine can hold, far below what could overflow a sum of all blocks.
constexpr uint64_t most_bytes = 1ull << 46;

}  // namespace

Reader::Reader(const std::string& path) {
  auto file = std::make_shared<const platform::SharedFile>(path);
  source_ = [file](uint64_t offset, void* to, size_t bytes) { return file->read(offset, to, bytes); };
  size_ = [file] { return file->size(); };
}

bool Reader::fail(std::string why) {
  error_ = std::move(why);
  return false;
}

// Tables that only grow are read from where the last look ended.
template <typename Entry>
bool Reader::read_table(const Table& table, const char* name, uint32_t most, std::vector<Entry>& entries,
                        bool grows_only) {
  if (table.capacity > most || table.used > table.capacity || table.used == 0)
    return fail(fmt::format("the table of {} claims {} of {} entries", name, table.used, table.capacity));
  const uint64_t bytes = uint64_t(table.capacity) * sizeof(Entry);
  if (table.offset < header_bytes || table.offset > bytes_ || bytes > bytes_ - table.offset)
    return fail(fmt::format("the table of {} lies outside of the file", name));
  const size_t begin = grows_only ? std::min<size_t>(entries.size(), table.used) : 0;
  const size_t before = entries.size();
  entries.resize(table.used);
  if (begin == table.used) return true;
  const size_t wanted = (table.used - begin) * sizeof(Entry);
  if (source_(table.offset + begin * sizeof(Entry), entries.data() + begin, wanted) == wanted) return true;
  // What was read before stays, with what of it came now: names of sites that are held are still looked up there.
  entries.resize(std::min<size_t>(before, table.used));
  return fail(fmt::format("the file ends inside the table of {}", name));
}

bool Reader::refresh() {
  Header header;
  bytes_ = size_();
  if (bytes_ < header_bytes || source_(0, &header, sizeof header) != sizeof header)
    return fail("too short for a heap file");
  if (std::memcmp(header.magic, file_magic, sizeof file_magic) != 0)
    return fail("not a heap file, or just begun");
  if (header.version != file_version)
    return fail(
        fmt::format("version {} of the heap file, this program reads {}", header.version, file_version));
  header.allocator[sizeof header.allocator - 1] = 0;
  // Nodes before frames before texts would find references to entries not read yet; this order never does, since the
  // writer publishes what is referred to first and blocks last.
  if (!read_table(header.blocks, "blocks", block_capacity, blocks_, false) ||
      source_(0, &header, sizeof header) != sizeof header ||
      !read_table(header.sites, "sites", site_capacity, sites_, false) ||
      !read_table(header.nodes, "nodes", node_capacity, nodes_, true) ||
      !read_table(header.frames, "frames", frame_capacity, frames_, true) ||
      !read_table(header.modules, "modules", module_capacity, modules_, true) ||
      !read_table(header.text, "text", text_capacity, text_, true))
    return false;
  header_ = header;
  header_.allocator[sizeof header_.allocator - 1] = 0;

  std::vector<LiveSite> sums(sites_.size());
  mapping_bytes_ = 0;
  for (size_t i = 1; i < blocks_.size(); ++i) {
    const Block& block = blocks_[i];
    if (block.site == 0 || block.site >= sums.size() || block.bytes > most_bytes || block.size > most_bytes)
      continue;
    LiveSite& sum = sums[block.site];
    const double blocks = block.size ? double(block.bytes) / double(block.size) : 1;
    sum.site = block.site;
    ++sum.samples;
    sum.bytes += block.bytes;
    sum.blocks += uint64_t(blocks + 0.5);
    sum.footprint += uint64_t(blocks * double(footprint_of(block.size, block.domain)));
    if (sum.oldest == 0 || block.time < sum.oldest) sum.oldest = block.time;
    if (block.domain == Domain::mapping) mapping_bytes_ += block.bytes;
  }
  live_.clear();
  for (LiveSite& sum : sums) {
    if (sum.site == 0) continue;
    const Site& total = sites_[sum.site];
    sum.allocated_bytes = total.bytes;
    sum.allocated_blocks = total.blocks;
    sum.freed_blocks = total.freed_blocks;
    live_.push_back(sum);
  }
  error_.clear();
  return true;
}

std::vector<uint32_t> Reader::stack(uint32_t site) const {
  std::vector<uint32_t> frames;
  if (site == 0 || site >= sites_.size()) return frames;
  uint32_t node = sites_[site].node;
  while (node != 0 && node < nodes_.size()) {
    frames.push_back(nodes_[node].frame);
    // A parent is entered before its children: whatever is written there, the walk ends.
    if (nodes_[node].parent >= node || frames.size() >= 512) break;
    node = nodes_[node].parent;
  }
  return frames;
}

std::string_view Reader::text(uint32_t offset) const {
  if (offset == 0 || offset >= text_.size()) return "?";
  const size_t most = std::min<size_t>(text_.size() - offset, 4096);
  return {text_.data() + offset, strnlen(text_.data() + offset, most)};
}

FrameView Reader::frame(uint32_t number) const {
  FrameView view;
  if (number == 0 || number >= frames_.size()) return view;
  const Frame& frame = frames_[number];
  if (frame.kind == FrameKind::python) {
    view.kind = FrameKind::python;
    view.file = text(uint32_t(frame.where >> 32));
    view.function = text(uint32_t(frame.where));
    view.line = frame.place;
  } else {
    view.address = frame.where;
    view.module = frame.place < modules_.size() ? frame.place : 0;
  }
  return view;
}

ModuleView Reader::module(uint32_t number) const {
  if (number == 0 || number >= modules_.size()) return {};
  const Module& module = modules_[number];
  ModuleView view{text(module.path), {}};
  for (uint32_t i = 0; i < std::min<uint32_t>(module.id_bytes, sizeof module.id); ++i)
    view.build_id += fmt::format("{:02x}", module.id[i]);
  return view;
}

}  // namespace plimsoll::heap
