// SPDX-License-Identifier: Apache-2.0
#include "sink/flamegraph/short_names.h"

#include "names/demangle.h"

namespace cicada::sink {

void ShortNames::add(const profile::ProfileSnapshot& profile, size_t first) {
  for (size_t i = first; i < profile.functions().size(); ++i) {
    const profile::Function& function = profile.functions()[i];
    if (function.linkage_name.valid()) linkage_.try_emplace(profile.text(function.name), profile.text(function.linkage_name));
  }
}

std::string ShortNames::of(std::string_view name) const {
  const auto linkage = linkage_.find(name);
  if (linkage == linkage_.end()) return std::string(name);
  const std::string_view mangled = names::fold_clone(linkage->second);
  std::string text = names::demangle(mangled, names::Demangle::kShort);
  return text == mangled ? std::string(name) : text;  // a clone of a function in C
}

}  // namespace cicada::sink
