// SPDX-License-Identifier: Apache-2.0
// Who called this program through sudo or doas: their variables, which mean something only to root, because anyone may set them.
#pragma once
#include <sys/types.h>

#include <optional>

namespace cicada {

struct Caller {
  uid_t uid = 0;
  gid_t gid = 0;
};

// Nothing: nobody did, or it was root. Threads: one; looks into the user database.
std::optional<Caller> find_caller();

}  // namespace cicada
