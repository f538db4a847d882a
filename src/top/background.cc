// SPDX-License-Identifier: Apache-2.0
#include "top/background.h"

#include <sys/eventfd.h>
#include <sys/prctl.h>

#include <chrono>
#include <thread>
#include <utility>

#include "base/catching.h"

namespace cicada::top {
namespace {

constexpr std::chrono::milliseconds kEndTimeout(500);

}  // namespace

Result<std::unique_ptr<Background>> Background::start(const char* name) {
  const auto state = std::make_shared<State>();
  state->ended_fd.reset(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!state->ended_fd) return errno_error(errno, "eventfd");
  return catching(name, [&]() -> Result<std::unique_ptr<Background>> {
    std::thread([state, name] { work(*state, name); }).detach();
    return std::unique_ptr<Background>(new Background(state));
  });
}

Background::~Background() {
  std::unique_lock lock(state_->mutex);
  state_->leaves = true;
  state_->given.notify_all();
  state_->idle.wait_for(lock, kEndTimeout, [&] { return !state_->busy; });
}

void Background::run(Job job) {
  const std::lock_guard lock(state_->mutex);
  state_->jobs.push_back(std::move(job));
  state_->given.notify_all();
}

std::deque<Background::End> Background::take() {
  const std::lock_guard lock(state_->mutex);
  eventfd_t ignored;
  static_cast<void>(::eventfd_read(state_->ended_fd.get(), &ignored));
  return std::exchange(state_->ends, {});
}

void Background::work(State& state, const char* name) {
  ::prctl(PR_SET_NAME, name);
  for (;;) {
    std::unique_lock lock(state.mutex);
    state.given.wait(lock, [&] { return state.leaves || !state.jobs.empty(); });
    if (state.leaves) return;
    Job job = std::move(state.jobs.front());
    state.jobs.pop_front();
    state.busy = true;
    lock.unlock();
    End end = job();
    job = nullptr;  // what it has is not kept
    lock.lock();
    state.busy = false;
    state.ends.push_back(std::move(end));
    ::eventfd_write(state.ended_fd.get(), 1);
    state.idle.notify_all();
  }
}

}  // namespace cicada::top
