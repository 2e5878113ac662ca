// A few pictures of the validation part, about which the model is asked at every evaluation what their rows ask. Everything is made when
// this is; asking allocates nothing.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "data/packed_corpus.hpp"
#include "train/generate.hpp"
#include "train/picture_feed.hpp"

namespace plimsoll {

class PictureSamples {
 public:
  // At most `count`, from windows spread over the part, of samples with one picture; those that cannot be decoded are left out. `length`: tokens of an answer,
  // at most. All must outlive this.
  PictureSamples(Runtime& runtime, const Corpus& corpus, PictureFeed& pictures, int count, int length);

  struct Sample {
    std::string name, question, answer;  // of the file; as the row has them
    std::string thumbnail;               // PNG
    std::vector<int32_t> prompt;
    uint32_t picture = 0;
  };
  size_t size() const { return samples_.size(); }
  const Sample& operator[](size_t i) const { return samples_[i]; }
  // What the model says, the likeliest token at a time, until the next call; nothing where `interrupt` wants to leave.
  std::optional<std::string_view> ask(size_t i, Interrupt interrupt);
  // The same with the picture's name and the question, for people.
  std::string_view line(size_t i, std::string_view said);

 private:
  bool add(const PackedCorpus& corpus, uint64_t window, int64_t context, const Model::Vision& vision);

  const Tokenizer& tokenizer_;
  PictureFeed& pictures_;
  std::optional<Generator> generator_;  // none: there is nothing to ask about
  int length_;
  std::vector<int32_t> ends_;  // tokens that end an answer
  std::vector<Sample> samples_;
  std::string said_, line_;
};

}  // namespace plimsoll
