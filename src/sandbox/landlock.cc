// SPDX-License-Identifier: Apache-2.0
#include "sandbox/landlock.h"

#include <fcntl.h>
#include <linux/landlock.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "base/unique_fd.h"

namespace cicada::sandbox {
namespace {

// struct landlock_ruleset_attr of newer kernels.
struct Rules {
  uint64_t files = 0, ports = 0, scopes = 0;
};
// How many rights to files each version knows.
constexpr std::array<unsigned, 6> kFileRights{13, 14, 15, 15, 16, 16};

Rules all_of(int version) {
  Rules rules;
  rules.files = (uint64_t{1} << kFileRights[std::min<size_t>(static_cast<size_t>(version), kFileRights.size()) - 1]) - 1;
  if (version >= 4) rules.ports = 3;
  if (version >= 6) rules.scopes = 3;
  return rules;
}

}  // namespace

int landlock_version() {
  const long version = ::syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION);
  return version > 0 ? static_cast<int>(version) : 0;
}

bool apply_landlock(Files files) {
  const int version = landlock_version();
  if (version == 0) return true;
  const Rules rules = all_of(version);
  const UniqueFd ruleset(static_cast<int>(::syscall(SYS_landlock_create_ruleset, &rules, sizeof rules, 0U)));
  if (!ruleset) return false;
  if (files == Files::kToRead) {
    const UniqueFd root(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
    landlock_path_beneath_attr everything{};
    everything.allowed_access = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR;
    everything.parent_fd = root.get();
    if (!root || ::syscall(SYS_landlock_add_rule, ruleset.get(), LANDLOCK_RULE_PATH_BENEATH, &everything, 0U) != 0) return false;
  }
  return ::syscall(SYS_landlock_restrict_self, ruleset.get(), 0U) == 0;
}

}  // namespace cicada::sandbox
