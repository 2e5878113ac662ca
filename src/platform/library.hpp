// A shared library opened at run time, and its functions by name.
#pragma once

namespace plimsoll::platform {

class Library {
 public:
  // Whether libraries opened later find its symbols.
  enum class Symbols { own, everywhere };
  explicit Library(const char* name, Symbols symbols = Symbols::own);
  ~Library();
  Library(Library&& other) noexcept : handle_(other.handle_) { other.handle_ = nullptr; }
  Library& operator=(Library&&) = delete;

  bool opened() const { return handle_ != nullptr; }
  // Null where there is no such library or function.
  template <typename Function>
  Function* find(const char* name) const {
    return reinterpret_cast<Function*>(symbol(name));
  }
  // The library stays until the process ends: for functions that are kept.
  void keep() { handle_ = nullptr; }

 private:
  void* symbol(const char* name) const;
  void* handle_ = nullptr;
};

}  // namespace plimsoll::platform
