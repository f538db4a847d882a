// SPDX-License-Identifier: Apache-2.0
// Finds the processes that -p and -t mean, among those that run now.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "base/process_key.h"
#include "base/result.h"

namespace cicada::cli {

// "1234" or a name, compared with the process' comm and with the last part of its executable's path; never cicada
// itself. Every match, ascending. Fails: kGone (no such pid, or a zombie), kNotFound (nothing of that name).
Result<std::vector<Pid>> find_processes(std::string_view pid_or_name);

// These and what they have started, and so on, as far as it runs; ascending.
Result<std::vector<Pid>> with_descendants(std::vector<Pid> pids);

// Fails: kGone (no such thread), kInvalid (not a number).
Result<Tid> find_thread(std::string_view text);

}  // namespace cicada::cli
