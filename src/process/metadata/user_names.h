// SPDX-License-Identifier: Apache-2.0
// What this machine calls its users: /etc/passwd, read once. No other source is asked: a directory service may not answer.
#pragma once
#include <cstdint>
#include <string>
#include <unordered_map>

namespace cicada::process {

class UserNames {
 public:
  static constexpr size_t kMaxUsers = 100'000;
  // `path` is for tests. A file that cannot be read has no names.
  explicit UserNames(const std::string& path = "/etc/passwd");
  // "daemon"; of one without a name its number.
  std::string name_of(uint32_t uid) const;

 private:
  std::unordered_map<uint32_t, std::string> names_;
};

}  // namespace cicada::process
