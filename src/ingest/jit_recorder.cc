// SPDX-License-Identifier: Apache-2.0
#include "ingest/jit_recorder.h"

#include <algorithm>

#include "base/diagnostics.h"
#include "process/procfs/proc_fs.h"

namespace cicada::ingest {

JitRecorder::JitRecorder(std::shared_ptr<process::ProcReaders> readers, std::string proc) : proc_(std::move(proc)), access_(std::move(readers)) {}

void JitRecorder::note_sampled(const std::vector<JitProcess>& processes) {
  for (const JitProcess& process : processes) add(process);
  if (!queue_) return;
  read_of_ended();
  for (auto& [process, open] : open_) {
    if (open.job != 0 && !queue_->wait(open.job, std::chrono::milliseconds(0))) continue;
    open.job = 0;
    if (open.files->next() <= JitFiles::Clock::now()) read(open, false);
  }
}

void JitRecorder::add(const JitProcess& process) {
  if (open_.contains(process)) return;
  const uint32_t uid = process::owner_of(process.pid);
  if (!has_room(uid)) {
    diagnostics().warn("JIT code", "too many processes run JIT code, more than {} of one user or {} in all; that of the others has no names",
                       kMaxProcesses / 2, kMaxProcesses);
    return;
  }
  if (!queue_) {
    queue_.emplace(WorkQueue::Options{.thread_name = "cicada-jit", .workers = 2, .of_one_owner = 1});
    active_ = true;
  }
  open_[process] = {uid, std::make_shared<JitFiles>(process, proc_, access_, names_), 0};
}

bool JitRecorder::has_room(uint32_t uid) const {
  const auto of_user = std::count_if(open_.begin(), open_.end(), [&](const auto& entry) { return entry.second.uid == uid; });
  return open_.size() < kMaxProcesses && static_cast<size_t>(of_user) < kMaxProcesses / 2;
}

void JitRecorder::read(Open& open, bool last) {
  open.job = queue_->submit({.owner = open.uid, .run = [files = open.files, last](WorkQueue::Attempt& attempt) { files->read(last, attempt.stop_token()); }});
}

void JitRecorder::note_exit(Pid pid) {
  if (!active_.load(std::memory_order_relaxed)) return;
  const std::lock_guard lock(mutex_);
  exited_.push_back(pid);
}

void JitRecorder::read_of_ended() {
  std::vector<Pid> exited;
  {
    const std::lock_guard lock(mutex_);
    std::swap(exited, exited_);
  }
  for (const Pid pid : exited) {
    for (auto at = open_.lower_bound({pid, 0, 0}); at != open_.end() && at->first.pid == pid; at = open_.erase(at)) read(at->second, true);
  }
}

std::vector<symbolize::JitSymbol> JitRecorder::take_new() { return names_.take(); }

void JitRecorder::finish() {
  if (!queue_) return;
  active_ = false;
  read_of_ended();
  for (auto& [process, open] : open_) read(open, true);
  open_.clear();
  if (!queue_->wait_idle(kFinishTimeout)) diagnostics().warn("JIT code", "the maps of JIT code take too long to read; some of it has no names");
  queue_.reset();
}

}  // namespace cicada::ingest
