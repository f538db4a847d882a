// SPDX-License-Identifier: Apache-2.0
#include "bpf_source/function_place.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <vector>

#include <fmt/format.h>

#include "symbolize/symbols/function_search.h"
#include "symbolize/symbols/name_pattern.h"

namespace cicada::bpf_source {
namespace {

constexpr std::string_view kOperator = "operator";
// The longest first.
constexpr std::string_view kOperators[] = {"->*", "<<=", ">>=", "<=>", "()", "[]", "->", "++", "--", "<<", ">>", "<=", ">=", "==", "!=", "&&", "||", "+=", "-=", "*=", "/=",
                                           "%=",  "^=",  "&=",  "|=",  "+",  "-",  "*",  "/",  "%",  "^",  "&",  "|",  "~",  "!",  "=",  "<",  ">",  ","};

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '$'; }
bool is_digits(std::string_view text) { return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos; }

// Goes through a place, or through terms, letter by letter, and knows what is a letter only. In terms "<" and ">" are signs.
class PlaceCursor {
 public:
  explicit PlaceCursor(std::string_view text, size_t at = 0, bool in_terms = false) : text_(text), at_(at), begin_(at), in_terms_(in_terms) {}
  bool ends() const { return at_ >= text_.size(); }
  size_t at() const { return at_; }
  // Past the next letter or what counts as one. True: that was a sign of its own, outside of all brackets.
  bool next() {
    const char c = text_[at_];
    if (c == '"') {
      ++at_;
      while (at_ < text_.size() && text_[at_] != '"') at_ += text_[at_] == '\\' ? 2 : 1;
      at_ = std::min(at_ + 1, text_.size());
      return false;
    }
    if (text_.substr(at_).starts_with(kOperator) && (at_ == begin_ || !is_letter(text_[at_ - 1]))) {
      at_ += kOperator.size();
      const auto* sign = std::find_if(std::begin(kOperators), std::end(kOperators), [&](std::string_view one) { return text_.substr(at_).starts_with(one); });
      if (sign != std::end(kOperators)) at_ += sign->size();
      return false;
    }
    ++at_;
    if (c == '(' || c == '[' || (c == '<' && !in_terms_)) open_.push_back(c);
    else if (c == ')' || c == ']') close(c == ')' ? '(' : '[');
    else if (c == '>' && (at_ < 2 || text_[at_ - 2] != '-') && !open_.empty() && open_.back() == '<') open_.pop_back();
    else return open_.empty();
    return false;
  }

 private:
  // With what was opened in it and not closed: "<" is also a sign of its own.
  void close(char opened) {
    const auto found = std::find(open_.rbegin(), open_.rend(), opened);
    if (found != open_.rend()) open_.erase(found.base() - 1, open_.end());
  }
  std::string_view text_;
  size_t at_, begin_;
  bool in_terms_;
  std::vector<char> open_;
};

std::string unquote(std::string_view text) {
  if (text.size() < 2 || text.front() != '"' || text.back() != '"') return std::string(text);
  std::string plain;
  for (size_t i = 1; i + 1 < text.size(); ++i) {
    if (text[i] == '\\' && i + 2 < text.size()) ++i;
    plain += text[i];
  }
  return plain;
}

bool is_colon(std::string_view text, size_t at) { return text[at] == ':' && (at == 0 || text[at - 1] != ':') && (at + 1 >= text.size() || text[at + 1] != ':'); }

// Those that are no letters, and not of "::".
std::vector<size_t> find_colons(std::string_view text) {
  std::vector<size_t> colons;
  for (PlaceCursor cursor(text); !cursor.ends();) {
    const size_t at = cursor.at();
    if (cursor.next() && is_colon(text, at)) colons.push_back(at);
  }
  return colons;
}

// Behind a regular expression that begins here: between slashes (\\/ is one of its letters), and nothing but terms or another event follows. Nothing: none begins here.
size_t find_end_of_regex(std::string_view text, size_t begin) {
  if (begin >= text.size() || text[begin] != '/') return std::string_view::npos;
  size_t end = begin + 1;
  while (end < text.size() && text[end] != '/') end += text[end] == '\\' ? 2 : 1;
  if (end >= text.size() || end == begin + 1) return std::string_view::npos;
  return end + 1 == text.size() || text[end + 1] == ',' || text[end + 1] == '/' ? end + 1 : std::string_view::npos;
}

// Takes "+OFFSET" off. False: no number follows.
bool take_offset(std::string_view& text, uint64_t& offset, size_t& plus) {
  plus = text.rfind('+');
  if (plus == std::string_view::npos || plus + 1 >= text.size() || text[plus + 1] < '0' || text[plus + 1] > '9') return true;
  std::string_view digits = text.substr(plus + 1);
  const bool is_hexadecimal = digits.starts_with("0x");
  digits.remove_prefix(is_hexadecimal ? 2 : 0);
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), offset, is_hexadecimal ? 16 : 10);
  if (error != std::errc{} || end != digits.data() + digits.size()) return false;
  text = text.substr(0, plus);
  return true;
}

// fn/period=2: a slash without its partner is taken for a part of the name, and no name has what terms have behind it.
bool has_open_terms(std::string_view function) {
  const size_t slash = function.find('/');
  if (slash == std::string_view::npos || function.front() == '"' || function.find("operator") != std::string_view::npos) return false;
  const std::string_view behind = function.substr(slash + 1);
  size_t name = 0;
  while (name < behind.size() && (std::isalnum(static_cast<unsigned char>(behind[name])) != 0 || behind[name] == '_')) ++name;
  return behind == "return" || (name != 0 && name < behind.size() && std::string_view("=<>!").find(behind[name]) != std::string_view::npos);
}

