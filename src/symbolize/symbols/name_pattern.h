// SPDX-License-Identifier: Apache-2.0
// Whether somebody who names a function means this symbol.
//
//   pattern                            means _ZN4json6Parser5parseEPKc   means parse.constprop.0
//   json::Parser::parse                yes                               no
//   json::*::parse                     yes                               no
//   json::Parser::parse(char const*)   yes: with parameters              no
//   _ZN4json6Parser5parseEPKc          yes: the linkage name             no
//   parse                              no                                yes: a clone of it
//   /::parse\(/                        yes: a regular expression (RE2)   no: of the demangled name, with parameters; anywhere in it
//
// Wildcards are not compared with mangled names, in which the parameters' types stand, nor with parameters and return types.
// Demangling is what costs. Words of the pattern that are in every mangled form of what it means tell most symbols before.
// Threads: patterns any, names one.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/work_budget.h"

namespace re2 {
class RE2;
}

namespace cicada::symbolize {

// The ways to write the name of one symbol, made when they are first asked for. Borrows the linkage name. What is read is paid from `work`; the
// names are "" once that is used up.
class SymbolName {
 public:
  SymbolName(std::string_view linkage, WorkBudget& work);
  std::string_view linkage() const { return linkage_; }
  std::string_view source() const { return source_; }  // without what compilers append to clones
  bool is_mangled() const { return is_mangled_; }
  bool is_fragment() const { return is_fragment_; }  // .cold, .part.0: not a function of its own
  bool has_changed_arguments() const { return has_changed_arguments_; }

  const std::string& shown();  // for people: "int list::sum<int>(int) [clone .constprop.0]"
  const std::string& full();   // "int list::sum<int>(int)"
  const std::string& without_parameters();  // "list::sum<int>"
  const std::string& brief();               // "list::sum"

 private:
  std::string_view linkage_, source_;
  WorkBudget& work_;
  bool is_mangled_ = false, is_fragment_ = false, has_changed_arguments_ = false;
  std::optional<std::string> shown_, full_, without_parameters_, brief_;
};

class NamePattern {
 public:
  enum class Match : uint8_t { kNone, kMeant, kExact };  // kExact: this symbol, not only its function

  explicit NamePattern(std::string_view text);
  Match match(SymbolName& name, WorkBudget& work) const;
  bool is_linkage_name(std::string_view name) const { return !is_glob_ && name == text_; }
  // "f" of "f(int)" and of "f*": what near names are looked for with.
  std::string name() const;
  // What is wrong with a regular expression; empty: nothing, or it is none.
  std::string error() const;
  bool has_parameters() const { return parameters_at_ != std::string::npos; }

 private:
  bool is_like(std::string_view name, WorkBudget& work) const;

  std::string text_;
  std::shared_ptr<const re2::RE2> regex_;  // null: it is none
  std::vector<std::string> words_;  // that are in every mangled name that it means
  size_t parameters_at_ = std::string::npos;
  bool is_glob_ = false, means_mangled_ = false, wants_full_ = false;
};

}  // namespace cicada::symbolize
