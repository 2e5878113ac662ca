#include <cxxabi.h>
#include <dwarf.h>
#include <elfutils/libdwfl.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <future>
#include <map>
#include <tuple>
#include <unordered_map>

#include "heap/symbols.hpp"

namespace plimsoll::heap {
namespace {

char* debug_path = nullptr;
const Dwfl_Callbacks callbacks = {.find_elf = dwfl_build_id_find_elf,
                                  .find_debuginfo = dwfl_standard_find_debuginfo,
                                  .section_address = dwfl_offline_section_address,
                                  .debuginfo_path = &debug_path};

std::string demangled(const char* name) {
  if (name == nullptr) return {};
  int status = 0;
  char* plain = abi::__cxa_demangle(name, nullptr, nullptr, &status);
  std::string text = status == 0 && plain ? plain : name;
  std::free(plain);
  return text;
}

std::string name_of(Dwarf_Die* die) {
  Dwarf_Attribute attribute;
  for (const unsigned linkage : {DW_AT_linkage_name, DW_AT_MIPS_linkage_name})
    if (dwarf_attr_integrate(die, linkage, &attribute)) return demangled(dwarf_formstring(&attribute));
  const char* name = dwarf_diename(die);
  return name ? name : "";
}

// The functions of a file by address. dwfl_module_addrinfo walks the whole symbol table at every call, which takes
// milliseconds in a library of PyTorch's size.
class Functions {
 public:
  void read(Dwfl_Module* module) {
    const int count = dwfl_module_getsymtab(module);
    for (int i = 1; i < count; ++i) {
      GElf_Sym symbol;
      GElf_Addr address = 0;
      GElf_Word section = 0;
      const char* name = dwfl_module_getsym_info(module, i, &symbol, &address, &section, nullptr, nullptr);
      const int type = GELF_ST_TYPE(symbol.st_info);
      if (name == nullptr || *name == 0 || section == SHN_UNDEF ||
          (type != STT_FUNC && type != STT_GNU_IFUNC))
        continue;
      functions_.push_back({address, symbol.st_size, GELF_ST_BIND(symbol.st_info) == STB_GLOBAL, name});
    }
    // Of several names of one address the last counts: a global one with a size.
    std::sort(functions_.begin(), functions_.end(), [](const Function& a, const Function& b) {
      return std::tie(a.address, a.global, a.size) < std::tie(b.address, b.global, b.size);
    });
  }

  // The mangled name, or null.
  const char* at(Dwarf_Addr pc) const {
    const auto next = std::upper_bound(functions_.begin(), functions_.end(), pc,
                                       [](Dwarf_Addr a, const Function& f) { return a < f.address; });
    if (next == functions_.begin()) return nullptr;
    const Function& found = *std::prev(next);
    // Without a size it reaches to the next, as functions written in assembler do.
    return found.size == 0 || pc < found.address + found.size ? found.name : nullptr;
  }

