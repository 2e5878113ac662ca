// Writes one checkpoint, either in the calling thread or, from a staged copy, in a separate thread.
#include "checkpoint/store.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "base/error.hpp"
#include "checkpoint/checksum.hpp"
#include "checkpoint/commit.hpp"
#include "checkpoint/manifest.hpp"
#include "platform/signals.hpp"

namespace plimsoll {
namespace {

// One safetensors file as it will be written: its header, and where the bytes of each tensor are at that
// time.
struct TensorFile {
  struct Piece {
    const std::byte* live;    // the caller's tensor
    const std::byte* source;  // what is written: the tensor itself or its staged copy
    size_t bytes;
  };
  std::string header;
  std::vector<Piece> pieces;

  // Lays out the file, its tensors' copies from `staging` on, and the constant part of its manifest entry.
  TensorFile(std::span<const TensorView> tensors, std::byte*& staging, const char* name, ManifestFile& entry)
      : header(make_safetensors_header(tensors)) {
    entry.name = name;
    entry.bytes = header.size();
    entry.header_checksum = checksum_of(header);
    for (const TensorView& tensor : tensors) {
      size_t bytes = tensor_bytes(tensor.shape, tensor.dtype);
      auto* live = static_cast<const std::byte*>(tensor.data);
      pieces.push_back({live, staging ? staging : live, bytes});
      entry.tensors.push_back({tensor.name, {}});
      entry.bytes += bytes;
      if (staging) staging += bytes;
    }
  }
};

}  // namespace

class CheckpointStore::Writer {
 public:
  Writer(std::filesystem::path path, std::optional<uint64_t> resumed_step, int keep_last)
      : path_(std::move(path)),
        folder_(path_, resumed_step, keep_last),
        last_(folder_.last()),
        best_(folder_.best()) {}

