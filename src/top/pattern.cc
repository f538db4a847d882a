// SPDX-License-Identifier: Apache-2.0
#include "top/pattern.h"

#include <regex.h>

namespace cicada::top {

Result<Pattern> Pattern::compile(const std::string& text) {
  auto regex = std::make_unique<regex_t>();
  if (const int error = ::regcomp(regex.get(), text.c_str(), REG_EXTENDED | REG_NOSUB | REG_ICASE); error != 0) {
    char why[200];
    ::regerror(error, regex.get(), why, sizeof why);
    return make_error(ErrorKind::kInvalid, "{}: {}", text, why);
  }
  Pattern pattern;
  pattern.regex_ = std::shared_ptr<const regex_t>(regex.release(), [](const regex_t* one) {
    ::regfree(const_cast<regex_t*>(one));
    delete one;
  });
  return pattern;
}

bool Pattern::matches(std::string_view name) const {
  return ::regexec(static_cast<const regex_t*>(regex_.get()), std::string(name.substr(0, kLookedAt)).c_str(), 0, nullptr, 0) == 0;
}

}  // namespace cicada::top
