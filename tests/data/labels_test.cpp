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

// ChatML, and how it writes what is said.
std::string chatml_loop(const std::string& content = "message['content']") {
  return "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\n' + " + content +
         " + '<|im_end|>' + '\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' "
         "}}{% endif %}";
}
const SpecialTexts special{"<s>", "</s>"};
// The zephyr format, of TinyLlama.
const std::string zephyr =
    "{% for message in messages %}{{ '<|' + message['role'] + '|>\n' + message['content'] + eos_token + "
    "'\n' }}{% endfor "
    "%}{% if add_generation_prompt %}{{ '<|assistant|>\n' }}{% endif %}";

TEST(ChatTemplate, IsRecognisedByWhatItWrites) {
  const auto first = [](const ChatTemplate& chat) { return chat.render({{"user", " x"}})[0]; };
  EXPECT_EQ(ChatTemplate::recognise(chatml_loop(), special).format(), ChatFormat::chatml);
  EXPECT_FALSE(ChatTemplate::recognise(chatml_loop(), special).begins_text());
  EXPECT_EQ(first(ChatTemplate::recognise(chatml_loop(), special)).said, " x<|im_end|>");
  EXPECT_EQ(first(ChatTemplate::recognise(chatml_loop("message['content'] | trim"), special)).said,
            "x<|im_end|>");
  EXPECT_TRUE(ChatTemplate::recognise("{{ bos_token }}" + chatml_loop(), special).begins_text());

  const std::string names =
      "{% set kind = 'You are \"kind\".' %}{% if messages[0]['role'] != 'system' %}{{ '<|im_start|>system\n' "
      "+ kind + "
      "'<|im_end|>\n' }}{% endif %}";
  const ChatTemplate named = ChatTemplate::recognise(names + chatml_loop(), special);
  EXPECT_EQ(first(named).said, "You are \"kind\".<|im_end|>");
  EXPECT_EQ(named.render({{"system", "mine"}, {"user", "x"}}).size(), 2u);
  // What stands in a comment or a branch that is never taken is not written.
  for (const char* unused : {"{# <|im_start|>system\nfoo<|im_end|> #}",
                             "{% if false %}<|im_start|>system\nfoo<|im_end|>{% endif %}"})
    EXPECT_EQ(first(ChatTemplate::recognise(unused + chatml_loop(), special)).said, " x<|im_end|>");
  const std::string silent =
      "{% set rest = messages[1:] if messages[0]['role'] == 'system' and not messages[0]['content'] else "
      "messages %}";
  const ChatTemplate omits =
      ChatTemplate::recognise(silent + std::string(chatml_loop()).replace(18, 8, "rest"), special);
  EXPECT_EQ(omits.format(), ChatFormat::chatml);
  EXPECT_EQ(omits.render({{"system", ""}, {"user", "x"}}).size(), 1u);
  EXPECT_EQ(omits.render({{"system", "s"}, {"user", "x"}}).size(), 2u);
}

TEST(ChatTemplate, ThatRefusesAConversationRefusesTheRow) {
  const ChatTemplate chat = ChatTemplate::recognise(
      "{% if messages[0]['role'] != 'user' %}{{ raise_exception('users first') }}{% endif %}" + chatml_loop(),
      special);
  EXPECT_EQ(chat.format(), ChatFormat::chatml);
  EXPECT_NO_THROW(chat.render({{"user", "a"}, {"assistant", "b"}}));
  EXPECT_THROW(chat.render({{"system", "a"}, {"user", "b"}}), InputError);
}

TEST(ChatTemplate, OfAnyOtherKindIsWrittenByItself) {
  const ChatTemplate chat = ChatTemplate::recognise(zephyr, special);
  EXPECT_EQ(chat.format(), ChatFormat::own);
  EXPECT_EQ(chat.answer_end(), "</s>");
  const WrittenChat written =
      chat.write({{"user", "a"}, {"assistant", "b"}, {"user", "c"}, {"assistant", "d"}});
  EXPECT_EQ(written.text, "<|user|>\na</s>\n<|assistant|>\nb</s>\n<|user|>\nc</s>\n<|assistant|>\nd</s>\n");
  std::string said;
  for (const auto& [begin, end] : written.said) said += "[" + written.text.substr(begin, end - begin) + "]";
  EXPECT_EQ(said, "[b</s>][d</s>]");
  EXPECT_EQ(chat.write_prompt({{"user", "a"}}), "<|user|>\na</s>\n<|assistant|>\n");
  // Answers that are changed, left out, or written otherwise once others follow cannot be learned.
  for (const char* content :
       {"message['content'] | upper", "message['content'][:5]", "('' if loop.last else message['content'])"})
    EXPECT_THROW(ChatTemplate::recognise(chatml_loop(content), special), InputError) << content;
  EXPECT_THROW(ChatTemplate::recognise("[INST]", special), InputError);
  EXPECT_THROW(ChatTemplate::recognise("{% for", special), InputError);
  EXPECT_THROW(ChatTemplate::recognise(chatml_loop("message['content'] | unheard_of"), special), InputError);
}

