// SPDX-License-Identifier: MIT
#include "sim/toml_text.h"

#include <algorithm>
#include <istream>
#include <vector>

#include "tacit/core/error.h"

namespace tacit::sim {
namespace {

constexpr std::size_t kLargest = std::size_t{4} << 20U;

// Walks over a text and counts how deep it is nested: every open bracket is a level, and so is every dot of a key, as
// in `a.b.c = 1` and `[a.b.c]`. A dot of a number counts too, until the number ends, which changes nothing.
class Depth {
 public:
  explicit Depth(std::string_view text) : rest_(text) {}

  int line_too_deep() {
    while (!rest_.empty()) {
      step();
      if (levels_ > kDeepestToml) return line_;
    }
    return 0;
  }

 private:
  void step() {
    switch (rest_.front()) {
      case '"':
      case '\'':
        return skip_text();
      case '#':
        return skip(std::min(rest_.find('\n'), rest_.size()));
      case '[':
      case '{':
        ++levels_;
        dots_.push_back(0);
        break;
      case ']':
      case '}':
        close();
        break;
      case '.':
        ++levels_;
        ++dots_.back();
        break;
      case ',':
      case '\n':
        end_key();
        break;
      default:
        break;
    }
    skip(1);
  }

  void end_key() {
    levels_ -= dots_.back();
    dots_.back() = 0;
  }
  void close() {
    end_key();
    if (dots_.size() == 1) return;  // one too many, which the parser refuses
    dots_.pop_back();
    --levels_;
  }
  // A text in one or three quotes of a kind. In double quotes a backslash takes the next character with it. A text in
  // one quote ends with its line at the latest; the parser says what is wrong with it.
  void skip_text() {
    const char quote = rest_.front();
    const std::string three(3, quote);
    const bool long_text = rest_.starts_with(three);
    skip(long_text ? 3 : 1);
    while (!rest_.empty()) {
      if (long_text && rest_.starts_with(three)) return skip_end(quote);
      if (!long_text && rest_.front() == quote) return skip(1);
      if (!long_text && rest_.front() == '\n') return;
      skip(quote == '"' && rest_.front() == '\\' ? 2 : 1);
    }
  }
  // Of a text in three quotes, which may end in two quotes of its own.
  void skip_end(char quote) {
    skip(3);
    for (int own = 0; own < 2 && rest_.starts_with(quote); ++own) skip(1);
  }
  void skip(std::size_t count) {
    for (const char c : rest_.substr(0, count)) line_ += c == '\n' ? 1 : 0;
    rest_.remove_prefix(std::min(count, rest_.size()));
  }

  std::string_view rest_;
  int line_ = 1;
  int levels_ = 0;               // brackets and dots
  std::vector<int> dots_ = {0};  // of the key at hand, within each open bracket
};

}  // namespace

int line_too_deep(std::string_view toml) { return Depth(toml).line_too_deep(); }

std::string read_toml_text(std::istream& in, const std::string& what) {
  std::string text(kLargest + 1, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(in.gcount()));
  if (text.size() > kLargest)
    throw InvalidConfig(what + " has more than 4 MiB, which none needs; is it the right file?");
  if (const int line = line_too_deep(text); line > 0)
    throw InvalidConfig(what + " is nested too deeply: line " + std::to_string(line) + " is in more than " +
                        std::to_string(kDeepestToml) + " arrays and tables; write it flatter");
  return text;
}

}  // namespace tacit::sim
