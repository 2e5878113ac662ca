#include "platform/exported_symbols.hpp"

#include <elf.h>

#include <cstring>
#include <fstream>
#include <vector>

namespace plimsoll::platform {
namespace {

template <typename T>
bool read_from(std::ifstream& file, uint64_t offset, T* out, size_t count = 1) {
  file.clear();
  file.seekg(std::streamoff(offset));
  return bool(file.read(reinterpret_cast<char*>(out), std::streamsize(count * sizeof(T))));
}

}  // namespace

bool find_exported(const std::string& path, std::map<std::string, uint64_t>& wanted, uint64_t& first) {
  std::ifstream file(path, std::ios::binary);
  Elf64_Ehdr head;
  if (!read_from(file, 0, &head) || std::memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 ||
      head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_phentsize != sizeof(Elf64_Phdr) ||
      head.e_shentsize != sizeof(Elf64_Shdr))
    return false;
  first = UINT64_MAX;
  for (unsigned i = 0; i < head.e_phnum; ++i) {
    Elf64_Phdr segment;
    if (!read_from(file, head.e_phoff + i * sizeof segment, &segment)) return false;
    if (segment.p_type == PT_LOAD && segment.p_offset == 0) first = segment.p_vaddr;
  }
  for (unsigned i = 0; i < head.e_shnum; ++i) {
    Elf64_Shdr symbols, strings;
    if (!read_from(file, head.e_shoff + i * sizeof symbols, &symbols)) return false;
    if (symbols.sh_type != SHT_DYNSYM || symbols.sh_link >= head.e_shnum || symbols.sh_size > (64 << 20))
      continue;
    if (!read_from(file, head.e_shoff + symbols.sh_link * sizeof strings, &strings) ||
        strings.sh_size > (64 << 20))
      return false;
    std::vector<Elf64_Sym> table(symbols.sh_size / sizeof(Elf64_Sym));
    std::string names(strings.sh_size, '\0');
    if (!read_from(file, symbols.sh_offset, table.data(), table.size()) ||
        !read_from(file, strings.sh_offset, names.data(), names.size()))
      return false;
    for (const Elf64_Sym& symbol : table) {
      if (symbol.st_name >= names.size() || symbol.st_value == 0) continue;
      if (const auto found = wanted.find(names.c_str() + symbol.st_name); found != wanted.end())
        found->second = symbol.st_value;
    }
  }
  if (first == UINT64_MAX) return false;
  for (const auto& [name, address] : wanted)
    if (address == 0) return false;
  return true;
}

}  // namespace plimsoll::platform
