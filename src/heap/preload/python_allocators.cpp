// Stands before Python's MEM and OBJ allocators. Small blocks are counted here; larger ones are passed on to malloc by
// Python itself and counted there. The arenas small blocks are cut from are mapped by us, so that they are not counted
// as well.
#include <dlfcn.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "heap/preload/python.hpp"
#include "heap/preload/python_runtime.hpp"
#include "heap/preload/sampling.hpp"

namespace plimsoll::heap {
namespace {

// As in CPython's pymem.h.
struct Allocator {
  void* context;
  void* (*malloc)(void*, size_t);
  void* (*calloc)(void*, size_t, size_t);
  void* (*realloc)(void*, void*, size_t);
  void (*free)(void*, void*);
};
struct ArenaAllocator {
  void* context;
  void* (*alloc)(void*, size_t);
  void (*free)(void*, void*, size_t);
};
enum { domain_mem = 1, domain_obj = 2 };
constexpr size_t largest_small = 512;

PythonRuntime runtime;
Allocator before_mem, before_obj;

void* python_malloc(void* context, size_t size) {
  const Allocator& before = *static_cast<Allocator*>(context);
  if (size > largest_small || !count_bytes(size)) return before.malloc(before.context, size);
  void* address = before.malloc(before.context, size);
  note_allocation(address, size, Domain::python);
  return address;
}

void* python_calloc(void* context, size_t count, size_t size) {
  const Allocator& before = *static_cast<Allocator*>(context);
  size_t bytes;
  if (__builtin_mul_overflow(count, size, &bytes) || bytes > largest_small || !count_bytes(bytes))
    return before.calloc(before.context, count, size);
  void* address = before.calloc(before.context, count, size);
  note_allocation(address, bytes, Domain::python);
  return address;
}

void* python_realloc(void* context, void* address, size_t size) {
  const Allocator& before = *static_cast<Allocator*>(context);
  const size_t noted = address != nullptr && maybe_sampled(address) ? take_note(address) : 0;
  void* moved = before.realloc(before.context, address, size);
  if (moved == nullptr && noted != 0) note_allocation(address, noted, Domain::python);
  if (moved != nullptr && size <= largest_small && count_bytes(size))
    note_allocation(moved, size, Domain::python);
  return moved;
}

void python_free(void* context, void* address) {
  const Allocator& before = *static_cast<Allocator*>(context);
  if (maybe_sampled(address)) note_free(address);
  before.free(before.context, address);
}

void* arena_alloc(void*, size_t size) {
  void* got = reinterpret_cast<void*>(
      syscall(SYS_mmap, nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  if (got == MAP_FAILED) return nullptr;
  __atomic_fetch_add(&arena_bytes, size, __ATOMIC_RELAXED);
  return got;
}

void arena_free(void*, void* address, size_t size) {
  syscall(SYS_munmap, address, size);
  __atomic_fetch_sub(&arena_bytes, size, __ATOMIC_RELAXED);
}

template <typename Function>
Function* symbol(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_DEFAULT, name));
}

// "3.11.7 (main, ..." -> 0x030b
uint32_t parse_version(const char* text) {
  uint32_t major = 0, minor = 0;
  while (*text >= '0' && *text <= '9') major = major * 10 + uint32_t(*text++ - '0');
  if (*text++ != '.') return 0;
  while (*text >= '0' && *text <= '9') minor = minor * 10 + uint32_t(*text++ - '0');
  return major < 256 && minor < 256 ? major << 8 | minor : 0;
}

// From 3.13 on the runtime begins with a description of itself: a cookie, the version, whether threads are free.
bool free_threaded() {
  const char* description = symbol<const char>("_PyRuntime");
  if (runtime.version < 0x030d || description == nullptr || memcmp(description, "xdebugpy", 8) != 0)
    return false;
  uint64_t free;
  memcpy(&free, description + 16, sizeof free);
  return free != 0;
}

}  // namespace

const PythonRuntime& python_runtime() { return runtime; }
uint32_t python_version() { return runtime.version; }
bool python_frames_readable() { return runtime.layout != nullptr; }
uintptr_t python_loop() { return runtime.loop; }

void start_python() {
  auto* version = symbol<const char*()>("Py_GetVersion");
  auto* get = symbol<void(int, Allocator*)>("PyMem_GetAllocator");
  auto* set = symbol<void(int, Allocator*)>("PyMem_SetAllocator");
  auto* get_arena = symbol<void(ArenaAllocator*)>("PyObject_GetArenaAllocator");
  auto* set_arena = symbol<void(ArenaAllocator*)>("PyObject_SetArenaAllocator");
  if (!version || !get || !set || !get_arena || !set_arena) return;
  runtime.version = parse_version(version());
  if (runtime.version < 0x0309 || free_threaded()) return;

  runtime.this_thread = symbol<const void*()>("PyGILState_GetThisThreadState");
  runtime.code_type = symbol<const char>("PyCode_Type");
  runtime.loop = reinterpret_cast<uintptr_t>(symbol<void()>("_PyEval_EvalFrameDefault"));
  if (runtime.this_thread && runtime.code_type) runtime.layout = find_python_layout(runtime.version);

  get(domain_mem, &before_mem);
  get(domain_obj, &before_obj);
  Allocator mem = {&before_mem, python_malloc, python_calloc, python_realloc, python_free};
  Allocator obj = {&before_obj, python_malloc, python_calloc, python_realloc, python_free};
  set(domain_mem, &mem);
  set(domain_obj, &obj);
  ArenaAllocator arenas = {nullptr, arena_alloc, arena_free};
  set_arena(&arenas);
}

}  // namespace plimsoll::heap
