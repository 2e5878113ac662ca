// Reads the frozen matrices of a published model from its files while others are computed with, and checks each one every
// time against the checksum it had when the run began.
#pragma once
#include <array>
#include <atomic>
#include <optional>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "checkpoint/checksum.hpp"
#include "graph/fetch.hpp"
#include "platform/direct_file.hpp"
#include "pretrained/weights.hpp"

namespace plimsoll {

class WeightStream final : public Fetcher {
 public:
  // Opens nothing yet. `weights` must outlive this.
  explicit WeightStream(const PretrainedWeights& weights);
  ~WeightStream() override;

  int64_t piece(std::string_view name) const;
  // Opens the files and starts the reading thread; `expected` are the checksums of all tensors by their names. Once.
  void start(const std::unordered_map<std::string, ChecksumText>& expected);

  void begin(int64_t piece, std::byte* into) override;
  void await(const std::byte* into) override;
  void drain() override;
  bool failed() const override { return failure_.load(std::memory_order_acquire) != 0; }
  // What went wrong, in one line; empty where nothing has.
  std::string failure() const;

  // Bytes a second, measured on some of the largest matrices.
  double speed() const;

 private:
  struct Request {
    int64_t piece = -1;
    std::byte* into = nullptr;
  };
  static constexpr size_t most_requests = 8;
  static constexpr int damaged = -1;  // instead of an errno code

  void serve();
  int read(const Request& request);
  void wait_for(uint32_t request);

  const PretrainedWeights& weights_;
  std::vector<std::string> names_;  // of pieces
  std::vector<const PretrainedTensor*> tensors_;
  std::vector<ChecksumText> expected_;
  std::optional<platform::DirectBuffer> buffer_;  // of all files: one thread reads them
  std::vector<platform::DirectFile> files_;
  std::array<Request, most_requests> ring_;
  std::atomic<uint32_t> begun_{0}, ended_{0};
  std::atomic<bool> stop_{false};
  std::atomic<int> failure_{0};
  std::atomic<int64_t> failed_piece_{-1};
  std::thread thread_;
};

}  // namespace plimsoll
