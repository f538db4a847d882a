// SPDX-License-Identifier: Apache-2.0
// Which capability gives what: the one table that `doctor` and every refusal read.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace cicada::bpf_source {

struct Privilege {
  int bit;                // linux/capability.h
  const char* name;       // "cap_perfmon"
  bool of_sys_admin;      // cap_sys_admin, which it was once a part of, gives it, too
  bool required;          // without it nothing can be recorded
  const char* gives;
};

// In a container's pid namespace the kernel's pids are strangers.
inline constexpr const char* kPidNamespaceRemedy =
    "run cicada on the host, or the container with `docker run --privileged --pid=host …` (podman: the same, as root; Kubernetes: hostPID: true and "
    "securityContext: {privileged: true})";

// Of the calling process, those that it lacks.
std::vector<Privilege> missing_privileges();
std::vector<Privilege> missing_privileges(uint64_t held);
// Gives up, for the calling thread and those that it starts, what recording does not need; a program that root runs has all of root's again.
// Before any thread is started.
void keep_needed_privileges();
// "sudo setcap cap_perfmon,…=ep …": all of them.
std::string privileges_remedy();

}  // namespace cicada::bpf_source
