#include "platform/library.hpp"

#include <dlfcn.h>

namespace plimsoll::platform {

Library::Library(const char* name, Symbols symbols)
    : handle_(dlopen(name, RTLD_NOW | (symbols == Symbols::own ? RTLD_LOCAL : RTLD_GLOBAL))) {}

Library::~Library() {
  if (handle_) dlclose(handle_);
}

void* Library::symbol(const char* name) const { return handle_ ? dlsym(handle_, name) : nullptr; }

}  // namespace plimsoll::platform
