// SPDX-License-Identifier: Apache-2.0
#include "collect/process_describer.h"

#include <sys/prctl.h>

#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

namespace cicada::collect {
namespace {

constexpr auto kPatience = std::chrono::milliseconds(200);

}  // namespace

struct ProcessDescriber::State {
  std::shared_ptr<process::ProcessMetadataCache> cache;
  const bool environments;
  mutable std::mutex mutex;
  std::condition_variable work, idle;
  std::deque<ProcessKey> queue;
  bool busy = false, stopping = false, ended = false;
  uint64_t refused = 0;

  State(std::shared_ptr<process::ProcessMetadataCache> c, bool e) : cache(std::move(c)), environments(e) {}

  void run() {
    ::prctl(PR_SET_NAME, "cicada-describe");
    std::unique_lock lock(mutex);
    for (;;) {
      work.wait(lock, [&] { return stopping || !queue.empty(); });
      if (stopping) break;
      const ProcessKey key = queue.front();
      queue.pop_front();
      busy = true;
      lock.unlock();
      if (cache->cgroup(key)) {  // else it has gone
        cache->cmdline(key);
        if (environments) cache->environ(key);
      }
      lock.lock();
      busy = false;
      if (queue.empty()) idle.notify_all();
    }
    ended = true;
    idle.notify_all();
  }
};

ProcessDescriber::ProcessDescriber(std::shared_ptr<process::ProcessMetadataCache> cache, bool environments)
    : state_(std::make_shared<State>(std::move(cache), environments)) {
  std::thread([state = state_] { state->run(); }).detach();
}

ProcessDescriber::~ProcessDescriber() {
  std::unique_lock lock(state_->mutex);
  state_->stopping = true;
  state_->work.notify_all();
  state_->idle.wait_for(lock, kPatience, [&] { return state_->ended; });
}

void ProcessDescriber::request(ProcessKey key) {
  const std::lock_guard lock(state_->mutex);
  if (state_->queue.size() >= kMaxQueued) {
    ++state_->refused;
    return;
  }
  state_->queue.push_back(key);
  state_->work.notify_one();
}

void ProcessDescriber::sync() {
  std::unique_lock lock(state_->mutex);
  state_->idle.wait_for(lock, kPatience, [&] { return state_->queue.empty() && !state_->busy; });
}

uint64_t ProcessDescriber::refused() const {
  const std::lock_guard lock(state_->mutex);
  return state_->refused;
}

}  // namespace cicada::collect
