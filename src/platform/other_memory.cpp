#include "platform/other_memory.hpp"

#include <sys/uio.h>

namespace plimsoll::platform {

bool read_memory(int pid, uint64_t address, void* to, size_t bytes) {
  const iovec here{to, bytes}, there{reinterpret_cast<void*>(address), bytes};
  return process_vm_readv(pid, &here, 1, &there, 1, 0) == ssize_t(bytes);
}

}  // namespace plimsoll::platform
