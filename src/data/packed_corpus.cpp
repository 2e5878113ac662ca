#include "data/packed_corpus.hpp"

#include <fmt/format.h>

#include <algorithm>

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
  const auto divided = divide(options.all_for_validation);
  for (size_t i = 0; i < parts_.size(); ++i) pack_part(divided[i], parts_[i]);
}

// Drawn like the samples with provenance are, so that a file sorted by source has all of them in both parts.
std::array<std::vector<uint32_t>, 2> PackedCorpus::divide(bool all_for_validation) const {
  const size_t count = data_.samples(), least = all_for_validation ? 1 : least_samples;
  if (count < least)
    fail_input(
        "[data] {}: {} of its {} rows can be learned from; at least {} are needed (plimsoll data check says "
        "more)",
        path_, count, figures().rows, least);
  std::array<std::vector<uint32_t>, 2> parts;
  const CounterRng lot(0, Stream::shuffle);
  for (uint32_t i = 0; i < count; ++i) {
    const bool validates = lot.below(i / samples_of_a_lot, samples_of_a_lot) == i % samples_of_a_lot;
    parts[all_for_validation || validates].push_back(i);
  }
  auto& [train, validation] = parts;
  for (auto [from, to] : {std::pair{&train, &validation}, std::pair{&validation, &train}})
    if (to->empty() && !all_for_validation) {
      to->push_back(from->back());
      from->pop_back();
    }
  return parts;
}

void PackedCorpus::pack_part(const std::vector<uint32_t>& samples, Part& part) {
  std::vector<uint32_t> lengths(samples.size());
  for (size_t i = 0; i < samples.size(); ++i) lengths[i] = uint32_t(data_.length(samples[i]) - 1);
  const Packing packing = pack(lengths, uint32_t(context_));
  std::vector<int32_t> words(context_ + 1);
  part.begin.push_back(0);
  for (size_t w = 0; w < packing.windows(); ++w) {
    uint32_t counts[2] = {};
    uint64_t tiles = 0;
    for (uint32_t i = packing.begin[w]; i < packing.begin[w + 1]; ++i) {
      const uint32_t sample = samples[packing.samples[i]];
      part.packed.push_back(sample);
      tiles += data_.tiles(sample);
      for (const int32_t word : std::span(words).first(data_.read(sample, 0, words)).subspan(1)) {
        const Dataset::Token token{word};
        counts[0] += token.learned();
        counts[1] += token.learned() && !token.structural();
      }
    }
    most_tiles_ = std::max(most_tiles_, tiles);
    part.begin.push_back(packing.begin[w + 1]);
    for (const bool selective : {false, true}) part.targets[selective].push_back(counts[selective]);
    part.all_targets += counts[0];
    part.nothing_left += counts[1] == 0;
  }
  part.samples.append(samples);
  for (auto* each : {&part.samples, &part.packed, &part.begin, &part.targets[0], &part.targets[1]})
    each->finish();
}

std::string PackedCorpus::description() const {
  return fmt::format("{} ({} samples, {} tokens, {} learned)", path_, format_count(data_.samples()),
                     format_count(figures().tokens), format_count(figures().targets));
}

std::string PackedCorpus::fingerprint() const {
  return fmt::format("{}, context {}, selective from {}", data_.fingerprint(), context_,
                     selects_ ? fmt::to_string(selective_from_epoch_) : "never");
}

void PackedCorpus::window(Split split, uint64_t place, std::span<int32_t> out) const {
  const Part& from = part(split);
  const uint64_t samples = from.samples.size();
  std::fill(out.begin(), out.end(), 0);
  for (uint64_t i = 0; !out.empty() && samples > 0; i = (i + 1) % samples) {
    const uint64_t length = data_.length(from.samples[i]);
    if (place >= length) {
      place -= length;
      continue;
    }
    const size_t count = data_.read(from.samples[i], size_t(place), out);
    for (int32_t& word : out.first(count)) word = Dataset::Token{word}.id();
    out = out.subspan(count);
    place = 0;
  }
}

void PackedCorpus::fill(Split split, uint64_t window, bool selective, const Row& row) const {
  const Part& from = part(split);
  uint32_t ends[2];
  from.begin.read(window, ends);
  size_t at = 0;
  for (uint32_t i = ends[0]; i < ends[1]; ++i) {
    const size_t length = data_.read(from.packed[i], 0, row.tokens.subspan(at));
    for (size_t t = 0; t + 1 < length; ++t, ++at) {
      const Dataset::Token token{row.tokens[at]}, next{row.tokens[at + 1]};
      row.tokens[at] = token.id();
      row.targets[at] = next.learned() && !(selective && next.structural()) ? next.id() : -1;
      row.positions[at] = int32_t(t);
    }
  }
  std::fill(row.tokens.begin() + ptrdiff_t(at), row.tokens.end(), 0);
  std::fill(row.targets.begin() + ptrdiff_t(at), row.targets.end(), -1);
  std::fill(row.positions.begin() + ptrdiff_t(at), row.positions.end(), 0);
}

size_t PackedCorpus::pictures(Split split, uint64_t window, std::span<uint32_t> numbers) const {
  const Part& from = part(split);
  uint32_t ends[2];
  from.begin.read(window, ends);
  size_t count = 0;
  for (uint32_t i = ends[0]; i < ends[1]; ++i)
    count += data_.pictures(from.packed[i], numbers.subspan(std::min(count, numbers.size())));
  return count;
}

std::vector<std::string> PackedCorpus::notes() const {
  const DatasetFigures& f = figures();
  std::vector<std::string> notes;
  if (f.masked)
    notes.push_back(
        fmt::format("rows left out because nothing in them is learned: {}", format_count(f.masked)));
  if (f.shortened)
    notes.push_back(fmt::format("rows of which the chat template leaves out a part of an answer: {}",
                                format_count(f.shortened)));
  if (f.endless)
    notes.push_back(
        "the model names no token that ends a text (eos_token): it does not learn where one ends");
  if (f.empty)
    notes.push_back(fmt::format("rows left out because they are empty: {}", format_count(f.empty)));
  if (f.cut)
    notes.push_back(fmt::format("rows longer than the context: {}; tokens cut off: {}", format_count(f.cut),
                                format_count(f.cut_tokens)));
  if (f.bad)
    notes.push_back(
        fmt::format("malformed rows skipped: {}; the first is {}", format_count(f.bad), f.first_bad));
  if (selects_) {
    const uint64_t without = part(Split::train).nothing_left;
    notes.push_back(fmt::format(
        "selective loss leaves out {} of {} learned tokens ({:.1f} %){}", format_count(f.structural),
        format_count(f.targets), 100 * double(f.structural) / double(std::max<uint64_t>(1, f.targets)),
        without ? fmt::format("; {} windows have nothing left", format_count(without)) : ""));
  }
  return notes;
}

}  // namespace plimsoll
