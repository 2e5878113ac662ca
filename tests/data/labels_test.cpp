#include "data/labels.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"
#include "tokens/small_tokenizer.hpp"

namespace plimsoll {
namespace {

using nlohmann::json;

// The small tokenizer with the special tokens of every template.
ModelText model_text(ChatTemplate chat, bool with_end = true) {
  json file = tokens::small_tokenizer();
  int next = 263;
  for (const char* token :
       {"<|im_start|>", "<|im_end|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>", "<|begin|>"})
    file["added_tokens"].push_back({{"id", next++}, {"content", token}, {"special", true}});
  return {tokens::Tokenizer::from_json(file.dump()), std::move(chat), 268,
          with_end ? std::optional(262) : std::nullopt};
}

// Learned tokens in brackets.
std::string shown(const ModelText& text, const Row& row) {
  const LabelledTokens labelled = Labeller(text, true).label(row);
  EXPECT_EQ(labelled.tokens.size(), labelled.learned.size());
  std::string out;
  bool open = false;
  for (size_t i = 0; i < labelled.tokens.size(); ++i) {
    if (labelled.learned[i] != open) out += open ? "]" : "[";
    open = labelled.learned[i];
    out += text.tokenizer.bytes(labelled.tokens[i]);
  }
  return open ? out + "]" : out;
}

const char* const chat =
    R"({"messages": [{"role": "user", "content": "the x"}, {"role": "assistant", "content": " y "}]})";

TEST(Labels, LearnWhatTheAssistantSays) {
  EXPECT_EQ(shown(model_text(ChatTemplate(ChatFormat::chatml)), parse_row(chat)),
            "<|im_start|>user\nthe x<|im_end|>\n<|im_start|>assistant\n[ y <|im_end|>]\n");
  EXPECT_EQ(shown(model_text(ChatTemplate(ChatFormat::llama3)), parse_row(chat)),
            "<|begin|><|start_header_id|>user<|end_header_id|>\n\nthe x<|eot_id|>"
            "<|start_header_id|>assistant<|end_header_id|>\n\n[y<|eot_id|>]");
  EXPECT_EQ(shown(model_text(ChatTemplate(ChatFormat::plain)), parse_row(chat)),
            "User: the x\nAssistant:[  y <|end|>]");
}

TEST(Labels, LearnTextsWholeAndCompletionsOnly) {
  const ModelText text = model_text(ChatTemplate(ChatFormat::plain));
  EXPECT_EQ(shown(text, parse_row(R"({"text": "the"})")), "[the<|end|>]");
  EXPECT_EQ(shown(text, parse_row(R"({"text": "the<|end|>"})")), "[the<|end|>]");
  EXPECT_EQ(shown(text, parse_row(R"({"prompt": "q: ", "completion": "the"})")), "q: [the<|end|>]");
  // "t" and "he" become one token, which is not in the prompt.
  EXPECT_EQ(shown(text, parse_row(R"({"prompt": "q:t", "completion": "he"})")), "q:[the<|end|>]");
  EXPECT_EQ(shown(text, parse_row(R"({"instruction": "a", "input": "b", "output": "c"})")),
            "User: a\n\nb\nAssistant:[ c<|end|>]");
  EXPECT_EQ(shown(model_text(ChatTemplate(ChatFormat::plain), false), parse_row(R"({"text": "the"})")),
            "[the]");
}

TEST(Labels, EndThePromptWhereTheAssistantAnswers) {
  const ModelText text = model_text(ChatTemplate(ChatFormat::chatml));
  EXPECT_EQ(text.tokenizer.decode(Labeller(text, true).prompt({{"user", "x"}})),
            "<|im_start|>user\nx<|im_end|>\n<|im_start|>assistant\n");
}

TEST(Labels, RefuseATemplateWithoutItsTokens) {
  const ModelText text{tokens::Tokenizer::from_json(tokens::small_tokenizer().dump()),
                       ChatTemplate(ChatFormat::chatml), std::nullopt, std::nullopt};
  EXPECT_THROW(Labeller(text, true), InputError);
  EXPECT_NO_THROW(Labeller(text, false));
}

TEST(ChatTemplate, IsRecognised) {
  const auto first = [](const ChatTemplate& chat) { return chat.render({{"user", "x"}})[0]; };
  const ChatTemplate named = ChatTemplate::recognise(
      R"({{'<|im_start|>system\n' + tools + '<|im_end|>'}}{{ '<|im_start|>system\nYou are kind.<|im_end|>\n' }})");
  EXPECT_EQ(named.format(), ChatFormat::chatml);
  EXPECT_EQ(first(named).said, "You are kind.<|im_end|>");
  EXPECT_EQ(named.render({{"system", "mine"}, {"user", "x"}}).size(), 2u);
  EXPECT_EQ(first(ChatTemplate::recognise("<|im_start|>…<|im_end|>")).said, "x<|im_end|>");
  const ChatTemplate dated = ChatTemplate::recognise(
      "<|start_header_id|>system<|end_header_id|>Cutting Knowledge Date: December 2023<|eot_id|>{{ "
      "message['content'] | trim }}");
  EXPECT_EQ(first(dated).said,
            "Cutting Knowledge Date: December 2023\nToday Date: 26 Jul 2024\n\n<|eot_id|>");
  const ChatTemplate thinking = ChatTemplate::recognise(
      "<|im_start|><|im_end|><think>last_query_index {%- if loop.last or (not loop.last and "
      "reasoning_content) %}");
  const auto thought = thinking.render(
      {{"user", "q"}, {"assistant", "<think>\na\n</think>\n\nb"}, {"user", "q"}, {"assistant", "\nc"}});
  EXPECT_EQ(thought[1].said, "b<|im_end|>");
  EXPECT_EQ(thought[3].said, "<think>\n\n</think>\n\nc<|im_end|>");
  const ChatTemplate between = ChatTemplate::recognise("<|im_start|>system\nYou are kind.<|im_end|>\n");
  EXPECT_EQ(first(between).said, "You are kind.<|im_end|>");
  EXPECT_FALSE(between.begins_text());
  const ChatTemplate begun =
      ChatTemplate::recognise("{{ bos_token }}{% if ns.system_prompt %}<|im_start|>…<|im_end|>");
  EXPECT_TRUE(begun.begins_text());
  EXPECT_EQ(begun.render({{"system", ""}, {"user", "x"}}).size(), 1u);
  EXPECT_EQ(begun.render({{"system", "s"}, {"user", "x"}}).size(), 2u);
  EXPECT_THROW(ChatTemplate::recognise("<|start_header_id|>{{ message.content }}<|eot_id|>"), InputError);
  EXPECT_THROW(ChatTemplate::recognise("[INST]"), InputError);
  EXPECT_THROW(ChatTemplate::recognise("<|im_start|><think><|im_end|>"), InputError);
}

TEST(Rows, AreRefusedByName) {
  const struct {
    const char* line;
    const char* named;
  } cases[] = {
      {"[]", "object"},
      {R"({"text": 1})", "`text`"},
      {R"({"texts": "a"})", "`text`"},
      {R"({"prompt": "a"})", "`completion`"},
      {R"({"instruction": "a"})", "`output`"},
      {R"({"instruction": "a", "input": 1, "output": "c"})", "`input`"},
      {R"({"messages": "a"})", "`messages`"},
      {R"({"messages": []})", "empty"},
      {R"({"messages": [1]})", "`role`"},
      {R"({"messages": [{"role": "tool", "content": "a"}]})", "role"},
      {R"({"messages": [{"role": "user", "content": null}]})", "`content`"},
      {R"({"messages": [{"role": "user", "content": [{"type": "video"}]}]})", "neither text nor image"},
      {R"({"messages": [{"role": "user", "content": [{"type": "image"}]}]})", "names no picture"},
      {R"({"text": "<image> <image>", "response": "a", "image": "x.png"})", "1 pictures and 2 places"},
      {R"({"text": "a", "response": "b", "image": 3})", "`image`"},
      {R"({"messages": [{"role": "assistant", "content": "", "tool_calls": [1]}]})", "tool_calls"}};
  for (const auto& c : cases) try {
      parse_row(c.line);
      ADD_FAILURE() << c.line << " was accepted";
    } catch (const InputError& error) {
      EXPECT_NE(std::string(error.what()).find(c.named), std::string::npos) << c.line << ": " << error.what();
    }
  EXPECT_EQ(parse_row(R"({"messages": [{"role": "user", "content": [{"type": "text", "text": "a"}]}]})")
                .messages[0]
                .content,
            "a");
}

}  // namespace
}  // namespace plimsoll
