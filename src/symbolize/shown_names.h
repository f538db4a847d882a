// SPDX-License-Identifier: Apache-2.0
// A recording has the linkage names of its functions: how they are shown is decided when they are shown.
#pragma once
#include "names/demangle.h"
#include "profile/profile.h"

namespace cicada::symbolize {

// Names functions anew by their linkage names; functions without one keep theirs. Folded clones stay folded.
void demangle_again(profile::Profile& profile, names::Demangle style);

}  // namespace cicada::symbolize
