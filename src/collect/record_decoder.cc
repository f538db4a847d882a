// SPDX-License-Identifier: Apache-2.0
#include "collect/record_decoder.h"

#include <cstring>
#include <utility>

namespace cicada::collect {
namespace {

constexpr size_t kMaxJitProcesses = 1 << 16;

// Whether a user stack that ended so is whole; END_NONE has no user stack to be incomplete.
constexpr bool is_complete(uint8_t end_reason) {
  switch (end_reason) {
#define X(name, complete, text) \
  case END_##name: return (complete) != 0 || END_##name == END_NONE;
    CICADA_END_REASONS(X)
#undef X
    default: return false;
  }
}

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
    case RECORD_RESCUE: on_rescue(record); return;
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
  if (sample.address_space != 0) sampled_spaces_.insert(sample.address_space);
  if (sample.end_reason == END_NO_TABLE) {
    if (const uint32_t image = stacks_.outermost_image(sample.user_stack)) loader_.request_again(image);
  }
  if ((sample.flags & SAMPLE_RESCUE) != 0) {
    const auto before = waiting_.find(sample.cpu);
    if (before != waiting_.end()) store_unfinished(before->second, before->second.end_reason);
    waiting_[sample.cpu] = sample;
    return;
  }
  store_unfinished(sample, sample.end_reason);
}

void RecordDecoder::on_rescue(std::span<const uint8_t> record) {
  if (record.size() < sizeof(rescue_record)) {
    ++counts_.malformed;
    return;
  }
  const auto& start = *reinterpret_cast<const rescue_record*>(record.data());
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
    store_unfinished(sample, sample.end_reason);
  }
}

void RecordDecoder::take_rescued() {
  for (const RescueResult& result : rescuer_.take()) {
    const profile::StackId user = stacks_.continue_user_stack(result.sample.user_stack, result.frames, result.sample.address_space);
    store(result.sample, stacks_.find_above(user, result.sample.kernel_stack), result.end_reason);
  }
}

void RecordDecoder::flush() {
  for (const auto& [cpu, sample] : waiting_) store_unfinished(sample, sample.end_reason);
  waiting_.clear();
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

void RecordDecoder::store_unfinished(const sample_record& sample, uint8_t end_reason) {
  store(sample, stacks_.find(sample.user_stack, sample.kernel_stack), end_reason);
}

void RecordDecoder::store(const sample_record& sample, std::optional<profile::StackId> stack, uint8_t end_reason) {
  if (!stack) {
    ++counts_.lost_stack;
    return;
  }
  if (stacks_.has_generated_code(sample.address_space) && jit_processes_.size() < kMaxJitProcesses) {
    const JitProcess process{sample.pid, sample.start_ticks_low, sample.address_space};
    if (jit_processes_.insert(process).second) new_jit_processes_.push_back(process);
  }
  ++counts_.end_reasons[end_reason < END_REASON_COUNT ? end_reason : 0];
  profile::Sample out;
  out.time_ns = sample.time_ns;
  out.thread = threads_.find_or_add(sample);
  out.stack = *stack;
  out.value = sample.weight;
  out.cpu = sample.cpu;
  if ((sample.flags & SAMPLE_IN_KERNEL) != 0) out.flags |= profile::kFlagInKernel;
  if ((sample.flags & SAMPLE_IDLE) != 0) out.flags |= profile::kFlagIdle;
  if (!is_complete(end_reason)) out.flags |= profile::kFlagIncomplete;
  out.flags = static_cast<uint8_t>(out.flags | (end_reason << 4));
  profile_.append_sample(out);
}

}  // namespace cicada::collect
