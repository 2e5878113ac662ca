// Makes heap files for tests, small ones, by the format's own structures.
#pragma once
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "heap/format.hpp"

namespace plimsoll::heap {

class HeapFileMaker {
 public:
  HeapFileMaker() : text_(1, '\0'), modules_(1), frames_(1), nodes_(1), sites_(1), blocks_(1) {}

  uint32_t text(std::string_view words) {
    const auto offset = uint32_t(text_.size());
    text_.append(words).push_back('\0');
    return offset;
  }
  uint32_t python(std::string_view file, std::string_view function, uint32_t line) {
    const uint64_t where = uint64_t(text(file)) << 32 | text(function);
    frames_.push_back({where, line, FrameKind::python});
    return uint32_t(frames_.size() - 1);
  }
  uint32_t native(std::string_view path, uint64_t address) {
    Module module{};
    module.path = text(path);
    modules_.push_back(module);
    frames_.push_back({address, uint32_t(modules_.size() - 1), FrameKind::native});
    return uint32_t(frames_.size() - 1);
  }
  // A stack from the outermost frame to the innermost.
  uint32_t site(const std::vector<uint32_t>& frames) {
    uint32_t parent = 0;
    for (const uint32_t frame : frames) {
      nodes_.push_back({parent, frame, 0, 0});
      parent = uint32_t(nodes_.size() - 1);
    }
    sites_.push_back({parent, 0, 0, 0, 0, 0});
    return uint32_t(sites_.size() - 1);
  }
  void block(uint64_t address, uint64_t size, uint64_t bytes, uint64_t time, uint32_t site,
             Domain domain = Domain::malloc) {
    blocks_.push_back({address, size, bytes, time, site, domain});
    if (site < sites_.size()) sites_[site].bytes += bytes;
  }
  Node& node(uint32_t number) { return nodes_[number]; }

  std::string bytes() const {
    Header header{};
    std::memcpy(header.magic, file_magic, sizeof file_magic);
    header.version = file_version;
    header.pid = 1;
    header.rate = 512 << 10;
    std::string out(header_bytes, '\0');
    add(out, header.text, text_.data(), text_.size());
    add(out, header.modules, modules_.data(), modules_.size());
    add(out, header.frames, frames_.data(), frames_.size());
    add(out, header.nodes, nodes_.data(), nodes_.size());
    add(out, header.sites, sites_.data(), sites_.size());
    add(out, header.blocks, blocks_.data(), blocks_.size());
    header.file_bytes = out.size();
    std::memcpy(out.data(), &header, sizeof header);
    return out;
  }

 private:
  template <typename Entry>
  static void add(std::string& out, Table& table, const Entry* entries, size_t count) {
    out.resize((out.size() + 7) & ~size_t(7));
    table = {out.size(), uint32_t(count), uint32_t(count)};
    out.append(reinterpret_cast<const char*>(entries), count * sizeof(Entry));
  }

  std::string text_;
  std::vector<Module> modules_;
  std::vector<Frame> frames_;
  std::vector<Node> nodes_;
  std::vector<Site> sites_;
  std::vector<Block> blocks_;
};

}  // namespace plimsoll::heap
