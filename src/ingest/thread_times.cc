// SPDX-License-Identifier: Apache-2.0
#include "ingest/thread_times.h"

#include <optional>

#include "ingest/thread_table.h"

namespace cicada::ingest {

void ThreadTimes::take(const thread_time& thread, uint64_t now_ns) {
  const auto found = seen_.find(thread.tid);
  std::optional<uint64_t> before_ns;
  const bool is_known = found != seen_.end() && found->second.start_ns == thread.start_ns;
  if (is_known) before_ns = found->second.ran_ns;
  else if (thread.start_ns >= since_boot_ns_) before_ns = 0;
  const bool counts = !is_known || !found->second.is_over;
  if (thread.lives != 0) seen_[thread.tid] = {thread.start_ns, thread.ran_ns, is_over_};
  else if (is_known) seen_.erase(found);
  if (!before_ns || !counts) return;
  // Another thread under this id: one that is not its process's first calls exec, and takes the first one's place.
  if (thread.ran_ns < *before_ns || thread.ran_ns - *before_ns > now_ns - began_ns_ + kTickNs) return;
  waiting_.push_back({thread, now_ns});
  waiting_.back().thread.ran_ns -= *before_ns;
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
