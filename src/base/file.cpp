#include "base/file.hpp"

#include <fcntl.h>
#include <fmt/ranges.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "base/error.hpp"
#include "base/read_into.hpp"

namespace plimsoll {
namespace {

constexpr size_t largest_write = size_t{4} << 20;

std::atomic<FileHook> file_hook{nullptr};

int ask_hook(FileOperation operation, const char* name, size_t* bytes = nullptr) {
  FileHook hook = file_hook.load(std::memory_order_acquire);
  return hook ? hook(operation, name, bytes) : 0;
}

// Runs a system call again for as long as a signal interrupts it.
template <typename Call>
auto uninterrupted(Call call) {
  auto result = call();
  while (result < 0 && errno == EINTR) result = call();
  return result;
}

template <typename Call>
int code_of(Call call) {
  return uninterrupted(call) < 0 ? errno : 0;
}

}  // namespace

FileHook set_file_hook(FileHook hook) { return file_hook.exchange(hook, std::memory_order_acq_rel); }

const char* error_text(int code) {
#ifdef __GLIBC__
  const char* text = strerrordesc_np(code);
  return text ? text : "unknown error";
#else
  return std::strerror(code);
#endif
}

int may_write(const std::filesystem::path& path) { return ::access(path.c_str(), W_OK) == 0 ? 0 : errno; }

std::filesystem::path make_temporary_folder(const std::filesystem::path& start) {
  std::string name = start.string() + "XXXXXX";
  if (!::mkdtemp(name.data())) fail("cannot create a temporary folder '{}': {}", name, error_text(errno));
  return name;
}

Folder::Folder(const std::filesystem::path& path) {
  descriptor_ = uninterrupted([&] { return ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); });
  if (descriptor_ < 0) fail_input("cannot open folder '{}': {}", path.string(), error_text(errno));
}

