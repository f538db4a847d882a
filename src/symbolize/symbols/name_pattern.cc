// SPDX-License-Identifier: Apache-2.0
// Names in a mangled name stand there as they are, each once at least: a later occurrence may be a back reference. Not so what demanglers write
// of their own: keywords, types of the language, std and its abbreviations (St, Sa, Ss, …).
#include "symbolize/symbols/name_pattern.h"

#include <algorithm>
#include <chrono>

#include <re2/re2.h>

#include "names/demangle.h"

namespace cicada::symbolize {
namespace {

using names::Demangle;

constexpr uint64_t kWorkPerByte = 8;  // of a name before and behind demangling: nanoseconds, measured on the 76,000 names of node
constexpr uint64_t kStepsAtOnce = 4096;
constexpr uint64_t kRegexWorkPerByte = 16;
constexpr int64_t kMaxRegexBytes = 8 << 20;

// What demanglers write that is not in the mangled name. A part of one of these is no sign, either.
constexpr std::string_view kTheirWords =
    "std allocator basic_string string char_traits basic_istream istream basic_ostream ostream basic_iostream iostream anonymous namespace operator "
    "new delete lambda unnamed type clone closure shim vtable abi auto decltype decltype(auto) decltype(nullptr) nullptr_t const volatile restrict "
    "signed unsigned void bool char wchar_t char8_t char16_t char32_t short int long __int128 unsigned__int128 float double __float128 _Float16 half "
    "decimal32 decimal64 decimal128 complex imaginary _Complex _Imaginary _Accum _Fract _Sat true false this sizeof alignof typeid noexcept throw "
    "co_await static_cast dynamic_cast const_cast reinterpret_cast typeinfo name for VTT construction covariant return thunk non virtual to guard "
    "variable reference temporary hidden alias transaction safe default arg friend template parameter object typename constraint requires enable_if "
    "initializer structured binding java Class init function wrapper TLS global constructors destructors keyed string literal block invocation ull "
    "module private vector dyn impl as mut fn unsafe extern crate str i8 i16 i32 i64 i128 isize u8 u16 u32 u64 u128 usize f32 f64 where in";

bool is_identifier(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_'; }

// Where the parameters begin. The parentheses of "(anonymous namespace)::f", "T::operator()" and "{lambda(int)#1}" are part of names.
size_t find_parameters(std::string_view text) {
  constexpr std::string_view kAnonymous = "(anonymous namespace)", kOperator = "operator";
  size_t braces = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '{') ++braces;
    if (text[i] == '}' && braces > 0) --braces;
    if (text[i] != '(' || braces > 0) continue;
    if (text.substr(i).starts_with(kAnonymous)) i += kAnonymous.size() - 1;
    else if (text.substr(i).starts_with("()") && text.substr(0, i).ends_with(kOperator)) ++i;
    else return i;
  }
  return std::string_view::npos;
}

// The words outside of template arguments that only a mangled name can bring; the last first, which fewest have.
std::vector<std::string> find_words(std::string_view name) {
  std::vector<std::string> words;
  size_t depth = 0;
  for (size_t begin = 0, end = 0; begin < name.size(); begin = std::max(end, begin + 1)) {
    if (name[begin] == '<') ++depth;
    if (name[begin] == '>' && depth > 0) --depth;
    for (end = begin; end < name.size() && is_identifier(name[end]); ++end) continue;
    const std::string_view word = name.substr(begin, end - begin);
    if (depth > 0 || word.size() < 2 || (word[0] >= '0' && word[0] <= '9')) continue;
    if (kTheirWords.find(word) == std::string_view::npos) words.emplace_back(word);
  }
  std::reverse(words.begin(), words.end());
  return words;
}

// Whether one of the suffixes is `.word`, as in ".constprop.0.cold".
bool has_suffix(std::string_view suffixes, std::string_view word) {
  for (size_t at = suffixes.find('.'); at != std::string_view::npos; at = suffixes.find('.', at + 1)) {
    const std::string_view rest = suffixes.substr(at + 1);
    if (rest.starts_with(word) && (rest.size() == word.size() || rest[word.size()] == '.')) return true;
  }
  return false;
}

const std::string& demangled(std::optional<std::string>& kept, std::string_view linkage, Demangle style, WorkBudget& work) {
  if (kept) return *kept;
  kept.emplace();
  if (!names::looks_mangled(linkage)) return kept->assign(linkage.substr(0, names::kMaxNameBytes));
  if (!work.spend(linkage.size() * kWorkPerByte)) return *kept;
  const auto begin = std::chrono::steady_clock::now();
  *kept = names::demangle(linkage, style);
  // A name that cannot be read may have been abandoned late, a millisecond after it began to expand without end: only a clock tells.
  const std::chrono::nanoseconds taken = *kept == linkage ? std::chrono::steady_clock::now() - begin : std::chrono::nanoseconds{};
  static_cast<void>(work.spend(kept->size() * kWorkPerByte + static_cast<uint64_t>(taken.count())));
  return *kept;
}

}  // namespace

