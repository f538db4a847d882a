// SPDX-License-Identifier: Apache-2.0
// Of what is recorded only these tasks: --user, --comm, --thread-name, --cgroup. The kernel side compares (bpf/asked.bpf.h).
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "abi/settings.h"
#include "base/result.h"

namespace cicada::cli {

// As given; each may be a list with commas. A name that ends in '*' stands for all that begin so.
struct RawAskedTasks {
  std::vector<std::string> users, processes, threads, cgroups;
  bool empty() const { return users.empty() && processes.empty() && threads.empty() && cgroups.empty(); }
};

// Fails: kInvalid (no name, too many), kNotFound (no such user, no such control group, or a container id that fits several).
Result<asked_tasks> find_asked_tasks(const RawAskedTasks& raw);

// In the words of the command line: "user www-data, comm nginx".
std::string describe(const RawAskedTasks& raw);

// A control group of the hierarchy that is mounted at `mount_point`: its path there or from the root of the file system, or part of a container's id, which a
// directory's name contains. Fails as above.
Result<asked_cgroup> find_cgroup(const std::string& mount_point, std::string_view text);

}  // namespace cicada::cli
