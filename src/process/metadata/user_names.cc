// SPDX-License-Identifier: Apache-2.0
#include "process/metadata/user_names.h"

#include <pwd.h>

#include <array>
#include <cstdio>
#include <memory>

namespace cicada::process {

UserNames::UserNames(const std::string& path) {
  const std::unique_ptr<FILE, int (*)(FILE*)> file(std::fopen(path.c_str(), "re"), std::fclose);
  std::array<char, 16 << 10> text;
  passwd row{};
  passwd* found = nullptr;
  while (file && names_.size() < kMaxUsers && ::fgetpwent_r(file.get(), &row, text.data(), text.size(), &found) == 0) names_.try_emplace(row.pw_uid, row.pw_name);
}

std::string UserNames::name_of(uint32_t uid) const {
  const auto found = names_.find(uid);
  return found == names_.end() ? std::to_string(uid) : found->second;
}

}  // namespace cicada::process
