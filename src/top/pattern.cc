// SPDX-License-Identifier: Apache-2.0
#include "top/pattern.h"

#include <re2/re2.h>

namespace cicada::top {
namespace {

constexpr int64_t kMostMemory = 8 << 20;

}  // namespace

Result<Pattern> Pattern::compile(const std::string& text) {
  re2::RE2::Options options;
  options.set_case_sensitive(false);
  options.set_log_errors(false);
  options.set_never_capture(true);
  options.set_max_mem(kMostMemory);
  Pattern pattern;
  pattern.regex_ = std::make_shared<const re2::RE2>(text, options);
  if (!pattern.regex_->ok()) return make_error(ErrorKind::kInvalid, "{}: {}", text, pattern.regex_->error());
  return pattern;
}

bool Pattern::matches(std::string_view name) const {
  const std::string_view begin = name.substr(0, kLookedAt);
  return re2::RE2::PartialMatch(re2::StringPiece(begin.data(), begin.size()), *regex_);
}

}  // namespace cicada::top
