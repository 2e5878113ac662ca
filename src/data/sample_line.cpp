#include "data/sample_line.hpp"

#include <charconv>

#include "base/utf8.hpp"

namespace plimsoll {
namespace {

constexpr int deepest = 64;
constexpr double most_entropy = 1e6;  // beyond it weights would be rounding errors
enum Key { text_key, authority_key, entropy_key, other_key };
constexpr std::string_view key_names[] = {"text", "auth_weight", "prov_entropy"};

bool is_digit(char c) { return c >= '0' && c <= '9'; }

class LineParser {
 public:
  explicit LineParser(std::string_view line) : line_(line) {}

  SampleLine run() noexcept {
    if (!object() && !sample_.problem) fail("is not a JSON object");
    return sample_;
  }

 private:
  bool fail(const char* problem) noexcept {
    if (!sample_.problem) sample_.problem = problem, sample_.problem_at = at_;
    return false;
  }
  char peek() const noexcept { return at_ < line_.size() ? line_[at_] : '\0'; }
  void white_space() noexcept {
    while (at_ < line_.size() && (peek() == ' ' || peek() == '\t' || peek() == '\r' || peek() == '\n')) ++at_;
  }
  bool take(char wanted) noexcept {
    white_space();
    if (at_ >= line_.size() || line_[at_] != wanted) return false;
    ++at_;
    white_space();
    return true;
  }

  bool object() noexcept {
    if (!take('{')) return fail("is not a JSON object");
    if (!take('}')) {
      do {
        std::string_view name;
        if (!string(name)) return fail("has no key where one is expected");
        const Key key = key_of(name);
        if (key != other_key && seen_[key]) return fail(twice_[key]);
        if (key != other_key) seen_[key] = true;
        if (!take(':')) return fail("has no ':' after a key");
        if (!member(key)) return false;
      } while (take(','));
      if (!take('}')) return fail("has an unterminated object");
    }
    if (at_ != line_.size()) return fail("has text after its object");
    at_ = 0;
    if (!seen_[text_key]) return fail("has no `text`");
    if (sample_.text.empty()) return fail("has an empty `text`");
    switch (out_of_range(sample_.provenance)) {
      case DistrustArgument::authority_weight:
        return fail("has an `auth_weight` out of range; expected 0 to 0.99");
      case DistrustArgument::provenance_entropy:
        return fail("has a `prov_entropy` out of range; expected 0 or more");
      default:
        break;
    }
    if (sample_.provenance.provenance_entropy > most_entropy)
      return fail("has a `prov_entropy` beyond a million; no entropy is that large");
    return true;
  }

  static Key key_of(std::string_view raw) noexcept {
    for (int key = text_key; key < other_key; ++key) {
      JsonText characters(raw);
      size_t equal = 0;
      char32_t c = 0;
      while (equal < key_names[key].size() && characters.next(c) &&
             c == static_cast<unsigned char>(key_names[key][equal]))
        ++equal;
      if (equal == key_names[key].size() && characters.rest().empty()) return static_cast<Key>(key);
    }
    return other_key;
  }

  bool member(Key key) noexcept {
    if (key == text_key) return string(sample_.text) || fail("has a `text` that is not a string");
    if (key == other_key) return value(1);
    if (peek() == 'n') return word("null");
    const bool authority = key == authority_key;
    double& number = authority ? sample_.provenance.authority_weight : sample_.provenance.provenance_entropy;
    (authority ? sample_.has_authority : sample_.has_entropy) = true;
    const size_t from = at_;
    if (!skip_number())
      return fail(authority ? "has an `auth_weight` that is not a number"
                            : "has a `prov_entropy` that is not a number");
    const auto read = std::from_chars(line_.data() + from, line_.data() + at_, number);
    return read.ec == std::errc() || fail("has a number that is too large or too small");
  }

  // Goes past the string at this place; false, with a problem or without, where there is none.
  bool string(std::string_view& raw) noexcept {
    if (peek() != '"') return false;
    const size_t from = ++at_;
    JsonText characters(line_.substr(from));
    for (char32_t c = 0;;) {
      const std::string_view before = characters.rest();
      if (!before.empty() && before.front() == '"') {
        at_ = line_.size() - before.size() + 1;
        raw = line_.substr(from, at_ - 1 - from);
        return true;
      }
      if (characters.next(c)) continue;
      at_ = line_.size() - before.size();
      return fail(characters.problem() ? characters.problem() : "ends within a string");
    }
  }

