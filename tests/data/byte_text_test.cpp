#include "data/byte_text.hpp"

#include <gtest/gtest.h>

#include "data/labels.hpp"
#include "data/tokenizer.hpp"

namespace plimsoll {
namespace {

TEST(ByteText, ATokenAByteAndThoseOfPictures) {
  const Tokenizer tokenizer = Tokenizer::of_text(byte_model_text());
  EXPECT_EQ(tokenizer.vocabulary(), 261);
  std::string all;
  for (int byte = 1; byte < 128; ++byte) all += char(byte);
  all += "äöü 日本語";
  const std::vector<int32_t> tokens = tokenizer.encode(all);
  ASSERT_EQ(tokens.size(), all.size());
  for (size_t i = 0; i < all.size(); ++i) EXPECT_EQ(tokens[i], static_cast<unsigned char>(all[i]));
  EXPECT_EQ(tokenizer.decode(tokens), all);
  EXPECT_EQ(tokenizer.encode("<image>"), std::vector<int32_t>{byte_picture_token});
}

TEST(ByteText, OnlyTheAnswerAndItsEndAreLearned) {
  const ModelText text = byte_model_text();
  Row row;
  row.schema = Schema::messages;
  row.messages = {{"user", "What?"}, {"assistant", "red"}};
  const LabelledTokens labelled = Labeller(text, true).label(row);
  std::string learned;
  for (size_t i = 0; i < labelled.tokens.size(); ++i)
    if (labelled.learned[i]) learned += text.tokenizer.bytes(labelled.tokens[i]);
  EXPECT_EQ(learned, " red<end_of_utterance>");
}

}  // namespace
}  // namespace plimsoll
