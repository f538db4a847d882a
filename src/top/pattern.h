// SPDX-License-Identifier: Apache-2.0
// What people type to find functions: a regular expression, in any case of letters. RE2's, whose time grows with the length of a name only, whatever was typed.
// Threads: any.
#pragma once
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

namespace re2 {
class RE2;
}

namespace cicada::top {

class Pattern {
 public:
  static constexpr size_t kLookedAt = 4096;  // bytes of a name

  // Fails: kInvalid, with the reason in words.
  static Result<Pattern> compile(const std::string& text);
  bool matches(std::string_view name) const;

 private:
  std::shared_ptr<const re2::RE2> regex_;
};

}  // namespace cicada::top
