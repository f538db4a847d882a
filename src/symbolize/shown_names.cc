// SPDX-License-Identifier: Apache-2.0
#include "symbolize/shown_names.h"

#include <algorithm>

namespace cicada::symbolize {

void demangle_again(profile::Profile& profile, names::Demangle style) {
  std::vector<profile::FunctionId> renamed;
  for (size_t i = 0, size = profile.functions().size(); i < size; ++i) {
    const profile::Function function = profile.functions()[i];
    const bool folded = function.linkage_name.valid() && profile.text(function.name).find(" [clone ") == std::string_view::npos;
    const std::string linkage(profile.text(function.linkage_name.valid() ? function.linkage_name : function.name));
    const std::string mangled(folded ? names::fold_clone(linkage) : linkage);
    renamed.push_back(profile::FunctionId(static_cast<uint32_t>(i)));
    if (names::demangle(mangled, names::Demangle::kFull) == mangled) continue;  // of a language without
    renamed.back() = profile.intern_function({profile.intern(names::demangle(mangled, style)), profile.intern(linkage), function.image});
  }
  std::vector<profile::Location> locations;
  for (size_t i = 0; i < profile.frames().size(); ++i) {
    const profile::FrameId frame(static_cast<uint32_t>(i));
    locations.assign(profile.locations(frame).begin(), profile.locations(frame).end());
    for (profile::Location& location : locations) location.function = renamed[location.function.value];
    if (!std::equal(locations.begin(), locations.end(), profile.locations(frame).begin(), profile.locations(frame).end())) profile.set_locations(frame, locations);
  }
}

}  // namespace cicada::symbolize
