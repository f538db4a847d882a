// SPDX-License-Identifier: Apache-2.0
#include "engine/live_functions.h"

#include <sys/resource.h>

#include <condition_variable>

namespace cicada::engine {
namespace {

constexpr int kNice = 10;  // as the threads that look names up

}  // namespace

LiveFunctions::LiveFunctions(const Snapshots& snapshots, profile::CallTreeOptions options, std::chrono::milliseconds interval)
    : snapshots_(snapshots), interval_(interval), tree_(std::move(options)), latest_(std::make_shared<FunctionsOfSnapshot>(snapshots.latest())) {
  thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

std::shared_ptr<const FunctionsOfSnapshot> LiveFunctions::latest() const {
  const std::lock_guard lock(mutex_);
  return latest_;
}

void LiveFunctions::run(const std::stop_token& stop) {
  ::setpriority(PRIO_PROCESS, 0, kNice);  // of this thread
  std::mutex never;
  std::condition_variable_any stopped;
  while (!stop.stop_requested()) {
    const auto now = snapshots_.latest();
    tree_.update(*now);
    auto made = std::make_shared<const FunctionsOfSnapshot>(now, tree_.functions().rows(), tree_.tree().strings.log(), tree_.tree().total());
    {
      const std::lock_guard lock(mutex_);
      latest_.swap(made);
    }
    made.reset();
    std::unique_lock lock(never);
    stopped.wait_for(lock, stop, interval_, [] { return false; });
  }
}

}  // namespace cicada::engine
