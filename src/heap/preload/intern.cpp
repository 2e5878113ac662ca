#include "heap/preload/intern.hpp"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "heap/preload/numbers.hpp"

namespace plimsoll::heap {
namespace {

// The next entry of a table, zeroed; 0 where it is full. It counts once publish() was called.
template <typename Entry>
uint32_t next_entry(Table& table, Entry* entries) {
  if (table.used >= table.capacity) return 0;
  entries[table.used] = Entry{};
  return table.used;
}
void publish(Table& table) { __atomic_store_n(&table.used, table.used + 1, __ATOMIC_RELEASE); }

uint32_t intern_text(Store& store, const char* text, size_t length) {
  uint64_t hash = length;
  for (size_t i = 0; i < length; ++i) hash = mix(hash, uint8_t(text[i]));
  Table& table = store.header->text;
  for (uint32_t probe = 0; probe < 64; ++probe) {
    uint32_t& slot = store.indices->text[(hash + probe) & (Indices::text_slots - 1)];
    if (slot != 0) {
      if (memcmp(store.text + slot, text, length + 1) == 0) return slot;
      continue;
    }
    if (table.capacity - table.used <= length) return 0;
    memcpy(store.text + table.used, text, length + 1);
    slot = table.used;
    __atomic_store_n(&table.used, uint32_t(table.used + length + 1), __ATOMIC_RELEASE);
    return slot;
  }
  return 0;
}

// The build id among the notes of a module whose ELF header is mapped at `base`.
void read_build_id(Module& module, const char* base, uint64_t bias) {
  const auto* header = reinterpret_cast<const ElfW(Ehdr)*>(base);
  if (memcmp(header->e_ident, ELFMAG, SELFMAG) != 0) return;
  const auto* segment = reinterpret_cast<const ElfW(Phdr)*>(base + header->e_phoff);
  for (int i = 0; i < header->e_phnum; ++i, ++segment) {
    if (segment->p_type != PT_NOTE) continue;
    const char* note = reinterpret_cast<const char*>(bias + segment->p_vaddr);
    const char* end = note + segment->p_memsz;
    while (note + sizeof(ElfW(Nhdr)) <= end) {
      const auto* head = reinterpret_cast<const ElfW(Nhdr)*>(note);
      const char* name = note + sizeof *head;
      const char* content = name + ((head->n_namesz + 3u) & ~3u);
      if (head->n_type == NT_GNU_BUILD_ID && head->n_namesz == 4 && memcmp(name, "GNU", 4) == 0) {
        module.id_bytes = head->n_descsz < sizeof module.id ? head->n_descsz : uint32_t(sizeof module.id);
        memcpy(module.id, content, module.id_bytes);
        return;
      }
      note = content + ((head->n_descsz + 3u) & ~3u);
    }
  }
}

uint32_t intern_module(Store& store, uintptr_t address) {
  dl_find_object found;
  if (_dl_find_object(reinterpret_cast<void*>(address), &found) != 0) return 0;
  const auto start = reinterpret_cast<uintptr_t>(found.dlfo_map_start);
  Table& table = store.header->modules;
  for (uint32_t i = table.used - 1; i > 0; --i)
    if (store.modules[i].start == start) return i;
  const uint32_t index = next_entry(table, store.modules);
  if (index == 0) return 0;
  Module& module = store.modules[index];
  module.start = start;
  module.end = reinterpret_cast<uintptr_t>(found.dlfo_map_end);
  module.bias = found.dlfo_link_map->l_addr;
  const char* path = found.dlfo_link_map->l_name;
  char program[1024];
  if (path == nullptr || path[0] == 0) {  // the program itself
    const long length = syscall(SYS_readlink, "/proc/self/exe", program, sizeof program - 1);
    program[length > 0 ? length : 0] = 0;
    path = program;
  }
  module.path = intern_text(store, path, strlen(path));
  read_build_id(module, reinterpret_cast<const char*>(start), module.bias);
  publish(table);
  return index;
}

// Finds the frame with this key, or makes it by `fill`.
template <typename Fill>
uint32_t intern_frame(Store& store, uint64_t key, Fill fill) {
  Table& table = store.header->frames;
  const uint64_t hash = mix(7, key);
  for (uint32_t probe = 0; probe < 64; ++probe) {
    uint32_t& slot = store.indices->frames[(hash + probe) & (Indices::frame_slots - 1)];
    if (slot != 0) {
      if (store.indices->frame_keys[slot] == key) return slot;
      continue;
    }
    const uint32_t index = next_entry(table, store.frames);
    if (index == 0) return 0;
    fill(store.frames[index]);
    store.indices->frame_keys[index] = key;
    publish(table);
    return slot = index;
  }
  return 0;
}

uint32_t native_frame(Store& store, uintptr_t address) {
  return intern_frame(store, address, [&](Frame& frame) {
    frame.kind = FrameKind::native;
    frame.place = intern_module(store, address);
    frame.where = address - store.modules[frame.place].bias;  // module 0 is all zero
  });
}

const Indices::Code& read_code(Store& store, const PythonFrame& frame) {
  const auto address = reinterpret_cast<uintptr_t>(frame.code);
  Indices::Code& code = store.indices->codes[mix(3, address) >> 52];
  if (code.address != address || code.check != frame.check) {
    char text[1024];
    code.file = intern_text(store, text, python_file(frame.code, text, sizeof text));
    code.function = intern_text(store, text, python_function(frame.code, text, sizeof text));
    code.address = address;
    code.check = frame.check;
  }
  return code;
}

uint32_t python_frame(Store& store, const PythonFrame& frame) {
  const Indices::Code& code = read_code(store, frame);
  const uint64_t where = uint64_t(code.file) << 32 | code.function;
  const uint64_t place =
      mix(mix(mix(5, frame.check), reinterpret_cast<uintptr_t>(frame.code)), uint64_t(frame.instruction));
  Indices::Line& line = store.indices->lines[place & (Indices::line_slots - 1)];
  if (line.frame == 0 || line.key != place) {
    const uint32_t number = python_line(frame);
    // Not an address of code: the top bit says so.
    line.frame = intern_frame(store, mix(where, number) | 1ull << 63, [&](Frame& made) {
      made = {where, number, FrameKind::python};
    });
    line.key = place;
  }
  return line.frame;
}

uint32_t child_of(Store& store, uint32_t parent, uint32_t frame) {
  Table& table = store.header->nodes;
  const uint64_t hash = mix(parent, frame);
  for (uint32_t probe = 0; probe < 128; ++probe) {
    uint32_t& slot = store.indices->nodes[(hash + probe) & (Indices::node_slots - 1)];
    if (slot != 0) {
      if (store.nodes[slot].parent == parent && store.nodes[slot].frame == frame) return slot;
      continue;
    }
    const uint32_t index = next_entry(table, store.nodes);
    if (index == 0) return 0;
    store.nodes[index].parent = parent;
    store.nodes[index].frame = frame;
    publish(table);
    return slot = index;
  }
  return 0;
}

uint32_t enter(Store& store, const NativeStack& native, const PythonStack& python) {
  uint32_t node = 0;
  for (size_t i = python.depth; i-- > 0;) {
    const uint32_t frame = python_frame(store, python.frames[i]);
    if (frame == 0 || (node = child_of(store, node, frame)) == 0) return 0;
  }
  for (size_t i = native.depth; i-- > 0;) {
    const uint32_t frame = native_frame(store, native.frames[i]);
    if (frame == 0 || (node = child_of(store, node, frame)) == 0) return 0;
  }
  if (node == 0) return 0;
  if (store.nodes[node].site == 0) {
    const uint32_t site = next_entry(store.header->sites, store.sites);
    if (site == 0) return 0;
    store.sites[site].node = node;
    store.nodes[node].site = site;
    publish(store.header->sites);
  }
  return store.nodes[node].site;
}

}  // namespace

uint32_t find_site(Store& store, const NativeStack& native, const PythonStack& python) {
  uint64_t hash = native.depth;
  for (size_t i = 0; i < native.depth; ++i) hash = mix(hash, native.frames[i]);
  for (size_t i = 0; i < python.depth; ++i)
    hash = mix(mix(hash, reinterpret_cast<uintptr_t>(python.frames[i].code) +
                             uint64_t(python.frames[i].instruction)),
               python.frames[i].check);
  Indices::Memo& memo = store.indices->memo[hash & (Indices::memo_slots - 1)];
  if (memo.site == 0 || memo.hash != hash) memo = {hash, enter(store, native, python)};
  return memo.site;
}

}  // namespace plimsoll::heap
