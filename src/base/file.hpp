// Writes files durably, and reads small ones strictly. This is the only place that writes files. Writing
// allocates nothing, names everything relative to an open folder, and reports failures as errno codes: a full
// disk is a result here, not an exception.
#pragma once
#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace plimsoll {

enum class FileOperation { make_folder, create, write, sync, rename, remove };

// Called before every operation with the name it is about; returns 0 to go on, or the errno to fail with. It
// may lower
// `*bytes` of a write to make the write short. For tests: faults, traces and kills at a chosen operation.
using FileHook = int (*)(FileOperation operation, const char* name, size_t* bytes);
FileHook set_file_hook(FileHook hook);  // returns the one before; nullptr is none

// The system's words for an errno code; never allocates.
const char* error_text(int code);
// 0 where this process may write to the file or into the folder, else an errno code.
int may_write(const std::filesystem::path& path);
// Makes a folder that only the user may enter, named `start` and six characters more. Error when it cannot be made.
std::filesystem::path make_temporary_folder(const std::filesystem::path& start);

// A folder held open. Every call that returns int gives 0 or an errno code.
class Folder {
 public:
  Folder() = default;
  explicit Folder(const std::filesystem::path& path);  // InputError when it cannot be opened
  Folder(Folder&& other) noexcept : descriptor_(other.descriptor_) { other.descriptor_ = -1; }
  Folder& operator=(Folder&& other) noexcept;
  ~Folder() { close(); }

  [[nodiscard]] int open(const Folder& parent, const char* name);
  void close();
  [[nodiscard]] int make(const char* name);
  [[nodiscard]] int rename(const char* from, const char* to);
  // Swaps two entries in one step; EINVAL or ENOSYS where the file system cannot.
  [[nodiscard]] int exchange(const char* one, const char* other);
  [[nodiscard]] int remove_file(const char* name);
  [[nodiscard]] int remove_folder(const char* name);
  // Makes the names in this folder durable.
  [[nodiscard]] int sync();
  bool has(const char* name) const;
  // False when another process holds the folder; the lock ends with the process or this object.
  bool lock();

 private:
  friend class OutputFile;
  int descriptor_ = -1;
};

// A file being written from its beginning.
class OutputFile {
 public:
  OutputFile() = default;
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  ~OutputFile();

  // Always a new file: a leftover of that name is removed, a link there never followed. `name` must outlive
  // this object.
  [[nodiscard]] int create(const Folder& folder, const char* name);
  [[nodiscard]] int write(const void* data, size_t bytes);
  // The bytes are on the disk once this has returned 0.
  [[nodiscard]] int sync_and_close();
  // Leaves that to the system: they survive this process, not a power failure.
  [[nodiscard]] int close();

 private:
  int descriptor_ = -1;
  const char* name_ = "";
};

// A file that grows by whole pieces. The hook is not asked.
class AppendFile {
 public:
  AppendFile() = default;
  AppendFile(const AppendFile&) = delete;
  AppendFile& operator=(const AppendFile&) = delete;
  ~AppendFile();

  // Creates it where there is none.
  [[nodiscard]] int open(const std::filesystem::path& path);
  // EEXIST where there is something of that name, a link included.
  [[nodiscard]] int create(const std::filesystem::path& path);
  // All of it or, where the disk is full, nothing.
  [[nodiscard]] int append(const void* data, size_t bytes) noexcept;
  // The last byte, or `otherwise` of an empty file.
  char last(char otherwise) const;

 private:
  int descriptor_ = -1;
};

// A regular file being read from its beginning; InputError with the path for everything that goes wrong.
class InputFile {
 public:
  explicit InputFile(const std::filesystem::path& path);
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;
  ~InputFile();

  uint64_t size() const { return size_; }
  const std::filesystem::path& path() const { return path_; }
  // Exactly `bytes` more bytes.
  void read(void* data, size_t bytes);

 private:
  std::filesystem::path path_;
  int descriptor_ = -1;
  uint64_t size_ = 0;
};

// The whole of a file of at most `limit` bytes; InputError otherwise.
std::string read_file(const std::filesystem::path& path, uint64_t limit);

// An empty file that only its owner may read, as nothing is at `path` yet; 0 or an errno code.
[[nodiscard]] int create_private(const std::filesystem::path& path);

// InputError where `out` is the record that is read, by whatever name, or what SQLite keeps beside it.
void refuse_to_replace(const std::filesystem::path& record, const std::filesystem::path& out);

// Replaces `path` by `text`: after a crash it holds either the old text or the new. Error when it cannot be
// written.
void write_durably(const std::filesystem::path& path, std::string_view text);
// The same for a crash of this process; nothing is waited for.
void write_atomically(const std::filesystem::path& path, std::string_view text);

}  // namespace plimsoll
