// SPDX-License-Identifier: Apache-2.0
// What happens to processes, for whoever embeds the engine. Called on the tracker's thread; must not block.
#pragma once
#include <functional>

#include "process/tracking/process_info.h"

namespace cicada::ingest {

struct LifecycleCallbacks {
  std::function<void(const process::ProcessInfo&)> on_fork, on_exec, on_exit;
};

}  // namespace cicada::ingest
