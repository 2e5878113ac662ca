// Samples with labels, packed into windows: what a published model is fine-tuned on. A window is a pure function of its
// number. Opening takes about 30 bytes a row; afterwards memory does not depend on how many there are.
#pragma once
#include <array>
#include <string>
#include <vector>

#include "data/corpus.hpp"
#include "data/dataset.hpp"
#include "data/packing.hpp"

namespace plimsoll {

// To learn from, and to validate with.
constexpr size_t least_samples = 2;

struct PackedOptions {
  DatasetOptions rows = {};
  uint64_t selective_from_epoch = 0;  // selective loss begins with this epoch, counted from 0
  bool all_for_validation = false;
};

class PackedCorpus final : public Corpus {
 public:
  // InputError as Dataset; also where there are not enough samples for both parts.
  PackedCorpus(const std::string& path, Tokenizer tokenizer, const PackedOptions& options,
               const ReadingProgress& reading = {});

  std::string description() const override;
  std::string fingerprint() const override;
  const Tokenizer& tokenizer() const override { return tokenizer_; }
  // Of the windows, padding included, as though they were one text.
  std::optional<uint64_t> tokens(Split split) const override { return windows(split) * context_ + 1; }
  // The tokens of the samples in their own order, again from the first after the last.
  void window(Split split, uint64_t place, std::span<int32_t> out) const override;
  std::vector<std::string> notes() const override;
  const PackedCorpus* packed() const override { return this; }

  uint64_t windows(Split split) const { return part(split).begin.size() - 1; }
  // One row of a batch: T + 1 tokens, of which the last means nothing, and T of the others. A target of -1 does not count;
  // a position is the place of a token in its own sample. What no sample fills is a sample of one token for each row.
  struct Row {
    std::span<int32_t> tokens, targets, positions;
  };
  void fill(Split split, uint64_t window, bool selective, const Row& row) const;
  // How many targets of the window count.
  uint64_t targets(Split split, uint64_t window, bool selective) const {
    return part(split).targets[selective][window];
  }
  uint64_t targets(Split split) const { return part(split).all_targets; }
  // Whether selective loss is in force.
  bool selective(uint64_t epoch) const { return selects_ && epoch >= selective_from_epoch_; }
  const DatasetFigures& figures() const { return data_.figures(); }
  // Those of all samples; null where there are none.
  const Pictures* pictures() const {
    return data_.pictures() && data_.pictures()->size() ? data_.pictures() : nullptr;
  }
  // Fills `numbers` with those of the pictures of a window, in the order of its tokens, and returns how many they are.
  // Allocates nothing.
  size_t pictures(Split split, uint64_t window, std::span<uint32_t> numbers) const;
  // The most tiles of pictures that a window has.
  uint64_t most_tiles() const { return most_tiles_; }

 private:
  struct Part {
    Spilled<uint32_t> samples;                 // numbers in the data set, in the order of the file
    Spilled<uint32_t> packed;                  // the same, window by window
    Spilled<uint32_t> begin;                   // of the windows, and the end of the last
    std::array<Spilled<uint32_t>, 2> targets;  // of each window, without and with selective loss
    uint64_t all_targets = 0,
             nothing_left = 0;  // nothing_left: windows of which selective loss leaves out everything
  };
  const Part& part(Split split) const { return parts_[static_cast<size_t>(split)]; }
  std::array<std::vector<uint32_t>, 2> divide(bool all_for_validation) const;
  void pack_part(const std::vector<uint32_t>& samples, Part& part);

  std::string path_;
  Tokenizer tokenizer_;
  uint64_t context_;
  bool selects_;
  uint64_t selective_from_epoch_;
  Dataset data_;
  std::array<Part, 2> parts_;
  uint64_t most_tiles_ = 0;
};

}  // namespace plimsoll
