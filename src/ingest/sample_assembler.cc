// SPDX-License-Identifier: Apache-2.0
#include "ingest/sample_assembler.h"

#include <utility>

#include "ingest/stale_stacks.h"
#include "ingest/wait_state.h"

namespace cicada::ingest {

void SampleAssembler::add(const sample_record& sample, uint64_t arrived_ns) {
  ++counts_[sample.event].samples;
  if ((sample.flags & SAMPLE_DEFERRED) == 0) {
    wait(sample, arrived_ns);
    return;
  }
  const auto [at, added] = requesting_.try_emplace({sample.tid, sample.event}, Requesting{sample, arrived_ns});
  if (added) return;
  const Requesting before = std::exchange(at->second, {sample, arrived_ns});  // its request was lost
  wait(before.sample, before.arrived_ns);
}

bool SampleAssembler::add(const UnwindRequest& request) {
  const auto of_thread = [&](const auto& at) { return at != requesting_.end() && at->first.first == request.head->tid; };
  auto at = requesting_.lower_bound({request.head->tid, uint8_t{0}});
  while (of_thread(at) && at->second.sample.time_ns != request.head->time_ns) ++at;
  if (!of_thread(at)) return false;
  const Requesting requesting = at->second;
  requesting_.erase(at);
  if (submit_({requesting.sample, requesting.arrived_ns, copies_.copy(request.bytes)})) return true;
  ++requests_refused_;
  wait(requesting.sample, requesting.arrived_ns);
  return true;
}

void SampleAssembler::add(const FinishedWalk& walk) {
  sample_record sample = walk.sample;
  sample.end_reason = walk.end_reason;
  wait(sample, walk.arrived_ns, stacks_.continue_user_stack(sample.user_stack, walk.frames, sample.address_space));
}

void SampleAssembler::give_up_requests(uint64_t emptied_ns) {
  std::erase_if(requesting_, [&](const auto& entry) {
    const Requesting& requesting = entry.second;
    if (emptied_ns <= requesting.arrived_ns + PendingSamples::kMaxWaitNs) return false;
    wait(requesting.sample, requesting.arrived_ns);
    return true;
  });
}

void SampleAssembler::flush_ready(uint64_t now_ns) {
  const uint64_t watermark = mappings_.watermark_ns();
  while (const PendingSample* oldest = pending_.ready(watermark, now_ns)) {
    const bool overdue = pending_.overdue(*oldest, now_ns);
    if (!store(*oldest, !overdue, overdue && !is_known(oldest->sample))) return;
    pending_.pop();
  }
}

void SampleAssembler::flush() {
  for (const auto& [of, requesting] : requesting_) {
    wait(requesting.sample, requesting.arrived_ns);
  }
  requesting_.clear();
  while (const PendingSample* oldest = pending_.ready(0, ~uint64_t{0})) {
    store(*oldest, false, !is_known(oldest->sample));
    pending_.pop();
  }
}

bool SampleAssembler::store(const PendingSample& pending, bool may_wait, bool is_late) {
  const sample_record& sample = pending.sample;
  UserStack user{pending.user ? pending.user : stacks_.find_user(sample.user_stack), sample.end_reason};
  if (is_late && (!user.id || user.id->valid())) {
    user = {profile::StackId(), END_MAPPING_LATE};
    ++late_;
  } else if (!cut_stale(sample, user, may_wait)) {
    return false;
  }
  store(sample, pending.thread, user);
  return true;
}

bool SampleAssembler::cut_stale(const sample_record& sample, UserStack& user, bool may_wait) {
  if (!user.id || sample.time_ns >= mappings_.stale_until_ns()) return true;
  const auto stale = mappings_.find_stale(sample.address_space, sample.pid, sample.time_ns, false);
  const auto corrected = correct_stale(stacks_, profile_, *user.id, stale, sample.address_space);
  if (!corrected) return true;
  if (corrected->pending && may_wait) return false;
  user = {corrected->user, END_STALE_MAPPING};
  ++stale_;
  return true;
}

void SampleAssembler::store(const sample_record& sample, profile::ThreadId thread, const UserStack& user) {
  const auto stack = user.id ? stacks_.find_above(*user.id, sample.kernel_stack) : std::nullopt;
  if (!stack) {
    ++counts_[sample.event].lost_stack;
    counts_[sample.event].lost_value += sample.value;
    return;
  }
  profile_.append_sample({.time_ns = sample.time_ns,
                          .thread = thread,
                          .stack = *stack,
                          .value = sample.value,
                          .lasted_ns = sample.group == GROUP_NONE && sample.begin_ns != 0 && sample.begin_ns < sample.time_ns ? sample.time_ns - sample.begin_ns : 0,
                          .labels = (sample.flags & SAMPLE_IDLE) != 0 ? profile::LabelSetId() : labels_.find_or_add(sample),
                          .cpu = sample.cpu,
                          .event = {sample.event},
                          .end_reason = user.end_reason < END_REASON_COUNT ? user.end_reason : uint8_t{END_NONE},
                          .in_kernel = (sample.flags & SAMPLE_IN_KERNEL) != 0,
                          .idle = (sample.flags & SAMPLE_IDLE) != 0});
}

}  // namespace cicada::ingest