SymbolName::SymbolName(std::string_view linkage, WorkBudget& work)
    : linkage_(linkage), source_(names::fold_clone(linkage)), work_(work), is_mangled_(names::looks_mangled(linkage)) {
  if (source_.size() == linkage_.size()) return;
  const std::string_view suffixes = linkage_.substr(source_.size());
  is_fragment_ = has_suffix(suffixes, "cold") || has_suffix(suffixes, "part") || has_suffix(suffixes, "warm");
  has_changed_arguments_ = has_suffix(suffixes, "isra") || has_suffix(suffixes, "constprop");
}

const std::string& SymbolName::shown() { return demangled(shown_, linkage_, Demangle::kFull, work_); }
const std::string& SymbolName::full() { return demangled(full_, source_, Demangle::kFull, work_); }
const std::string& SymbolName::without_parameters() { return demangled(without_parameters_, source_, Demangle::kWithoutParameters, work_); }
const std::string& SymbolName::brief() { return demangled(brief_, source_, Demangle::kShort, work_); }

NamePattern::NamePattern(std::string_view text) : text_(text), parameters_at_(find_parameters(text)) {
  if (text.size() > 2 && text.starts_with('/') && text.ends_with('/')) {
    re2::RE2::Options options(re2::RE2::Quiet);
    options.set_max_mem(kMaxRegexBytes);
    options.set_never_capture(true);
    regex_ = std::make_shared<const re2::RE2>(re2::StringPiece(text.data() + 1, text.size() - 2), options);
    parameters_at_ = std::string::npos;
    return;
  }
  is_glob_ = !has_parameters() && text_.find_first_of("*?") != std::string::npos;
  means_mangled_ = names::looks_mangled(text_) || text_.starts_with("_Z") || text_.starts_with("_R");
  // "f<int>…": a name that could not be read to its end (names/demangle.cc).
  wants_full_ = has_parameters() || text_.find("\xe2\x80\xa6") != std::string::npos;
  words_ = find_words(std::string_view(text_).substr(0, parameters_at_));
}

std::string NamePattern::error() const { return regex_ == nullptr || regex_->ok() ? std::string() : regex_->error(); }

std::string NamePattern::name() const {
  if (regex_ != nullptr) return {};
  std::string name = text_.substr(0, parameters_at_);
  if (is_glob_) std::erase_if(name, [](char c) { return c == '*' || c == '?'; });
  return name;
}

// `*` takes as little as it can, and one letter more whenever what follows does not fit: the last `*` only, since what is before it has
// matched at the first place where it could.
bool NamePattern::is_like(std::string_view name, WorkBudget& work) const {
  size_t p = 0, at = 0, star = std::string::npos, resume = 0;
  for (uint64_t steps = 0; at < name.size();) {
    if (++steps % kStepsAtOnce == 0 && !work.spend(kStepsAtOnce)) return false;
    if (p < text_.size() && text_[p] == '*') {
      star = p++;
      resume = at;
    } else if (p < text_.size() && (text_[p] == '?' || text_[p] == name[at])) {
      ++p;
      ++at;
    } else if (star != std::string::npos) {
      p = star + 1;
      at = ++resume;
    } else {
      return false;
    }
  }
  return text_.find_first_not_of('*', p) == std::string::npos;
}

NamePattern::Match NamePattern::match(SymbolName& name, WorkBudget& work) const {
  if (is_linkage_name(name.linkage())) return Match::kExact;
  if (name.is_fragment() || text_.empty() || !work.spend(name.linkage().size())) return Match::kNone;
  const auto meant = [](bool is) { return is ? Match::kMeant : Match::kNone; };
  if (regex_ != nullptr) {
    const std::string& full = name.full();
    return meant(regex_->ok() && work.spend(full.size() * kRegexWorkPerByte) && re2::RE2::PartialMatch(full, *regex_));
  }
  // The linkage name has the parameters' types in it: "*string*" does not mean all that take one.
  if (is_glob_ && (!name.is_mangled() || means_mangled_) && (is_like(name.linkage(), work) || is_like(name.source(), work))) return Match::kMeant;
  if (!is_glob_ && name.source() == text_) return Match::kMeant;
  if (!name.is_mangled()) return Match::kNone;
  const bool is_d = name.linkage().starts_with("_D");  // D has names that are written in other ways
  for (const std::string& word : words_) {
    if (!is_d && name.linkage().find(word) == std::string_view::npos) return Match::kNone;
  }
  if (is_glob_) return meant(is_like(name.without_parameters(), work) || is_like(name.brief(), work));
  if (wants_full_ && (name.full() == text_ || name.shown() == text_)) return Match::kExact;
  return meant(name.without_parameters() == text_ || name.brief() == text_);
}

}  // namespace cicada::symbolize
