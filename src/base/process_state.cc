// SPDX-License-Identifier: Apache-2.0
#include "base/process_state.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <string_view>

#include "base/unique_fd.h"

namespace cicada {

bool is_runnable(pid_t child) {
  std::array<char, 64> stat{};  // "PID (NAME) STATE …"; a name has 15 characters, a kernel worker's 63, which is no child
  std::snprintf(stat.data(), stat.size(), "/proc/%d/stat", child);
  const UniqueFd file(::open(stat.data(), O_RDONLY | O_CLOEXEC));
  const ssize_t got = ::read(file.get(), stat.data(), stat.size());
  const std::string_view text(stat.data(), static_cast<size_t>(std::max<ssize_t>(got, 0)));
  const size_t name_end = text.rfind(") ");
  return name_end != std::string_view::npos && text.substr(name_end + 2).starts_with('R');
}

}  // namespace cicada
