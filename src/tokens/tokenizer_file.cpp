#include "tokens/tokenizer_file.hpp"

#include "base/error.hpp"
#include "base/json.hpp"
#include "tokens/components.hpp"

namespace plimsoll::tokens {
namespace {

using nlohmann::json;

int32_t checked_id(const json& value, std::string_view token) {
  if (!value.is_number_unsigned() || value.get<uint64_t>() >= uint64_t(most_tokens))
    fail_input("token {} has the id {}; expected an integer from 0 to {}", quote(token), quote_value(value),
               most_tokens - 1);
  return value.get<int32_t>();
}

// Builds the JSON value of the file, but takes vocabulary and merges off the parser as they come: as JSON they would
// need twenty times the memory.
class FileReader : public nlohmann::json_sax<json> {
 public:
  explicit FileReader(TokenizerFile& file) : file_(file) {}
  json take() { return std::move(root_); }

  bool null() override { return value(nullptr); }
  bool boolean(bool v) override { return value(v); }
  bool number_integer(int64_t v) override { return value(v); }
  bool number_unsigned(uint64_t v) override { return value(v); }
  bool number_float(double v, const std::string&) override { return value(v); }
  bool string(std::string& v) override { return value(std::move(v)); }
  bool binary(json::binary_t&) override { return false; }
  bool start_object(size_t) override { return open(json::object()); }
  bool start_array(size_t) override { return open(json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(std::string& name) override {
    if (open_.size() == 1) in_model_ = name == "model";
    key_ = std::move(name);
    return true;
  }
  bool parse_error(size_t, const std::string&, const nlohmann::detail::exception&) override { return false; }

 private:
  bool in_vocabulary() const { return in_model_ && open_.size() == 3 && list_ == "vocab"; }
  bool in_merges() const { return in_model_ && open_.size() >= 3 && list_ == "merges"; }

  bool value(json v) {
    if (in_vocabulary())
      add_token(v);
    else if (in_merges())
      add_merge(v);
    else
      put(std::move(v));
    return true;
  }

  json* put(json v) {
    if (open_.empty()) return &(root_ = std::move(v));
    json& parent = *open_.back();
    if (parent.is_array()) return &parent.emplace_back(std::move(v));
    return &(parent[key_] = std::move(v));
  }

  bool open(json container) {
    if (in_vocabulary()) {
      if (const json type = open_[1]->value("type", json("BPE")); type != "BPE")
        refuse_component("model", type);
      fail_input("token {} has no id", quote(key_));
    }
    if (in_merges()) {
      if (open_.size() == 3) begin_merge();
      if (open_.size() > 3 || !container.is_array()) refuse_merge();
      open_.push_back(nullptr);
      return true;
    }
    if (open_.size() == 2) list_ = key_;
    open_.push_back(put(std::move(container)));
    return true;
  }

  bool close() {
    if (in_merges() && open_.size() == 4 && parts_ != 2) refuse_merge();
    open_.pop_back();
    return true;
  }

  void add_token(const json& id) {
    file_.ids.push_back(checked_id(id, key_));
    file_.vocabulary.add(key_);
  }

  void add_merge(const json& merge) {
    if (open_.size() == 3) begin_merge();
    if (!merge.is_string()) refuse_merge();
    const std::string_view text = merge.get_ref<const std::string&>();
    if (open_.size() == 4) return add_part(text);
    const size_t space = text.find(' ');
    if (space == text.npos || text.find(' ', space + 1) != text.npos)
      fail_input("merge {} is {}; expected two tokens with one space between", merge_, quote(text));
    add_part(text.substr(0, space));
    add_part(text.substr(space + 1));
  }

  void add_part(std::string_view text) {
    if (text.empty() || ++parts_ > 2) refuse_merge();
    if (file_.merges.size() >= 4 * size_t(most_tokens))
      fail_input("there are more than {} merges", 2 * most_tokens);
    file_.merges.add(text);
  }

  void begin_merge() { ++merge_, parts_ = 0; }
  [[noreturn]] void refuse_merge() const { fail_input("merge {} is not a pair of tokens", merge_); }

  TokenizerFile& file_;
  json root_ = nullptr;
  std::vector<json*> open_;  // containers; those inside `merges` are not built
  std::string key_, list_;   // list_: the key of the container two levels deep
  bool in_model_ = false;
  size_t merge_ = 0;  // counted from 1
  int parts_ = 0;     // of this merge
};

void read_model(const json& model, TokenizerFile& file) {
  if (model.is_object())
    if (const json type = model.value("type", json("BPE")); type != "BPE") refuse_component("model", type);
  if (!model.is_object() || !model.contains("vocab") || !model.contains("merges"))
    fail_input("it has no model with `vocab` and `merges`; byte-level BPE is read");
  if (!model["vocab"].is_object() || !model["merges"].is_array())
    fail_input("`vocab` must be an object and `merges` an array");
  for (const char* key : {"dropout", "continuing_subword_prefix", "end_of_word_suffix", "byte_fallback"})
    if (const json value = model.value(key, json());
        !value.is_null() && value != "" && value != false && value != 0)
      fail_input("the model has {} {}, which is not supported", key, quote_value(value));
  file.ignore_merges = flag(model, "ignore_merges", false);
  file.fuse_unknown = flag(model, "fuse_unk", false);
  if (const json unknown = model.value("unk_token", json()); unknown.is_string())
    file.unknown = unknown.get<std::string>();
}

void read_added(const json& tokens, TokenizerFile& file) {
  if (tokens.is_null()) return;
  if (!tokens.is_array()) fail_input("`added_tokens` must be an array");
  for (const json& token : tokens) {
    if (!token.is_object() || !token.value("content", json()).is_string() || token["content"] == "")
      fail_input("an entry of `added_tokens` has no content");
    AddedToken added;
    added.content = token["content"].get<std::string>();
    added.id = checked_id(token.value("id", json()), added.content);
    added.special = flag(token, "special", false);
    added.left_strip = flag(token, "lstrip", false);
    added.right_strip = flag(token, "rstrip", false);
    added.single_word = flag(token, "single_word", false);
    added.normalized = flag(token, "normalized", !added.special);
    file.added.push_back(std::move(added));
  }
}

}  // namespace

std::string quote(std::string_view text) {
  constexpr size_t most = 60;
  std::string shown = json(text.substr(0, most)).dump(-1, ' ', true, json::error_handler_t::replace);
  if (text.size() > most) shown.insert(shown.size() - 1, "...");
  return shown;
}

TokenizerFile parse_tokenizer_file(std::string_view text) {
  TokenizerFile file;
  if (nests_deeper(text)) fail_input("it nests deeper than {} brackets", deepest_json);
  FileReader reader(file);
  const bool complete = json::sax_parse(text, &reader);
  const json parsed = reader.take();
  if (!complete || !parsed.is_object()) fail_input("it is not a JSON object; expected a tokenizer.json");
  read_model(parsed.value("model", json()), file);
  read_added(parsed.value("added_tokens", json()), file);
  read_normalizer(parsed.value("normalizer", json()), file);
  read_pre_tokenizer(parsed.value("pre_tokenizer", json()), file);
  read_post_processor(parsed.value("post_processor", json()), file);
  read_decoder(parsed.value("decoder", json()));
  return file;
}

}  // namespace plimsoll::tokens
