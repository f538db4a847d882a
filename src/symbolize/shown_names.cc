// SPDX-License-Identifier: Apache-2.0
#include "symbolize/shown_names.h"

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
  std::vector<profile::PlaceId> moved;  // by place
  for (size_t i = 0, size = profile.places().size(); i < size; ++i) {
    const profile::Place place = profile.places()[i];
    profile::Location location = place;
    location.function = renamed[location.function.value];
    moved.push_back(profile.intern_place(place.outer.valid() ? moved[place.outer.value] : place.outer, location));
  }
  for (size_t i = 0; i < profile.frames().size(); ++i) {
    const profile::FrameId frame(static_cast<uint32_t>(i));
    if (const profile::PlaceId place = profile.place(frame); place.valid()) profile.set_place(frame, moved[place.value]);
  }
}

}  // namespace cicada::symbolize
