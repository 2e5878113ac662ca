// The words of a chat template. White space around tags goes as transformers sets Jinja up: trim_blocks and
// lstrip_blocks.
#include <charconv>

#include "jinja/tree.hpp"

namespace plimsoll::jinja {
namespace {

bool is_name_begin(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Every line ends in \n, and the last newline is left out.
std::string with_newlines(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\r' && i + 1 < text.size() && text[i + 1] == '\n') continue;
    out += text[i] == '\r' ? '\n' : text[i];
  }
  if (out.ends_with('\n')) out.pop_back();
  return out;
}

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(with_newlines(text)) {}

  std::vector<Token> read() {
    while (at_ < text_.size()) {
      const size_t tag = find_tag();
      std::string_view before = std::string_view(text_).substr(at_, tag - at_);
      if (tag == text_.npos) {
        add_text(before);
        break;
      }
      const char kind = text_[tag + 1];
      const char sign = tag + 2 < text_.size() ? text_[tag + 2] : ' ';
      add_text(before_tag(before, sign, kind != '{'));
      at_ = tag + (sign == '-' || sign == '+' ? 3 : 2);
      if (kind == '#')
        skip_comment();
      else if (kind == '{')
        read_tag(Token::Type::print_begin, Token::Type::print_end, "}}");
      else if (!read_raw())
        read_tag(Token::Type::block_begin, Token::Type::block_end, "%}");
    }
    add(Token::Type::end, "");
    return std::move(tokens_);
  }

 private:
  using Type = Token::Type;
  void add(Type type, std::string text, Value value = {}) {
    tokens_.push_back({type, std::move(text), std::move(value)});
  }
  void add_text(std::string_view text) {
    if (!text.empty()) add(Type::text, std::string(text));
  }
  bool next_is(std::string_view word) const { return std::string_view(text_).substr(at_).starts_with(word); }

  size_t find_tag() const {
    for (size_t at = at_; (at = text_.find('{', at)) != text_.npos; ++at)
      if (at + 1 < text_.size() && std::string_view("{%#").find(text_[at + 1]) != std::string_view::npos)
        return at;
    return text_.npos;
  }

  // The text before a tag, without what the tag takes away.
  std::string_view before_tag(std::string_view text, char sign, bool block) const {
    if (sign == '-') return strip(text, false, true);
    if (sign == '+' || !block) return text;
    const size_t line = text.rfind('\n') + 1;
    if ((line > 0 || line_begins_) && strip(text.substr(line), true, false).empty())
      return text.substr(0, line);
    return text;
  }

  void skip_spaces() {
    const std::string_view rest = std::string_view(text_).substr(at_);
    at_ += rest.size() - strip(rest, true, false).size();
  }

  // Goes over the end of a tag, if it is here: -%} takes all space after it, %} one newline.
  bool read_end(std::string_view end) {
    const bool minus = next_is("-"), plus = next_is("+") && end != "}}";
    if (!std::string_view(text_).substr(at_ + (minus || plus)).starts_with(end)) return false;
    const size_t begin = at_ += (minus || plus) + end.size();
    if (minus) skip_spaces();
    if (!minus && !plus && end != "}}" && next_is("\n")) ++at_;
    line_begins_ = at_ > begin && text_[at_ - 1] == '\n';
    return true;
  }

  void skip_comment() {
    const size_t end = text_.find("#}", at_);
    if (end == text_.npos) fail_input("the chat template has a comment without an end");
    at_ = end > at_ && (text_[end - 1] == '-' || text_[end - 1] == '+') ? end - 1 : end;
    read_end("#}");
  }

  // {% raw %}...{% endraw %}
  bool read_raw() {
    const size_t begin = at_;
    skip_spaces();
    if (!next_is("raw")) return at_ = begin, false;
    at_ += 3;
    skip_spaces();
    const bool minus = next_is("-%}");
    if (!minus && !next_is("%}")) return at_ = begin, false;
    at_ += minus ? 3 : 2;
    if (minus) skip_spaces();
    line_begins_ = minus && text_[at_ - 1] == '\n';
    for (size_t from = at_, end = 0; (end = text_.find("{%", from)) != text_.npos; from = end + 2) {
      const size_t content = at_;
      at_ = end + 2;
      const char sign = at_ < text_.size() ? text_[at_] : ' ';
      if (sign == '-' || sign == '+') ++at_;
      skip_spaces();
      if (next_is("endraw")) {
        at_ += 6;
        skip_spaces();
        const auto text = before_tag(std::string_view(text_).substr(content, end - content), sign, true);
        if (read_end("%}")) return add_text(text), true;
      }
      at_ = content;
    }
    fail_input("the chat template has a raw without an endraw");
  }

  void read_tag(Type begin, Type end, std::string_view closing) {
    add(begin, "");
    std::string open;
    while (true) {
      skip_spaces();
      if (at_ >= text_.size()) fail_input("the chat template ends within a tag");
      if (open.empty() && read_end(closing)) break;
      const char c = text_[at_];
      if (is_name_begin(c))
        read_name();
      else if (is_digit(c))
        read_number();
      else if (c == '"' || c == '\'')
        read_string(c);
      else
        read_symbol(open);
    }
    add(end, "");
  }

