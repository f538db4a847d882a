// SPDX-License-Identifier: Apache-2.0
#include "ingest/thread_times.h"

#include <algorithm>

#include "ingest/thread_table.h"

namespace cicada::ingest {

void ThreadTimes::take(const thread_time& thread, uint64_t now_ns) {
  const auto seen = seen_.find(thread.tid);
  uint64_t before_ns = 0;
  if (seen != seen_.end() && seen->second.start_ns == thread.start_ns) before_ns = seen->second.ran_ns;
  else if (thread.start_ns < since_boot_ns_) before_ns = thread.ran_ns;  // one that lived before, and was not seen
  if (thread.lives != 0) seen_[thread.tid] = {thread.start_ns, is_over_ ? ~uint64_t{0} : thread.ran_ns};
  else if (seen != seen_.end()) seen_.erase(seen);
  const uint64_t ran_ns = thread.ran_ns - std::min<uint64_t>(thread.ran_ns, before_ns);
  if (ran_ns == 0 && thread.lives != 0 && !is_over_) return;  // more will come
  waiting_.push_back({thread, now_ns});
  waiting_.back().thread.ran_ns = ran_ns;
  if (waiting_.size() > kMostWaiting) pass_on();
}

void ThreadTimes::pass_on() {
  threads_.add_cpu_time(waiting_.front().thread);
  waiting_.pop_front();
}

void ThreadTimes::settle(uint64_t now_ns) {
  while (!waiting_.empty() && waiting_.front().came_ns + kPatienceNs < now_ns) pass_on();
}

void ThreadTimes::settle_all() {
  while (!waiting_.empty()) pass_on();
}

}  // namespace cicada::ingest
