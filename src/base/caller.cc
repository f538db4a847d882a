// SPDX-License-Identifier: Apache-2.0
#include "base/caller.h"

#include <pwd.h>
#include <unistd.h>

#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <system_error>

namespace cicada {
namespace {

std::optional<uint32_t> find_number(const char* variable) {
  const char* const text = std::getenv(variable);
  if (text == nullptr) return std::nullopt;
  const std::string_view digits(text);
  uint32_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return error == std::errc() && end == digits.data() + digits.size() ? std::optional(value) : std::nullopt;
}

}  // namespace

std::optional<Caller> find_caller() {
  if (::geteuid() != 0) return std::nullopt;
  std::optional<Caller> caller;
  if (const auto uid = find_number("SUDO_UID")) {
    const auto gid = find_number("SUDO_GID");
    const passwd* const entry = gid ? nullptr : ::getpwuid(*uid);
    caller = {*uid, gid ? *gid : entry != nullptr ? entry->pw_gid : *uid};
  } else if (const char* const name = std::getenv("DOAS_USER")) {
    if (const passwd* const entry = ::getpwnam(name)) caller = {entry->pw_uid, entry->pw_gid};
  }
  return caller && caller->uid != 0 ? caller : std::nullopt;
}

}  // namespace cicada
