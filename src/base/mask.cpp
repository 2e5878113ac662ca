#include "base/mask.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>

namespace plimsoll {
namespace {

constexpr std::string_view hidden = "***";

// A key holds a secret when one of its words is one of these...
constexpr std::array secret_words{"token",         "secret",    "password",    "passwd",     "passphrase",
                                  "pass",          "pwd",       "auth",        "credential", "cookie",
                                  "bearer",        "apikey",    "credentials", "secrets",    "jwt",
                                  "authorization", "accesskey", "privatekey"};
// ... or it contains one of these once dashes and underscores are gone.
constexpr std::array secret_pairs{"apikey",     "accesskey", "privatekey",      "secretkey",   "authkey",
                                  "signingkey", "sastoken",  "clientsecret",    "accesstoken", "authtoken",
                                  "password",   "passwd",    "connectionstring"};
// A word that starts like this and goes on for long is a secret wherever it stands.
constexpr std::array secret_prefixes{"hf_",  "sk-",         "ghp_",   "gho_",  "ghu_",  "ghs_",
                                     "ghr_", "github_pat_", "glpat-", "xoxb-", "xoxp-", "xoxa-",
                                     "AKIA", "ASIA",        "AIza",   "eyJ",   "npm_",  "pypi-"};

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '-' || c == '.';
}
char lower(char c) { return char(std::tolower(static_cast<unsigned char>(c))); }

bool names_a_secret(std::string_view key) {
  std::string joined, word;
  bool found = false;
  auto end_word = [&] {
    found |=
        std::find(secret_words.begin(), secret_words.end(), std::string_view(word)) != secret_words.end();
    word.clear();
  };
  for (size_t i = 0; i < key.size(); ++i) {
    char c = key[i];
    bool upper = std::isupper(static_cast<unsigned char>(c)) != 0;
    // authToken: a capital after a small letter begins a word.
    if (!std::isalnum(static_cast<unsigned char>(c)) ||
        (upper && i > 0 && std::islower(static_cast<unsigned char>(key[i - 1]))))
      end_word();
    if (std::isalnum(static_cast<unsigned char>(c))) word += lower(c), joined += lower(c);
  }
  end_word();
  return found || std::any_of(secret_pairs.begin(), secret_pairs.end(),
                              [&](const char* pair) { return joined.find(pair) != std::string::npos; });
}

// Masks within one argument. `expect_value` carries `--token` over to the argument that follows.
class Masker {
 public:
  std::string mask(std::string_view text) {
    text_ = text;
    out_.clear();
    at_ = 0;
    if (expect_value_) {
      expect_value_ = false;
      // A flag after a flag: the first had no value.
      if (!text.starts_with("-") || text.size() == 1) return std::string(hidden);
    }
    while (at_ < text_.size()) step();
    // Only a flag that ends its argument looks for a value in the next one.
    expect_value_ = flag_open_;
    flag_open_ = false;
    return out_;
  }

 private:
  void step() {
    char c = text_[at_];
    if (!is_word(c)) {
      bool value = flag_open_ && !std::isspace(static_cast<unsigned char>(c));
      if (value) flag_open_ = false;
      if (value && std::string_view(";|&").find(c) == std::string_view::npos) {
        hide_value();
        return;
      }
      if (at_userinfo()) return;
      out_ += c, ++at_;
      return;
    }
    size_t end = at_;
    while (end < text_.size() && is_word(text_[end])) ++end;
    std::string_view word = text_.substr(at_, end - at_);
    if (flag_open_ && !word.starts_with("-")) {
      flag_open_ = false;
      hide_value();
      return;
    }
    flag_open_ = false;
    if (looks_like_token(word)) {
      out_ += hidden, at_ = end;
      return;
    }
    out_ += word, at_ = end;
    bool flag = word.starts_with("-");
    if (!names_a_secret(word)) {
      hide_after_scheme(word);
      return;
    }
    if (end < text_.size() && text_[end] == '=') {
      out_ += '=', ++at_;
      hide_value();
    } else if (end < text_.size() && text_[end] == ':' && !text_.substr(end).starts_with("://")) {
      // "Authorization: Bearer abc": everything to the end of the quoted part.
      out_ += ": ", out_ += hidden;
      while (at_ < text_.size() && text_[at_] != '"' && text_[at_] != '\'' && text_[at_] != ',' &&
             text_[at_] != '\n')
        ++at_;
    } else if (flag) {
      flag_open_ = true;
    }
  }

