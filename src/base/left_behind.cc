// SPDX-License-Identifier: Apache-2.0
#include "base/left_behind.h"

#include <poll.h>
#include <sys/wait.h>

#include <algorithm>

namespace cicada {
namespace {

bool has_ended(const UniqueFd& process) {
  pollfd polled{process.get(), POLLIN, 0};
  if (::poll(&polled, 1, 0) <= 0) return false;
  siginfo_t info{};
  ::waitid(static_cast<idtype_t>(P_PIDFD), static_cast<id_t>(process.get()), &info, WEXITED | WNOHANG | __WALL);
  return true;
}

}  // namespace

LeftBehind& LeftBehind::all() {
  static LeftBehind& all = *new LeftBehind;  // for ever: a thread of who embeds us may outlive main()
  return all;
}

bool LeftBehind::has_room(uint32_t owner) {
  const std::lock_guard lock(mutex_);
  std::erase_if(left_, [](const Left& left) { return has_ended(left.process); });
  const auto count = [&](auto counts) { return static_cast<size_t>(std::count_if(left_.begin(), left_.end(), counts)); };
  if (count([&](const Left& left) { return left.owner == owner; }) >= (owner == 0 ? kMaxOfRoot : kMaxOfOne)) return false;
  return owner == 0 || count([](const Left& left) { return left.owner != 0; }) < kMaxOfUsers;
}

void LeftBehind::add(uint32_t owner, UniqueFd process) {
  const std::lock_guard lock(mutex_);
  left_.push_back({owner, std::move(process)});
}

}  // namespace cicada