Folder& Folder::operator=(Folder&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

int Folder::open(const Folder& parent, const char* name) {
  close();
  descriptor_ =
      uninterrupted([&] { return ::openat(parent.descriptor_, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC); });
  return descriptor_ < 0 ? errno : 0;
}

void Folder::close() {
  if (descriptor_ >= 0) ::close(descriptor_);
  descriptor_ = -1;
}

int Folder::make(const char* name) {
  if (int code = ask_hook(FileOperation::make_folder, name)) return code;
  return code_of([&] { return ::mkdirat(descriptor_, name, 0777); });
}

int Folder::rename(const char* from, const char* to) {
  if (int code = ask_hook(FileOperation::rename, to)) return code;
  return code_of([&] { return ::renameat(descriptor_, from, descriptor_, to); });
}

int Folder::exchange(const char* one, const char* other) {
  if (int code = ask_hook(FileOperation::rename, other)) return code;
#ifdef RENAME_EXCHANGE
  return code_of([&] { return ::renameat2(descriptor_, one, descriptor_, other, RENAME_EXCHANGE); });
#else
  (void)one;
  return ENOSYS;
#endif
}

int Folder::remove_file(const char* name) {
  if (int code = ask_hook(FileOperation::remove, name)) return code;
  return code_of([&] { return ::unlinkat(descriptor_, name, 0); });
}

int Folder::remove_folder(const char* name) {
  if (int code = ask_hook(FileOperation::remove, name)) return code;
  return code_of([&] { return ::unlinkat(descriptor_, name, AT_REMOVEDIR); });
}

int Folder::sync() {
  if (int code = ask_hook(FileOperation::sync, ".")) return code;
  return code_of([&] { return ::fsync(descriptor_); });
}

bool Folder::has(const char* name) const {
  return ::faccessat(descriptor_, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

// File systems without locks are used unlocked: only EWOULDBLOCK means that another process holds the lock.
bool Folder::lock() {
  return code_of([&] { return ::flock(descriptor_, LOCK_EX | LOCK_NB); }) != EWOULDBLOCK;
}

OutputFile::~OutputFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

int OutputFile::create(const Folder& folder, const char* name) {
  if (int code = ask_hook(FileOperation::create, name)) return code;
  name_ = name;
  // A name that is there already is a leftover or a trap (a link to a file of somebody else's): it goes, and
  // what it leads to stays as it is.
  const auto create_new = [&] {
    return ::openat(folder.descriptor_, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
  };
  descriptor_ = uninterrupted(create_new);
  if (descriptor_ < 0 && errno == EEXIST && ::unlinkat(folder.descriptor_, name, 0) == 0)
    descriptor_ = uninterrupted(create_new);
  return descriptor_ < 0 ? errno : 0;
}

int OutputFile::write(const void* data, size_t bytes) {
  const char* from = static_cast<const char*>(data);
  while (bytes > 0) {
    size_t chunk = std::min(bytes, largest_write);
    if (int code = ask_hook(FileOperation::write, name_, &chunk)) return code;
    ssize_t written = uninterrupted([&] { return ::write(descriptor_, from, chunk); });
    if (written < 0) return errno;
    from += written;
    bytes -= static_cast<size_t>(written);
  }
  return 0;
}

// After a failed fsync the kernel may have dropped the bytes and forgotten the error, so it is never tried
// twice.
int OutputFile::sync_and_close() {
  int code = ask_hook(FileOperation::sync, name_);
  if (!code) code = code_of([&] { return ::fsync(descriptor_); });
  int closed = close();
  return code ? code : closed;
}

int OutputFile::close() {
  int code = ::close(descriptor_) < 0 && errno != EINTR ? errno : 0;
  descriptor_ = -1;
  return code;
}

AppendFile::~AppendFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

int AppendFile::open(const std::filesystem::path& path) {
  descriptor_ = ::open(path.c_str(), O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
  return descriptor_ < 0 ? errno : 0;
}

int AppendFile::create(const std::filesystem::path& path) {
  descriptor_ = ::open(path.c_str(), O_RDWR | O_APPEND | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644);
  return descriptor_ < 0 ? errno : 0;
}

int AppendFile::append(const void* data, size_t bytes) noexcept {
  const ssize_t written = uninterrupted([&] { return ::write(descriptor_, data, bytes); });
  if (written == static_cast<ssize_t>(bytes)) return 0;
  const int code = written < 0 ? errno : ENOSPC;
  if (written > 0) {
    const off_t size = ::lseek(descriptor_, 0, SEEK_END);
    if (size >= written && ::ftruncate(descriptor_, size - written) != 0) return errno;
  }
  return code;
}

char AppendFile::last(char otherwise) const {
  const off_t size = ::lseek(descriptor_, 0, SEEK_END);
  char byte = otherwise;
  return size > 0 && ::pread(descriptor_, &byte, 1, size - 1) == 1 ? byte : otherwise;
}

InputFile::InputFile(const std::filesystem::path& path) : path_(path) {
  // Without O_NONBLOCK, opening a pipe would wait for its writer forever.
  descriptor_ = uninterrupted([&] { return ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC); });
  if (descriptor_ < 0) fail_input("cannot read '{}': {}", path.string(), error_text(errno));
  struct stat status {};
  int code = code_of([&] { return ::fstat(descriptor_, &status); });
  if (code == 0 && S_ISREG(status.st_mode)) {
    size_ = static_cast<uint64_t>(status.st_size);
    return;
  }
  ::close(descriptor_);
  fail_input("cannot read '{}': {}", path.string(), code ? error_text(code) : "it is not a regular file");
}

InputFile::~InputFile() { ::close(descriptor_); }

void InputFile::read(void* data, size_t bytes) {
  char* to = static_cast<char*>(data);
  while (bytes > 0) {
    ssize_t got = uninterrupted([&] { return ::read(descriptor_, to, bytes); });
    if (got < 0) fail_input("cannot read '{}': {}", path_.string(), error_text(errno));
    if (got == 0) fail_input("cannot read '{}': it ends too early", path_.string());
    to += got;
    bytes -= static_cast<size_t>(got);
  }
}

int64_t read_into(const char* path, std::span<uint8_t> out) noexcept {
  const int descriptor = uninterrupted([&] { return ::open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC); });
  if (descriptor < 0) return -errno;
  struct stat status {};
  int64_t result = -code_of([&] { return ::fstat(descriptor, &status); });
  if (result == 0 && !S_ISREG(status.st_mode)) result = -EISDIR;
  if (result == 0) result = status.st_size;
  for (size_t done = 0; result > 0 && uint64_t(result) <= out.size() && done < size_t(result);) {
    const ssize_t got =
        uninterrupted([&] { return ::read(descriptor, out.data() + done, size_t(result) - done); });
    if (got <= 0)
      result = got < 0 ? -errno : -ENODATA;
    else
      done += size_t(got);
  }
  ::close(descriptor);
  return result;
}

std::string read_file(const std::filesystem::path& path, uint64_t limit) {
  InputFile file(path);
  if (file.size() > limit)
    fail_input("'{}' has {} bytes where at most {} are expected", path.string(), file.size(), limit);
  std::string text(file.size(), '\0');
  file.read(text.data(), text.size());
  return text;
}

namespace {
// Nobody can guess it, so nobody can have put something there.
std::string random_name() {
  unsigned char bytes[16];
  if (::getentropy(bytes, sizeof bytes) != 0) fail("no random bytes for the name of a temporary file");
  return fmt::format(".plimsoll-{:02x}.tmp", fmt::join(bytes, ""));
}

void replace_file(const std::filesystem::path& path, std::string_view text, bool durable) {
  const std::string name = path.filename().string(), temporary = random_name();
  Folder folder(path.has_parent_path() ? path.parent_path() : ".");
  OutputFile file;
  int code = file.create(folder, temporary.c_str());
  if (!code) code = file.write(text.data(), text.size());
  if (!code) code = durable ? file.sync_and_close() : file.close();
  if (!code) code = folder.rename(temporary.c_str(), name.c_str());
  if (!code && durable) code = folder.sync();
  if (!code) return;
  (void)folder.remove_file(temporary.c_str());
  fail("cannot write '{}': {}", path.string(), error_text(code));
}
}  // namespace

int create_private(const std::filesystem::path& path) {
  const int file = uninterrupted(
      [&] { return ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600); });
  if (file < 0) return errno;
  ::close(file);
  return 0;
}

void refuse_to_replace(const std::filesystem::path& record, const std::filesystem::path& out) {
  std::error_code error;  // what is not there is not the same
  for (const char* beside : {"", "-wal", "-shm"})
    if (std::filesystem::equivalent(record.string() + beside, out, error))
      fail_input("{}: would replace the record that is read; give another file to write to", out.string());
}

void write_durably(const std::filesystem::path& path, std::string_view text) {
  replace_file(path, text, true);
}
void write_atomically(const std::filesystem::path& path, std::string_view text) {
  replace_file(path, text, false);
}

}  // namespace plimsoll
