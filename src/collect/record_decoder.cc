// SPDX-License-Identifier: Apache-2.0
#include "collect/record_decoder.h"

#include <cstring>
#include <utility>

#include "collect/replaced_code.h"

namespace cicada::collect {
namespace {

constexpr size_t kMaxJitProcesses = 1 << 16;

template <typename T>
bool read_head(std::span<const uint8_t> record, T& head) {
  if (record.size() < sizeof(T)) return false;
  std::memcpy(&head, record.data(), sizeof(T));
  return true;
}

}  // namespace

void RecordDecoder::decode(std::span<const uint8_t> record) {
  uint32_t kind = 0;
  if (!read_head(record, kind)) {
    ++counts_.malformed;
    return;
  }
  switch (kind) {
    case RECORD_SAMPLE: {
      sample_record sample{};
      if (read_head(record, sample)) {
        on_sample(sample);
        return;
      }
      break;
    }
    case RECORD_STACK: {
      stack_record head{};
      if (!read_head(record, head) || record.size() < sizeof head + head.frame_count * sizeof(uint64_t)) break;
      stacks_.add(head, {reinterpret_cast<const uint64_t*>(record.data() + sizeof head), head.frame_count});
      return;
    }
    case RECORD_UNWIND_REQUEST: on_rescue(record); return;
    case RECORD_FORK:
    case RECORD_EXEC:
    case RECORD_EXIT:
    case RECORD_MISS: {
      lifecycle_record event{};
      if (!read_head(record, event)) break;
      ++counts_.lifecycle;
      tracker_.push(event);
      return;
    }
    default: break;
  }
  ++counts_.malformed;
}

void RecordDecoder::on_sample(const sample_record& sample) {
  ++counts_.samples;
  sampled_processes_.insert(sample.pid);
  // At once, not when it is stored: both read of processes that may end meanwhile.
  note_generated_code(sample);
  threads_.find_or_add(sample);
  if (sample.address_space != 0) sampled_spaces_.insert(sample.address_space);
  if (sample.end_reason == END_NO_TABLE) {
    if (const uint32_t image = stacks_.outermost_image(sample.user_stack)) loader_.request_again(image);
  }
  if ((sample.flags & SAMPLE_DEFERRED) != 0) {
    const auto before = waiting_.find(sample.cpu);
    if (before != waiting_.end()) hold(before->second);
    waiting_[sample.cpu] = sample;
    return;
  }
  hold(sample);
}

void RecordDecoder::on_rescue(std::span<const uint8_t> record) {
  if (record.size() < sizeof(unwind_request)) {
    ++counts_.malformed;
    return;
  }
  const auto& start = *reinterpret_cast<const unwind_request*>(record.data());
  if (record.size() < sizeof start + start.stack_bytes) {
    ++counts_.malformed;
    return;
  }
  const auto waiting = waiting_.find(start.cpu);
  if (waiting == waiting_.end() || waiting->second.time_ns != start.time_ns) {
    ++counts_.malformed;
    return;
  }
  const sample_record sample = waiting->second;
  waiting_.erase(waiting);
  if (!rescuer_.submit({sample, {record.begin(), record.end()}})) {
    ++counts_.rescue_queue_full;
    hold(sample);
  }
}

void RecordDecoder::take_rescued() {
  for (const RescueResult& result : rescuer_.take()) {
    const sample_record& sample = result.sample;
    UserStack user{stacks_.continue_user_stack(sample.user_stack, result.frames, sample.address_space), result.end_reason};
    note_generated_code(sample);
    correct(sample, user, true, false);
    store(sample, threads_.find_or_add(sample), user);
  }
}

void RecordDecoder::flush() {
  for (const auto& [cpu, sample] : waiting_) hold(sample);
  waiting_.clear();
  const uint64_t horizon = tracker_.horizon();
  while (const HeldSample* oldest = held_.ready(0, ~uint64_t{0})) {
    if (horizon <= oldest->sample.time_ns) ++counts_.unverified;
    store(*oldest, false);
    held_.pop();
  }
}

void RecordDecoder::hold(const sample_record& sample) { held_.push({sample, threads_.find_or_add(sample), monotonic_ns()}); }

void RecordDecoder::store_held() {
  const uint64_t horizon = tracker_.horizon();
  const uint64_t now = monotonic_ns();
  while (const HeldSample* oldest = held_.ready(horizon, now)) {
    const bool overdue = held_.overdue(*oldest, now);
    if (!store(*oldest, !overdue)) return;
    if (horizon <= oldest->sample.time_ns) ++counts_.unverified;
    held_.pop();
  }
}

bool RecordDecoder::store(const HeldSample& held, bool may_wait) {
  const sample_record& sample = held.sample;
  UserStack user{stacks_.find_user(sample.user_stack), sample.end_reason};
  if (!correct(sample, user, false, may_wait)) return false;
  store(sample, held.thread, user);
  return true;
}

bool RecordDecoder::correct(const sample_record& sample, UserStack& user, bool finished_later, bool may_wait) {
  const process::ProcessTable& table = tracker_.table();
  if (!user.id || sample.time_ns >= table.stale_until_ns()) return true;
  const auto stale = table.find_stale(sample.address_space, sample.pid, sample.time_ns, finished_later);
  const auto corrected = correct_replaced(stacks_, profile_, *user.id, stale, sample.address_space, sample.time_ns);
  if (!corrected) return true;
  if (corrected->pending && may_wait) return false;
  user = {corrected->user, END_STALE_MAPPING};
  ++counts_.replaced_code;
  return true;
}

std::vector<Pid> RecordDecoder::take_sampled_processes() {
  std::vector<Pid> processes(sampled_processes_.begin(), sampled_processes_.end());
  sampled_processes_.clear();
  return processes;
}

std::vector<uint32_t> RecordDecoder::take_sampled_spaces() {
  std::vector<uint32_t> spaces(sampled_spaces_.begin(), sampled_spaces_.end());
  sampled_spaces_.clear();
  return spaces;
}

std::vector<JitProcess> RecordDecoder::take_jit_processes() { return std::exchange(new_jit_processes_, {}); }

void RecordDecoder::note_generated_code(const sample_record& sample) {
  if (!stacks_.has_generated_code(sample.address_space) || jit_processes_.size() >= kMaxJitProcesses) return;
  const JitProcess process{sample.pid, sample.start_ticks_low, sample.address_space};
  if (jit_processes_.insert(process).second) new_jit_processes_.push_back(process);
}

void RecordDecoder::store(const sample_record& sample, profile::ThreadId thread, const UserStack& user) {
  const auto stack = user.id ? stacks_.find_above(*user.id, sample.kernel_stack) : std::nullopt;
  if (!stack) {
    ++counts_.lost_stack;
    return;
  }
  ++counts_.end_reasons[user.end_reason < END_REASON_COUNT ? user.end_reason : 0];
  profile::Sample out;
  out.time_ns = sample.time_ns;
  out.thread = thread;
  out.stack = *stack;
  out.value = sample.value;
  out.event = {sample.event};
  out.cpu = sample.cpu;
  out.in_kernel = (sample.flags & SAMPLE_IN_KERNEL) != 0;
  out.idle = (sample.flags & SAMPLE_IDLE) != 0;
  out.end_reason = user.end_reason < END_REASON_COUNT ? user.end_reason : uint8_t{END_NONE};
  profile_.append_sample(out);
}

}  // namespace cicada::collect