  bool word(std::string_view wanted) noexcept {
    if (!line_.substr(at_).starts_with(wanted)) return fail("has an invalid JSON value");
    at_ += wanted.size();
    return true;
  }

  bool digits() noexcept {
    const size_t from = at_;
    while (is_digit(peek())) ++at_;
    return at_ > from;
  }
  bool skip_number() noexcept {
    if (peek() == '-') ++at_;
    if (peek() == '0')
      ++at_;
    else if (!digits())
      return false;
    if (peek() == '.') {
      ++at_;
      if (!digits()) return false;
    }
    if (peek() == 'e' || peek() == 'E') {
      ++at_;
      if (peek() == '+' || peek() == '-') ++at_;
      if (!digits()) return false;
    }
    return true;
  }

  // Goes past any value.
  bool value(int depth) noexcept {
    if (depth > deepest) return fail("is nested too deeply");
    std::string_view ignored;
    switch (peek()) {
      case '"':
        return string(ignored);
      case 't':
        return word("true");
      case 'f':
        return word("false");
      case 'n':
        return word("null");
      case '[':
      case '{':
        return container(depth);
      default:
        return skip_number() || fail("has an invalid JSON value");
    }
  }
  bool container(int depth) noexcept {
    const bool keyed = peek() == '{';
    const char close = keyed ? '}' : ']';
    take(peek());
    if (take(close)) return true;
    do {
      std::string_view ignored;
      if (keyed && (!string(ignored) || !take(':'))) return fail("has no key where one is expected");
      if (!value(depth + 1)) return false;
    } while (take(','));
    return take(close) || fail("has an unclosed object or array");
  }

  static constexpr const char* twice_[] = {"has `text` twice", "has `auth_weight` twice",
                                           "has `prov_entropy` twice"};
  std::string_view line_;
  size_t at_ = 0;
  bool seen_[3] = {};
  SampleLine sample_;
};

}  // namespace

SampleLine parse_sample_line(std::string_view line) noexcept { return LineParser(line).run(); }

bool JsonText::next(char32_t& character) noexcept {
  if (rest_.empty()) return false;
  const auto lead = static_cast<unsigned char>(rest_.front());
  if (lead < 0x20) return refuse("has a control character in a string, which must be escaped");
  if (lead == '\\') return escape(character);
  const auto [value, bytes] = first_code_point(bytes_of(rest_));
  if (bytes == 0) return refuse("is not UTF-8");
  character = value;
  rest_.remove_prefix(static_cast<size_t>(bytes));
  return true;
}

bool JsonText::four_digits(char32_t& value) noexcept {
  if (rest_.size() < 4) return false;
  uint32_t number = 0;
  const auto read = std::from_chars(rest_.data(), rest_.data() + 4, number, 16);
  if (read.ec != std::errc() || read.ptr != rest_.data() + 4) return false;
  value = number;
  rest_.remove_prefix(4);
  return true;
}

bool JsonText::escape(char32_t& character) noexcept {
  constexpr std::string_view letters = "\"\\/bfnrt", meanings = "\"\\/\b\f\n\r\t";
  constexpr const char* unknown = "has an unknown escape sequence";
  constexpr const char* half = "has half a surrogate pair";
  if (rest_.size() < 2) return refuse(unknown);
  const char letter = rest_[1];
  rest_.remove_prefix(2);
  if (const size_t place = letters.find(letter); place != letters.npos) {
    character = static_cast<unsigned char>(meanings[place]);
    return true;
  }
  if (letter != 'u' || !four_digits(character)) return refuse(unknown);
  if (character >= 0xD800 && character < 0xDC00) {
    char32_t low = 0;
    if (!rest_.starts_with("\\u")) return refuse(half);
    rest_.remove_prefix(2);
    if (!four_digits(low)) return refuse(unknown);
    if (low < 0xDC00 || low > 0xDFFF) return refuse(half);
    character = 0x10000 + ((character - 0xD800) << 10) + (low - 0xDC00);
  }
  return is_scalar(character) || refuse(half);
}

}  // namespace plimsoll