  // A value ends at a blank or at what ends a shell word or a query parameter; a quoted one at its quote.
  void hide_value() {
    if (at_ >= text_.size()) {
      return;
    }
    out_ += hidden;
    if (char quote = text_[at_]; quote == '"' || quote == '\'') {
      size_t close = text_.find(quote, at_ + 1);
      at_ = close == std::string_view::npos ? text_.size() : close + 1;
      return;
    }
    while (at_ < text_.size() && !std::isspace(static_cast<unsigned char>(text_[at_])) &&
           std::string_view("&;\"'|").find(text_[at_]) == std::string_view::npos)
      ++at_;
  }

  // "Bearer abc", "Basic abc" without a header's name before it.
  void hide_after_scheme(std::string_view word) {
    if ((word == "Bearer" || word == "Basic") && at_ + 1 < text_.size() && text_[at_] == ' ') {
      out_ += ' ', ++at_;
      hide_value();
    }
  }

  // scheme://user:password@host keeps the user and the host; scheme://token@host keeps the host.
  bool at_userinfo() {
    if (!text_.substr(at_).starts_with("://")) return false;
    size_t begin = at_ + 3, end = begin;
    while (end < text_.size() && !std::isspace(static_cast<unsigned char>(text_[end])) &&
           std::string_view("/?#\"'").find(text_[end]) == std::string_view::npos)
      ++end;
    size_t at = text_.substr(0, end).rfind('@');
    if (at == std::string_view::npos || at < begin) return false;
    size_t colon = text_.substr(0, at).find(':', begin);
    out_ += "://";
    if (colon != std::string_view::npos) out_ += text_.substr(begin, colon + 1 - begin);
    out_ += hidden;
    at_ = at;
    return true;
  }

  static bool looks_like_token(std::string_view word) {
    return std::any_of(secret_prefixes.begin(), secret_prefixes.end(), [&](std::string_view prefix) {
      return word.starts_with(prefix) && word.size() >= prefix.size() + 12;
    });
  }

  std::string_view text_;
  std::string out_;
  size_t at_ = 0;
  bool flag_open_ = false, expect_value_ = false;
};

// Length of the valid UTF-8 sequence at the front and its code point; 0 where there is none.
int decode(std::string_view text, uint32_t& code) {
  auto byte = [&](size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  unsigned first = byte(0);
  int length = first < 0x80                    ? 1
               : first >= 0xc2 && first < 0xe0 ? 2
               : first >= 0xe0 && first < 0xf0 ? 3
               : first >= 0xf0 && first < 0xf5 ? 4
                                               : 0;
  if (length == 0) return 0;
  code = length == 1 ? first : first & (0x7fu >> length);
  for (int i = 1; i < length; ++i) {
    if ((byte(size_t(i)) & 0xc0) != 0x80) return 0;
    code = code << 6 | (byte(size_t(i)) & 0x3f);
  }
  bool overlong = (length == 3 && code < 0x800) || (length == 4 && code < 0x10000);
  return overlong || code > 0x10ffff || (code >= 0xd800 && code < 0xe000) ? 0 : length;
}

}  // namespace

std::string escape(std::string_view text) {
  std::string plain;
  while (!text.empty()) {
    uint32_t code = 0;
    int length = decode(text, code);
    if (length == 0) {
      plain += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[0]));
      length = 1;
    } else if (code == '\n' || code == '\t' || code == '\r') {
      plain += code == '\n' ? "\\n" : code == '\t' ? "\\t" : "\\r";
    } else if (code < 0x20 || code == 0x7f) {
      plain += fmt::format("\\x{:02x}", code);
    } else if ((code >= 0x80 && code < 0xa0) || (code >= 0x200b && code <= 0x200f) ||
               (code >= 0x2028 && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069) || code == 0xfeff) {
      plain += fmt::format("\\u{:04x}", code);
    } else {
      plain += text.substr(0, size_t(length));
    }
    text.remove_prefix(size_t(length));
  }
  return plain;
}

std::vector<std::string> mask_arguments(const std::vector<std::string>& arguments) {
  Masker masker;
  std::vector<std::string> masked;
  for (const std::string& argument : arguments) masked.push_back(masker.mask(argument));
  return masked;
}

std::string display_command(const std::vector<std::string>& arguments, size_t most) {
  std::string line;
  for (const std::string& argument : mask_arguments(arguments)) {
    if (!line.empty()) line += ' ';
    std::string plain = escape(argument);
    bool quote = plain.empty() || plain.find(' ') != std::string::npos;
    line += quote ? "'" + plain + "'" : plain;
    if (line.size() > most) break;
  }
  if (line.size() > most) {
    line.resize(most);
    while (!line.empty() && (static_cast<unsigned char>(line.back()) & 0xc0) == 0x80) line.pop_back();
    if (!line.empty() && static_cast<unsigned char>(line.back()) >= 0xc0) line.pop_back();
    line += "...";
  }
  return line;
}

}  // namespace plimsoll
