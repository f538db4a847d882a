// SPDX-License-Identifier: Apache-2.0
// What people type to find functions: an extended regular expression, in any case of letters. libc's matcher, which does not recurse with the length of a name.
// Threads: one.
#pragma once
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

namespace cicada::top {

class Pattern {
 public:
  static constexpr size_t kLookedAt = 4096;  // bytes of a name

  // Fails: kInvalid, with the reason in words.
  static Result<Pattern> compile(const std::string& text);
  bool matches(std::string_view name) const;

 private:
  std::shared_ptr<const void> regex_;
};

}  // namespace cicada::top
