// SPDX-License-Identifier: Apache-2.0
#include "bpf_source/blocked_threads.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <vector>

#include "abi/records.h"
#include "process/procfs/stack_reader.h"

namespace cicada::bpf_source {
namespace {

// The next one. False: no more.
template <typename T>
Result<bool> read_next(int look, T& thread) {
  for (;;) {
    const ssize_t got = ::read(look, &thread, sizeof thread);
    if (got >= 0) return got == sizeof thread;
    if (errno != EAGAIN && errno != EINTR) return errno_error(errno, "off-cpu: look at all threads");  // EAGAIN: a million that were not wanted
  }
}

template <typename T>
std::span<const uint8_t> bytes_of(const T& record) {
  return {reinterpret_cast<const uint8_t*>(&record), sizeof record};
}

class Taker {
 public:
  explicit Taker(const BlockedRecords& records) : records_(records) {}

  // At once: it may run on at any moment.
  void take(blocked_thread& thread) {
    sample_record& sample = thread.sample;
    auto& request = *reinterpret_cast<unwind_request*>(thread.request);
    std::optional<process::StackReader::Copy> copy;
    if ((sample.flags & SAMPLE_DEFERRED) != 0) copy = stacks_.read(sample.pid, sample.tid, request.gpr[ARCH_SP] - ARCH_RED_ZONE, thread.turns);
    if (!copy) sample.flags &= static_cast<uint8_t>(~SAMPLE_DEFERRED);
    records_.drain_ring();
    records_.take(bytes_of(sample));
    if (!copy) return;
    request.pages = copy->pages;
    request.stack_bytes = static_cast<uint32_t>(copy->bytes.size());
    words_.resize((sizeof request + copy->bytes.size()) / sizeof(uint64_t));
    auto* record = reinterpret_cast<uint8_t*>(words_.data());
    std::memcpy(record, &request, sizeof request);
    std::memcpy(record + sizeof request, copy->bytes.data(), copy->bytes.size());
    records_.take({record, words_.size() * sizeof(uint64_t)});
  }

 private:
  const BlockedRecords& records_;
  process::StackReader stacks_;
  std::vector<uint64_t> words_;
};

}  // namespace

Result<void> note_blocked_threads(BpfObject& kernel) {
  const UniqueFd look = TRY(kernel.look_at_threads(BLOCKED_NOTE));
  blocked_thread none;
  while (TRY(read_next(look.get(), none))) {
  }
  return {};
}

Result<void> take_blocked_threads(BpfObject& kernel, const BlockedRecords& records) {
  const UniqueFd look = TRY(kernel.look_at_threads(BLOCKED_TAKE));
  Taker taker(records);
  blocked_thread thread;
  while (TRY(read_next(look.get(), thread))) taker.take(thread);
  return {};
}

Result<void> take_thread_times(BpfObject& kernel, const std::function<void(std::span<const uint8_t> record)>& take) {
  const UniqueFd look = TRY(kernel.look_at_thread_times());
  thread_time thread;
  while (TRY(read_next(look.get(), thread))) take(bytes_of(thread));
  return {};
}

}  // namespace cicada::bpf_source