 private:
  struct Function {
    GElf_Addr address;
    uint64_t size;
    bool global;
    const char* name;  // in the module's string table
  };
  std::vector<Function> functions_;
};

class File {
 public:
  File(const std::string& path, std::string_view build_id) {
    std::error_code error;
    if (path.empty() || path[0] != '/' || !std::filesystem::is_regular_file(path, error)) return;
    dwfl_ = dwfl_begin(&callbacks);
    if (dwfl_ == nullptr) return;
    dwfl_report_begin(dwfl_);
    module_ = dwfl_report_offline(dwfl_, path.c_str(), path.c_str(), -1);
    dwfl_report_end(dwfl_, nullptr, nullptr);
    if (module_ == nullptr) return;
    // The file may have been replaced since the process mapped it.
    const unsigned char* id = nullptr;
    GElf_Addr where = 0;
    const int bytes = dwfl_module_build_id(module_, &id, &where);
    if (!build_id.empty() && hexadecimal(id, bytes) != build_id) module_ = nullptr;
    if (module_ == nullptr) return;
    dwfl_module_getelf(module_, &bias_);
    functions_.read(module_);
  }
  ~File() {
    if (dwfl_) dwfl_end(dwfl_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  std::vector<SourceFrame> at(uint64_t address) const {
    std::vector<SourceFrame> frames;
    if (module_ == nullptr) return frames;
    const Dwarf_Addr pc = address + bias_;
    add_inlined(pc, frames);
    if (frames.empty()) {
      frames.push_back({demangled(functions_.at(pc)), "", 0});
      add_line(pc, frames.back());
    }
    return frames;
  }

 private:
  static std::string hexadecimal(const unsigned char* id, int bytes) {
    std::string text;
    for (int i = 0; i < bytes && i < 24; ++i) {
      text += "0123456789abcdef"[id[i] >> 4];
      text += "0123456789abcdef"[id[i] & 15];
    }
    return text;
  }

  void add_line(Dwarf_Addr pc, SourceFrame& frame) const {
    Dwfl_Line* line = dwfl_module_getsrc(module_, pc);
    int number = 0;
    const char* file = line ? dwfl_lineinfo(line, nullptr, &number, nullptr, nullptr, nullptr) : nullptr;
    if (file == nullptr) return;
    frame.file = file;
    frame.line = unsigned(number);
  }

  // The chain of functions inlined at `pc`: each gives the name, the one inside it the line of its call.
  void add_inlined(Dwarf_Addr pc, std::vector<SourceFrame>& frames) const {
    Dwarf_Addr bias = 0;
    Dwarf_Die* unit = dwfl_module_addrdie(module_, pc, &bias);
    if (unit == nullptr) return;
    Dwarf_Die* scopes = nullptr;
    const int count = dwarf_getscopes(unit, pc - bias, &scopes);
    Dwarf_Files* files = nullptr;
    size_t file_count = 0;
    dwarf_getsrcfiles(unit, &files, &file_count);
    SourceFrame frame;
    add_line(pc, frame);
    // dwarf_getscopes stops at the first concrete function and then lists what holds its definition; parents of the
    // innermost scope tell the calls.
    Dwarf_Die* parents = nullptr;
    const int levels = count > 0 ? dwarf_getscopes_die(&scopes[0], &parents) : 0;
    for (int i = 0; i < levels; ++i) {
      const int tag = dwarf_tag(&parents[i]);
      if (tag != DW_TAG_inlined_subroutine && tag != DW_TAG_subprogram) continue;
      frame.function = name_of(&parents[i]);
      frames.push_back(frame);
      if (tag == DW_TAG_subprogram) break;
      Dwarf_Attribute attribute;
      Dwarf_Word number = 0;
      frame = {};
      if (files && dwarf_formudata(dwarf_attr(&parents[i], DW_AT_call_file, &attribute), &number) == 0 &&
          number < file_count)
        if (const char* name = dwarf_filesrc(files, number, nullptr, nullptr)) frame.file = name;
      if (dwarf_formudata(dwarf_attr(&parents[i], DW_AT_call_line, &attribute), &number) == 0)
        frame.line = unsigned(number);
    }
    std::free(parents);
    std::free(scopes);
  }

  Dwfl* dwfl_ = nullptr;
  Dwfl_Module* module_ = nullptr;
  GElf_Addr bias_ = 0;
  Functions functions_;
};

}  // namespace

struct Symbols::State {
  struct Opened {
    File file;
    std::unordered_map<uint64_t, std::vector<SourceFrame>> known;

    const std::vector<SourceFrame>& at(uint64_t address) {
      auto [place, is_new] = known.try_emplace(address);
      if (is_new) {
        place->second = file.at(address);
        if (place->second.empty()) place->second.emplace_back();
      }
      return place->second;
    }
  };
  using Files = std::map<SymbolFile, std::unique_ptr<Opened>>;
  Files files;
  std::future<Files> opening;

  static Opened& open(const SymbolFile& wanted, Files& files) {
    auto& opened = files[wanted];
    if (!opened) opened.reset(new Opened{{wanted.path, wanted.build_id}, {}});
    return *opened;
  }
  void take_opened() {
    if (opening.valid()) files.merge(opening.get());
  }
};

Symbols::Symbols() : state_(std::make_unique<State>()) {}
Symbols::~Symbols() = default;
std::string_view Symbols::missing() { return {}; }

bool Symbols::ready(std::span<const SymbolAddress> wanted) {
  if (state_->opening.valid() &&
      state_->opening.wait_for(std::chrono::seconds(0)) != std::future_status::ready)
    return false;
  state_->take_opened();
  std::vector<SymbolAddress> unknown;
  for (const SymbolAddress& one : wanted)
    if (!state_->files.contains(one.file)) unknown.push_back(one);
  if (unknown.empty()) return true;
  state_->opening = std::async(std::launch::async, [unknown = std::move(unknown)] {
    State::Files files;
    for (const SymbolAddress& one : unknown) State::open(one.file, files).at(one.address);
    return files;
  });
  return false;
}

const std::vector<SourceFrame>& Symbols::at(const std::string& path, std::string_view build_id,
                                            uint64_t address) {
  const SymbolFile wanted{path, std::string(build_id)};
  if (!state_->files.contains(wanted)) state_->take_opened();
  return State::open(wanted, state_->files).at(address);
}

}  // namespace plimsoll::heap
