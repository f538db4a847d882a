// SPDX-License-Identifier: Apache-2.0
// Names of functions where the width is limited: without parameters and template arguments, and with more of them where two rows of a table would
// read the same. Borrows the profile.
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sink/flamegraph/short_names.h"

namespace cicada::cli {

// Whether `name` is meant by what a person typed: the whole name, or all before its parameters ("f" means "f(int)").
bool matches_function(std::string_view name, std::string_view typed);

class TableNames {
 public:
  // Every name as it is.
  TableNames() = default;
  // Short ones of the functions of this profile. May be called for several.
  void shorten(const profile::ProfileSnapshot& profile) { short_.add(profile); }

  std::string short_name(std::string_view name) const { return short_.of(name); }
  const sink::ShortNames& short_names() const { return short_; }
  // As matches_function(), or the short name.
  bool means(std::string_view name, std::string_view typed) const;

  struct Row {
    std::string_view name;
    size_t columns;  // that there are for it
  };
  // For the rows of one table, in their order. Two texts are the same only if the names are.
  std::vector<std::string> fit(std::span<const Row> rows) const;

 private:
  sink::ShortNames short_;
};

}  // namespace cicada::cli
