// SPDX-License-Identifier: Apache-2.0
#include "base/descriptor_limit.h"

#include <fcntl.h>
#include <sys/resource.h>

#include <algorithm>

namespace cicada {
namespace {

rlimit g_found{};
bool g_raised = false;

}  // namespace

void raise_descriptor_limit() {
  rlimit limit{};
  if (g_raised || ::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= kWantedDescriptors) return;
  const rlimit raised{std::min<rlim_t>(kWantedDescriptors, limit.rlim_max), limit.rlim_max};
  if (::setrlimit(RLIMIT_NOFILE, &raised) != 0) return;
  g_found = limit;
  g_raised = true;
}

void restore_descriptor_limit() {
  if (g_raised) ::setrlimit(RLIMIT_NOFILE, &g_found);
}

ReservedDescriptors::ReservedDescriptors(size_t count) {
  const UniqueFd nowhere(::open("/dev/null", O_PATH | O_CLOEXEC));
  while (nowhere && held_.size() < count) {
    UniqueFd copy(::fcntl(nowhere.get(), F_DUPFD_CLOEXEC, 0));
    if (!copy) break;
    held_.push_back(std::move(copy));
  }
}

}  // namespace cicada