TEST(Labels, LearnTheAnswersOfATemplateOfItsOwn) {
  const ModelText text = model_text(ChatTemplate::recognise(zephyr, {"<|begin|>", "<|end|>"}));
  EXPECT_EQ(shown(text, parse_row(chat)), "<|user|>\nthe x<|end|>\n<|assistant|>\n[ y <|end|>]\n");
  // Blanks after the token that ends an answer are not learned, and neither are those of an empty one.
  EXPECT_EQ(
      shown(text,
            parse_row(R"({"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": ""},
                                     {"role": "user", "content": "b"}, {"role": "assistant", "content": "the"}]})")),
      "<|user|>\na<|end|>\n<|assistant|>\n[<|end|>]\n<|user|>\nb<|end|>\n<|assistant|>\n[the<|end|>]\n");
  EXPECT_EQ(shown(text, parse_row(R"({"messages": [{"role": "assistant", "content": "the"}]})")),
            "<|assistant|>\n[the<|end|>]\n");
  EXPECT_EQ(text.tokenizer.decode(Labeller(text, true).prompt({{"user", "x"}})),
            "<|user|>\nx<|end|>\n<|assistant|>\n");
  EXPECT_TRUE(text.ends_answer(262));
  EXPECT_FALSE(text.ends_answer(263));
}

// DeepSeek's distilled models leave out thoughts, and end the conversation alone or every message.
TEST(Labels, FollowATemplateThatRewritesAnswers) {
  const std::string thoughtless =
      "{% for m in messages %}{{ '<|' + m.role + '|>' + m.content.split('</think>')[-1] + '<|end|>\n' }}"
      "{% endfor %}{% if add_generation_prompt %}{{ '<|assistant|><think>\n' }}{% else %}{{ '<|begin|>' }}{% "
      "endif %}";
  const ModelText text = model_text(ChatTemplate::recognise(thoughtless, {"<|begin|>", "<|end|>"}));
  EXPECT_EQ(text.chat.answer_end(), "<|end|>");
  const auto labelled = [&](const char* row) { return Labeller(text, true).label(parse_row(row)); };
  const char* const thought = R"({"messages": [{"role": "user", "content": "a"},
      {"role": "assistant", "content": "<think>x</think>b"}, {"role": "user", "content": "b"}, {"role": "assistant", "content": ""}]})";
  EXPECT_EQ(shown(text, parse_row(thought)),
            "<|user|>a<|end|>\n<|assistant|>[b<|end|>]\n<|user|>b<|end|>\n<|assistant|>[<|end|>]\n<|begin|>");
  EXPECT_TRUE(labelled(thought).shortened);
  EXPECT_FALSE(labelled(chat).shortened);
  // What is changed is refused, and so is what is written twice.
  for (const char* const content : {"message.content | upper", "message.content + ' ' + message.content"})
    EXPECT_THROW(ChatTemplate::recognise(chatml_loop(std::string(content)), special), InputError) << content;
}

// As transformers calls it: without tools and documents these are None, not undefined.
TEST(ChatTemplate, KnowsWhatTransformersGivesIt) {
  const std::string asks =
      "{% if tools is not none or documents is not none %}[TOOLS]{% endif %}{{ pad_token }}" + chatml_loop();
  const ChatTemplate chat = ChatTemplate::recognise(asks, {"", "", {{"pad_token", ""}}});
  EXPECT_EQ(chat.format(), ChatFormat::chatml);
  EXPECT_EQ(ChatTemplate::recognise(asks, {"", "", {{"pad_token", "<pad>"}}}).write({{"user", "x"}}).text,
            "<pad><|im_start|>user\nx<|im_end|>\n");
}

TEST(Labels, BeginACompletionWithWhatStandsBeforeATextAlone) {
  json file = tokens::small_tokenizer();
  file["added_tokens"].push_back({{"id", 263}, {"content", "<s>"}, {"special", true}});
  const json start = {{"SpecialToken", {{"id", "<s>"}, {"type_id", 0}}}},
             end = {{"SpecialToken", {{"id", "<|end|>"}, {"type_id", 0}}}},
             text = {{"Sequence", {{"id", "A"}, {"type_id", 0}}}};
  file["post_processor"] = {{"type", "TemplateProcessing"},
                            {"single", {start, text, end}},
                            {"pair", json::array()},
                            {"special_tokens",
                             {{"<s>", {{"id", "<s>"}, {"ids", {263}}, {"tokens", {"<s>"}}}},
                              {"<|end|>", {{"id", "<|end|>"}, {"ids", {262}}, {"tokens", {"<|end|>"}}}}}}};
  const ModelText model{tokens::Tokenizer::from_json(file.dump()), ChatTemplate(), 263, 262};
  EXPECT_EQ(shown(model, parse_row(R"({"prompt": "a", "completion": "b"})")), "<s>a[b<|end|>]");
  EXPECT_EQ(shown(model, parse_row(R"({"text": "a"})")), "[<s>a<|end|>]");
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
      {R"({"messages": [{"role": "assistant", "content": "", "tool_calls": [1]}]})", "tool_calls"},
      {R"({"messages": [{"role": "assistant", "content": "4", "reasoning_content": "2 and 2"}]})",
       "reasoning_content"}};
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