  void read_name() {
    const size_t begin = at_;
    while (at_ < text_.size() && (is_name_begin(text_[at_]) || is_digit(text_[at_]))) ++at_;
    add(Type::name, text_.substr(begin, at_ - begin));
  }

  void read_digits(std::string& out) {
    for (; at_ < text_.size() && (is_digit(text_[at_]) || text_[at_] == '_'); ++at_)
      if (text_[at_] != '_') out += text_[at_];
  }

  void read_number() {
    std::string digits;
    read_digits(digits);
    const auto digit_at = [&](size_t at) { return at < text_.size() && is_digit(text_[at]); };
    const bool after_dot =
        !tokens_.empty() && tokens_.back().type == Type::symbol && tokens_.back().text == ".";
    bool whole = true;
    if (!after_dot && next_is(".") && digit_at(at_ + 1)) {
      whole = false;
      digits += text_[at_++];
      read_digits(digits);
    }
    if (!after_dot && (next_is("e") || next_is("E"))) {
      const size_t sign = at_ + 1 < text_.size() && (text_[at_ + 1] == '-' || text_[at_ + 1] == '+');
      if (digit_at(at_ + 1 + sign)) {
        whole = false;
        digits += text_.substr(at_, 1 + sign);
        at_ += 1 + sign;
        read_digits(digits);
      }
    }
    int64_t integer = 0;
    double number = 0;
    const char* end = digits.data() + digits.size();
    const auto result =
        whole ? std::from_chars(digits.data(), end, integer) : std::from_chars(digits.data(), end, number);
    if (result.ec != std::errc() || result.ptr != end)
      fail_input("the chat template has the number {}, which is too large", digits.substr(0, 40));
    add(Type::number, digits, whole ? Value(integer) : Value(number));
  }

  void read_string(char quote) {
    std::string out;
    for (++at_; at_ < text_.size() && text_[at_] != quote;) {
      if (text_[at_] != '\\' || at_ + 1 >= text_.size())
        out += text_[at_++];
      else
        read_escape(out);
    }
    if (at_ >= text_.size()) fail_input("the chat template has a string without an end");
    ++at_;
    add(Type::string, out);
  }

  // As in Python: what is no escape stays as it is.
  void read_escape(std::string& out) {
    const char c = text_[at_ + 1];
    constexpr std::string_view names = "ntrabfv\\'\"", meant = "\n\t\r\a\b\f\v\\'\"";
    at_ += 2;
    if (const size_t at = names.find(c); at != names.npos) {
      out += meant[at];
    } else if (c == 'x' || c == 'u' || c == 'U') {
      append_code(out, c == 'x' ? 2 : c == 'u' ? 4 : 8, 16);
    } else if (c >= '0' && c <= '7') {
      --at_;
      size_t size = 1;
      while (size < 3 && at_ + size < text_.size() && text_[at_ + size] >= '0' && text_[at_ + size] <= '7')
        ++size;
      append_code(out, size, 8);
    } else if (c == 'N') {
      fail_input("the chat template has the escape \\N, which is not known");
    } else if (c != '\n') {
      (out += '\\') += c;
    }
  }

  void append_code(std::string& out, size_t size, int base) {
    uint32_t code = 0;
    const std::string digits = text_.substr(at_, size);
    const auto result = std::from_chars(digits.data(), digits.data() + digits.size(), code, base);
    if (digits.size() < size || result.ptr != digits.data() + size || code > 0x10ffff ||
        (code >= 0xd800 && code < 0xe000))
      fail_input("the chat template has an escape in a string that is not known");
    at_ += size;
    append_utf8(out, code);
  }

  void read_symbol(std::string& open) {
    for (const std::string_view two : {"==", "!=", "<=", ">=", "//", "**"})
      if (next_is(two)) {
        at_ += 2;
        return add(Type::symbol, std::string(two));
      }
    const char c = text_[at_++];
    if (std::string_view("()[]{}<>=+-*/%~|.,:").find(c) == std::string_view::npos)
      fail_input("the chat template has {} within a tag",
                 c >= ' ' && c < 127 ? fmt::format("'{}'", c) : "an unknown character");
    if (c == '(' || c == '[' || c == '{') open += c == '(' ? ')' : c == '[' ? ']' : '}';
    if (c == ')' || c == ']' || c == '}') {
      if (!open.ends_with(c)) fail_input("the chat template has a '{}' that closes nothing", c);
      open.pop_back();
    }
    add(Type::symbol, std::string(1, c));
  }

  const std::string text_;
  size_t at_ = 0;
  bool line_begins_ = true;  // whether what follows the last tag is the begin of a line
  std::vector<Token> tokens_;
};

}  // namespace

std::vector<Token> read_tokens(std::string_view text) { return Reader(text).read(); }

}  // namespace plimsoll::jinja