  ~Writer() {
    if (!thread_.joinable()) return;
    {
      std::lock_guard lock(mutex_);
      leaving_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }

  void prepare(std::span<const TensorView> model, std::span<const TensorView> optimizer,
               size_t state_capacity, std::span<std::byte> staging, TensorSource* source) {
    source_ = source;
    if (!files_.empty()) fail("[checkpoint] prepare() is called once");
    uint64_t need = staging_bytes(model, optimizer);
    if (!staging.empty() && staging.size() < need)
      fail("[checkpoint] staging has {} bytes, {} are needed", staging.size(), need);
    std::byte* place = staging.empty() ? nullptr : staging.data();
    files_.reserve(2);
    files_.emplace_back(model, place, model_name, manifest_.files[0]);
    files_.emplace_back(optimizer, place, optimizer_name, manifest_.files[1]);
    manifest_.files[2].name = state_name;
    state_.resize(state_capacity);
    manifest_text_.resize(manifest_.capacity());
    if (staging.empty()) return;
    // Signals are the main thread's: this one is born with all of them blocked.
    const SignalsBlocked blocked;
    thread_ = std::thread([this] { serve(); });
  }

  void save(uint64_t step, std::string_view state, bool is_best) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !busy_; });
    StepName name(step);
    if (files_.empty()) return report("[checkpoint] {} was not saved: prepare() was not called", name.text());
    if (state.size() > state_.size())
      return report("[checkpoint] {} was not saved: its state has {} bytes, room is for {}", name.text(),
                    state.size(), state_.size());
    step_ = step;
    is_best_ = is_best;
    state_bytes_ = state.size();
    std::copy(state.begin(), state.end(), state_.begin());
    if (!thread_.joinable()) {
      lock.unlock();
      return write();
    }
    for (TensorFile& file : files_)
      for (TensorFile::Piece& piece : file.pieces) {
        auto* copy = const_cast<std::byte*>(piece.source);
        const int code = each_part(file, piece, piece.live, [&](const std::byte* data, size_t bytes) {
          copy = std::copy_n(data, bytes, copy);
          return 0;
        });
        if (code)
          return report("[checkpoint] {} was not saved: the moments of another rank could not be had",
                        name.text());
      }
    busy_ = true;
    changed_.notify_all();
  }

  void wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !busy_; });
  }

  std::optional<std::string> take_error() {
    std::lock_guard lock(mutex_);
    if (errors_ == 0) return {};
    std::string text(error_.data(), error_bytes_);
    if (errors_ > 1) text += fmt::format(" (the last of {} failures)", errors_);
    errors_ = 0;
    return text;
  }

  std::optional<uint64_t> last_step() {
    std::lock_guard lock(mutex_);
    return last_;
  }
  std::optional<uint64_t> best_step() {
    std::lock_guard lock(mutex_);
    return best_;
  }

 private:
  void serve() {
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [this] { return busy_ || leaving_; });
      if (!busy_) return;
      lock.unlock();
      write();
      lock.lock();
      busy_ = false;
      changed_.notify_all();
    }
  }

  // The whole way of one checkpoint. Whatever fails, the checkpoints before it are as they were.
  void write() {
    manifest_.step = step_;
    manifest_.best_step = is_best_ ? std::optional(step_) : folder_.best();
    StepName name(step_);
    Failure failure = write_files();
    if (failure)
      folder_.abandon(step_);
    else
      failure = folder_.commit(step_, manifest_.best_step);
    if (failure) {
      std::lock_guard lock(mutex_);
      return report("[checkpoint] {} was not saved in '{}': {} {}: {}; earlier checkpoints are intact",
                    name.text(), path_.c_str(), failure.doing, failure.name, error_text(failure.code));
    }
    Failure removal = folder_.retain();
    std::lock_guard lock(mutex_);
    last_ = folder_.last();
    best_ = folder_.best();
    if (removal)
      report("[checkpoint] {} is saved, but {} {} in '{}' failed: {}", name.text(), removal.doing,
             removal.name, path_.c_str(), error_text(removal.code));
  }

  Failure write_files() {
    Folder inside;
    if (Failure failure = folder_.begin(step_, inside)) return failure;
    for (size_t i = 0; i < files_.size(); ++i)
      if (int code = write_tensors(inside, files_[i], manifest_.files[i]))
        return {code, "writing", checkpoint_files[i]};
    std::string_view state(state_.data(), state_bytes_);
    manifest_.files[2].bytes = state.size();
    manifest_.files[2].checksum = checksum_of(state);
    if (int code = write_text(inside, state_name, state)) return {code, "writing", state_name};
    std::string_view manifest = manifest_.render(manifest_text_);
    if (int code = write_text(inside, manifest_name, manifest)) return {code, "writing", manifest_name};
    return {inside.sync(), "syncing", "its folder"};
  }

  int write_tensors(const Folder& inside, const TensorFile& file, ManifestFile& entry) {
    OutputFile out;
    if (int code = out.create(inside, entry.name.c_str())) return code;
    if (int code = out.write(file.header.data(), file.header.size())) return code;
    checksum_.reset();
    checksum_.update(file.header.data(), file.header.size());
    for (size_t i = 0; i < file.pieces.size(); ++i) {
      const TensorFile::Piece& piece = file.pieces[i];
      Checksum own;
      const auto write = [&](const std::byte* data, size_t bytes) {
        checksum_.update(data, bytes);
        own.update(data, bytes);
        return out.write(data, bytes);
      };
      // A staged copy is complete.
      const int code =
          thread_.joinable() ? write(piece.source, piece.bytes) : each_part(file, piece, piece.source, write);
      if (code) return code;
      entry.tensors[i].checksum = own.text();
    }
    entry.checksum = checksum_.text();
    return out.sync_and_close();
  }

  // Shows `use` the bytes of a tensor, from the source where they come from there; returns the first code that is not 0.
  template <typename Use>
  int each_part(const TensorFile& file, const TensorFile::Piece& piece, const std::byte* here, Use&& use) {
    if (!source_ || &file == &files_.front()) return use(here, piece.bytes);
    for (size_t done = 0; done < piece.bytes;) {
      const std::span<const std::byte> part = source_->next();
      if (part.empty()) return ECONNRESET;
      if (const int code = use(part.data(), part.size())) return code;
      done += part.size();
    }
    return 0;
  }

  static int write_text(const Folder& inside, const char* name, std::string_view text) {
    OutputFile out;
    if (int code = out.create(inside, name)) return code;
    if (int code = out.write(text.data(), text.size())) return code;
    return out.sync_and_close();
  }

  // With the lock held. The newest failure is the one told; older ones are counted.
  template <typename... Args>
  void report(fmt::format_string<Args...> format, Args&&... args) {
    auto written = fmt::format_to_n(error_.data(), error_.size(), format, std::forward<Args>(args)...);
    error_bytes_ = std::min(written.size, error_.size());
    ++errors_;
  }

  const std::filesystem::path path_;
  // Touched by whichever thread writes: `busy_` hands them over.
  RunFolder folder_;
  std::vector<TensorFile> files_;  // the model's, then the optimizer's
  TensorSource* source_ = nullptr;
  Manifest manifest_;
  Checksum checksum_;
  std::vector<char> state_, manifest_text_;
  size_t state_bytes_ = 0;
  uint64_t step_ = 0;
  bool is_best_ = false;

  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  bool busy_ = false, leaving_ = false;
  std::optional<uint64_t> last_, best_;
  std::array<char, 1024> error_{};
  size_t error_bytes_ = 0;
  uint64_t errors_ = 0;

  std::thread thread_;
};

CheckpointStore::CheckpointStore(std::filesystem::path run_folder, std::optional<uint64_t> resumed_step,
                                 int keep_last)
    : writer_(std::make_unique<Writer>(std::move(run_folder), resumed_step, keep_last)) {}
CheckpointStore::~CheckpointStore() = default;

uint64_t CheckpointStore::staging_bytes(std::span<const TensorView> model,
                                        std::span<const TensorView> optimizer) {
  uint64_t bytes = 0;
  for (const TensorView& tensor : model) bytes += tensor_bytes(tensor.shape, tensor.dtype);
  for (const TensorView& tensor : optimizer) bytes += tensor_bytes(tensor.shape, tensor.dtype);
  return bytes;
}

void CheckpointStore::prepare(std::span<const TensorView> model, std::span<const TensorView> optimizer,
                              size_t state_capacity, std::span<std::byte> staging, TensorSource* source) {
  writer_->prepare(model, optimizer, state_capacity, staging, source);
}
void CheckpointStore::save(uint64_t step, std::string_view state_json, bool is_best) noexcept {
  writer_->save(step, state_json, is_best);
}
void CheckpointStore::wait() noexcept { writer_->wait(); }
std::optional<std::string> CheckpointStore::take_error() { return writer_->take_error(); }
std::optional<uint64_t> CheckpointStore::last_step() const { return writer_->last_step(); }
std::optional<uint64_t> CheckpointStore::best_step() const { return writer_->best_step(); }

}  // namespace plimsoll
