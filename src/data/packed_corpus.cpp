#include "data/packed_corpus.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/error.hpp"
#include "base/units.hpp"

namespace plimsoll {
namespace {

constexpr uint64_t samples_of_a_lot = 10;  // one of them is for validation

}  // namespace

PackedCorpus::PackedCorpus(const std::string& path, Tokenizer tokenizer, const PackedOptions& options,
                           const ReadingProgress& reading)
    : path_(path),
      tokenizer_(std::move(tokenizer)),
      context_(uint64_t(options.rows.context)),
      selects_(options.rows.selective.structure != Structure::none),
      selective_from_epoch_(options.selective_from_epoch),
      data_(path, *tokenizer_.model(), options.rows, reading) {
  divide(options.all_for_validation);
  for (Part& part : parts_) pack_part(part);
}

// Drawn like the samples with provenance are, so that a file sorted by source has all of them in both parts.
void PackedCorpus::divide(bool all_for_validation) {
  const size_t count = data_.samples(), least = all_for_validation ? 1 : 2;
  if (count < least)
    fail_input(
        "[data] {}: {} of its {} rows can be learned from; at least {} are needed (plimsoll data check says "
        "more)",
        path_, count, figures().rows, least);
  const CounterRng lot(0, Stream::shuffle);
  for (uint32_t i = 0; i < count; ++i) {
    const bool validates = lot.below(i / samples_of_a_lot, samples_of_a_lot) == i % samples_of_a_lot;
    parts_[all_for_validation || validates].samples.push_back(i);
  }
  auto& [train, validation] = parts_;
  for (auto [from, to] : {std::pair{&train, &validation}, std::pair{&validation, &train}})
    if (to->samples.empty() && !all_for_validation) {
      to->samples.push_back(from->samples.back());
      from->samples.pop_back();
    }
}

void PackedCorpus::pack_part(Part& part) const {
  std::vector<uint32_t> lengths;
  for (const uint32_t sample : part.samples) lengths.push_back(uint32_t(data_.sample(sample).size() - 1));
  part.packing = pack(lengths, uint32_t(context_));
  for (const bool selective : {false, true})
    for (size_t w = 0; w < part.packing.windows(); ++w) {
      uint32_t count = 0;
      for (uint32_t i = part.packing.begin[w]; i < part.packing.begin[w + 1]; ++i)
        for (const Dataset::Token token : data_.sample(part.samples[part.packing.samples[i]]).subspan(1))
          count += token.learned() && !(selective && token.structural());
      part.targets[selective].push_back(count);
    }
}

std::string PackedCorpus::description() const {
  return fmt::format("{} ({} samples, {} tokens, {} learned)", path_, format_count(data_.samples()),
                     format_count(figures().tokens), format_count(figures().targets));
}

std::string PackedCorpus::fingerprint() const {
  return fmt::format("{}, context {}, selective from {}", data_.fingerprint(), context_,
                     selects_ ? fmt::to_string(selective_from_epoch_) : "never");
}

uint64_t PackedCorpus::targets(Split split) const {
  const auto& all = part(split).targets[0];
  return std::accumulate(all.begin(), all.end(), uint64_t(0));
}

void PackedCorpus::window(Split split, uint64_t place, std::span<int32_t> out) const {
  const Part& from = part(split);
  size_t done = 0;
  std::fill(out.begin(), out.end(), 0);
  while (done < out.size() && !from.samples.empty())
    for (const uint32_t sample : from.samples)
      for (const Dataset::Token token : data_.sample(sample)) {
        if (place > 0)
          --place;
        else if (done < out.size())
          out[done++] = token.id();
      }
}

void PackedCorpus::fill(Split split, uint64_t window, bool selective, const Row& row) const {
  const Part& from = part(split);
  size_t at = 0;
  for (uint32_t i = from.packing.begin[window]; i < from.packing.begin[window + 1]; ++i) {
    const auto sample = data_.sample(from.samples[from.packing.samples[i]]);
    for (size_t t = 0; t + 1 < sample.size(); ++t, ++at) {
      const Dataset::Token next = sample[t + 1];
      row.tokens[at] = sample[t].id();
      row.targets[at] = next.learned() && !(selective && next.structural()) ? next.id() : -1;
      row.positions[at] = int32_t(t);
    }
  }
  std::fill(row.tokens.begin() + ptrdiff_t(at), row.tokens.end(), 0);
  std::fill(row.targets.begin() + ptrdiff_t(at), row.targets.end(), -1);
  std::fill(row.positions.begin() + ptrdiff_t(at), row.positions.end(), 0);
}

std::vector<std::string> PackedCorpus::notes() const {
  const DatasetFigures& f = figures();
  std::vector<std::string> notes;
  if (f.masked)
    notes.push_back(fmt::format("{} rows have nothing to learn and are left out", format_count(f.masked)));
  if (f.empty) notes.push_back(fmt::format("{} rows are empty and are left out", format_count(f.empty)));
  if (f.cut)
    notes.push_back(fmt::format("{} rows are longer than the context: {} of their tokens are cut off",
                                format_count(f.cut), format_count(f.cut_tokens)));
  if (f.bad)
    notes.push_back(
        fmt::format("{} malformed rows are skipped; the first is {}", format_count(f.bad), f.first_bad));
  if (selects_) {
    const auto& counts = part(Split::train).targets[1];
    const auto without = uint64_t(std::count(counts.begin(), counts.end(), 0u));
    notes.push_back(fmt::format(
        "selective loss leaves out {} of {} learned tokens ({:.1f} %){}", format_count(f.structural),
        format_count(f.targets), 100 * double(f.structural) / double(std::max<uint64_t>(1, f.targets)),
        without ? fmt::format("; {} windows have nothing left", format_count(without)) : ""));
  }
  return notes;
}

}  // namespace plimsoll