std::string_view file_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

}  // namespace

size_t end_of_function_place(std::string_view text, size_t begin) {
  for (PlaceCursor cursor(text, begin); !cursor.ends();) {
    const size_t at = cursor.at();
    if (!cursor.next()) continue;
    if (text[at] == ',') return at;
    if (text[at] != '/') continue;
    if (at == begin || text[at - 1] == ':') {
      if (const size_t end = find_end_of_regex(text, at); end != std::string_view::npos) return end;
    }
    // A pair that nothing but another event follows.
    PlaceCursor inside(text, at + 1, true);
    while (!inside.ends() && !(text[inside.at()] == '/' && PlaceCursor(inside).next())) inside.next();
    if (!inside.ends() && (inside.at() + 1 == text.size() || text[inside.at() + 1] == ',')) return at;
  }
  return text.size();
}

bool parse_function_place(std::string_view text, FunctionPlace& place, PlaceError& error) {
  const std::vector<size_t> colons = find_colons(text);
  const auto fail = [&](size_t at, std::string message) {
    error = {at, std::move(message)};
    return false;
  };
  const auto take_image = [&](size_t colon) {
    place.image = unquote(text.substr(0, colon));
    return !place.image.empty() || fail(0, "expected the name of a program or library before the colon");
  };
  for (const size_t begin : {size_t{0}, colons.empty() ? size_t{0} : colons[0] + 1}) {
    if (find_end_of_regex(text, begin) != text.size()) continue;
    if (begin != 0 && !take_image(begin - 1)) return false;
    place.function = text.substr(begin);
    const std::string problem = symbolize::NamePattern(place.function).error();
    return problem.empty() || fail(begin, "this regular expression cannot be read: " + problem);
  }
  if (!colons.empty() && is_digits(text.substr(colons.back() + 1)) && colons.size() <= 2) {
    const size_t begin = colons.size() == 2 ? colons[0] + 1 : 0;
    if (begin != 0 && !take_image(colons[0])) return false;
    place.function = unquote(text.substr(begin, colons.back() - begin)) + std::string(text.substr(colons.back()));
    place.is_line = true;
    if (!symbolize::parse_source_line(place.function)) return fail(begin, "expected FILE:LINE; lines count from 1");
    return !place.at_return || fail(begin, "a line of a source file does not return");
  }
  if (colons.size() > 1) return fail(colons[1], "expected [IMAGE:]FUNCTION; an image's name with a colon in it needs quotes (\"…\":FUNCTION)");
  std::string_view function = text;
  size_t begin = 0;
  if (!colons.empty()) {
    if (!take_image(colons[0])) return false;
    begin = colons[0] + 1;
    function = text.substr(begin);
  }
  size_t plus = 0;
  if (!take_offset(function, place.offset, plus)) return fail(begin + plus + 1, "not a number of bytes");
  if (has_open_terms(function)) return fail(begin + function.size(), "expected \"/\" at the end of the terms");
  place.function = unquote(function);
  if (place.function.empty()) return fail(begin, "expected the name of a function");
  if (place.function.find('/') != std::string::npos && place.function.find("operator") == std::string::npos && place.image.empty() && place.function.front() == '/')
    return fail(begin, "expected FILE:FUNCTION");
  if (place.at_return && place.offset != 0) return fail(begin + plus, "a function returns where it wants to: no offset");
  return true;
}

bool parse_usdt_place(std::string_view text, FunctionPlace& place, PlaceError& error) {
  constexpr std::string_view kLetters = "_-.*?$abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
  const std::vector<size_t> colons = find_colons(text);
  const auto fail = [&](size_t at, std::string message) {
    error = {at, std::move(message)};
    return false;
  };
  if (colons.empty() || colons.size() > 2) return fail(colons.empty() ? 0 : colons[2], "expected [IMAGE:]PROVIDER:NAME of a USDT probe, as in usdt:python3:python:function__entry");
  size_t begin = 0;
  if (colons.size() == 2) {
    place.image = unquote(text.substr(0, colons[0]));
    if (place.image.empty()) return fail(0, "expected the name of a program or library before the colon");
    begin = colons[0] + 1;
  }
  const std::string_view provider = text.substr(begin, colons.back() - begin), name = text.substr(colons.back() + 1);
  if (provider.empty()) return fail(begin, "expected the name of a provider");
  if (name.empty()) return fail(text.size(), "expected the name of a probe");
  for (size_t at = begin; at < text.size(); ++at) {
    if (at != colons.back() && kLetters.find(text[at]) == std::string_view::npos) return fail(at, fmt::format("\"{}\" is in no USDT probe's name", text[at]));
  }
  place.function = text.substr(begin);
  place.is_usdt = true;
  return true;
}

bool is_meant(const FunctionPlace& place, std::string_view path) {
  if (place.image.empty()) return true;
  if (place.image.find('/') != std::string::npos) return place.image == path;
  const std::string_view name = file_name(path);
  const auto is_name_of = [&](std::string_view wanted) {
    if (!name.starts_with(wanted)) return false;
    const std::string_view rest = name.substr(wanted.size());
    const bool is_version = rest.size() > 1 && rest[0] == '.' && rest.find_first_not_of(".0123456789") == std::string_view::npos;
    return rest.empty() || rest.starts_with(".so") || is_version || (rest.size() > 1 && rest[0] == '-' && rest[1] >= '0' && rest[1] <= '9' && rest.find(".so") != std::string_view::npos);
  };
  return is_name_of(place.image) || is_name_of("lib" + place.image);
}

}  // namespace cicada::bpf_source
