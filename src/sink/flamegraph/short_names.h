// SPDX-License-Identifier: Apache-2.0
// Names without parameters and template arguments, by the linkage names that a recording has. Borrows the profiles.
#pragma once
#include <string>
#include <string_view>
#include <unordered_map>

#include "profile/profile.h"

namespace cicada::sink {

class ShortNames {
 public:
  // Of the functions of this profile, too; of those from `first` on.
  void add(const profile::ProfileSnapshot& profile, size_t first = 0);
  // The name itself, if it has no shorter form.
  std::string of(std::string_view name) const;

 private:
  std::unordered_map<std::string_view, std::string_view> linkage_;  // by name
};

}  // namespace cicada::sink
