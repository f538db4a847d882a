// SPDX-License-Identifier: Apache-2.0
// Whether there is something to read now: data, an end, or of a pidfd that its process has ended.
#pragma once
#include <poll.h>

#include <algorithm>
#include <span>

namespace cicada {

inline bool is_readable(int fd) {
  pollfd polled{fd, POLLIN, 0};
  return ::poll(&polled, 1, 0) > 0;
}

inline bool any_readable(std::span<const int> fds) { return std::ranges::any_of(fds, is_readable); }

}  // namespace cicada
