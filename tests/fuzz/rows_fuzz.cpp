// Arbitrary bytes as a row for fine-tuning: refused with a message of one line, or labelled, a label for each token.
#include <cstdlib>
#include <string>

#include "base/error.hpp"
#include "data/labels.hpp"
#include "data/selective.hpp"

using namespace plimsoll;

static void require(bool holds) {
  if (!holds) std::abort();
}

static const char* const tokenizer_json =
    R"({"added_tokens":[{"id":4,"content":"<|im_start|>","special":true},{"id":5,"content":"<|im_end|>","special":true}],)"
    R"("pre_tokenizer":{"type":"ByteLevel","add_prefix_space":false},"decoder":{"type":"ByteLevel"},)"
    R"("model":{"unk_token":"a","vocab":{"a":0,"{":1,"\"":2,"aa":3},"merges":["a a"]}})";

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const ModelText text{tokens::Tokenizer::from_json(tokenizer_json), ChatTemplate(ChatFormat::chatml),
                              4, 5};
  static const Labeller labeller(text, true);
  const std::string_view line(reinterpret_cast<const char*>(data), size);
  try {
    const LabelledTokens labelled = labeller.label(parse_row(line));
    require(labelled.tokens.size() == labelled.learned.size());
    std::vector<std::string_view> texts;
    for (const int32_t token : labelled.tokens) texts.push_back(text.tokenizer.bytes(token));
    require(find_structure(texts, {Structure::aggressive, {}}).size() == texts.size());
  } catch (const InputError& error) {
    require(std::string_view(error.what()).find('\n') == std::string_view::npos);
  }
  // A template is text from elsewhere too.
  try {
    ChatTemplate::recognise(line, {"<s>", "</s>"});
  } catch (const InputError&) {
  }
  return 0;
}
