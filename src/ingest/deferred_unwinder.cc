// SPDX-License-Identifier: Apache-2.0
#include "ingest/deferred_unwinder.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <thread>
#include <unordered_map>

#include "base/diagnostics.h"
#include "base/monotonic_clock.h"
#include "base/unique_fd.h"
#include "profile/completeness.h"
#include "unwind/walk/deferred_walk.h"

namespace cicada::ingest {
namespace {

constexpr uint64_t in_ns(std::chrono::nanoseconds time) { return static_cast<uint64_t>(time.count()); }

}  // namespace

// The sample's address space as it was mapped. What is not mapped yet may be a moment later: asks again until kMaxWaitForOne
// after the sample, or kMaxWait if it is expected, so a backlog of old jobs is not waited for. Reading memory of a process may hang (a page
// that its file system does not bring, a lock that another thread of it keeps); once stopped, nothing of ours is looked at any more.
class DeferredUnwinder::View final : public unwind::AddressSpaceView {
 public:
  View(const MappingHistory& mappings, ImageUnwinders& images, std::shared_ptr<const ReadMemory> read_memory, const unwind_request& start,
       std::stop_token stop)
      : mappings_(mappings),
        images_(images),
        read_memory_(std::move(read_memory)),
        stop_(std::move(stop)),
        pid_(static_cast<pid_t>(start.pid)),
        address_space_(start.address_space),
        time_ns_(start.time_ns) {}

  std::optional<Mapping> find_mapping(RuntimeAddr address) override {
    while (!stop_.stop_requested()) {
      const auto found = mappings_.find_mapping(address_space_, address);
      if (const auto replaced = find_replaced(address)) {
        const process::ImageBinding& was = replaced->was;
        if (was.state == process::BindingState::kImage) return Mapping{replaced->range, was.bias, was.image, 0};
        if (was.state == process::BindingState::kJit) return Mapping{replaced->range, 0, 0, MAPPING_JIT};
      } else if (found) {
        return Mapping{{RuntimeAddr(found->begin), RuntimeAddr(found->end)}, found->bias, found->image, found->flags};
      }
      const uint64_t now_ns = monotonic_ns();
      if (now_ns >= time_ns_ + in_ns(mappings_.is_expected(address_space_, address) ? kMaxWait : kMaxWaitForOne)) return std::nullopt;
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    return std::nullopt;
  }

  const unwind::ImageUnwinder* find_image(uint32_t image) override {
    if (stop_.stop_requested()) return nullptr;
    const auto [at, added] = held_.try_emplace(image);
    if (added) {
      if (auto unwinder = images_.get(image)) at->second = std::move(*unwinder);
    }
    return at->second.get();
  }

  // Another process may have the pid by now; its bytes hardly read as a trampoline, too.
  bool read_code(RuntimeAddr address, std::span<uint8_t> bytes) override { return (*read_memory_)(pid_, address, bytes); }

 private:
  // The first replacement since the sample's time: what it replaced was there then.
  std::optional<process::StaleMapping> find_replaced(RuntimeAddr address) const {
    std::optional<process::StaleMapping> first;
    if (time_ns_ >= mappings_.stale_until_ns()) return first;
    for (const process::StaleMapping& stale : mappings_.find_stale(address_space_, pid_, time_ns_, true)) {
      if (stale.since_ns > time_ns_ && stale.range.contains(address) && (!first || stale.since_ns < first->since_ns)) first = stale;
    }
    return first;
  }

  const MappingHistory& mappings_;
  ImageUnwinders& images_;
  const std::shared_ptr<const ReadMemory> read_memory_;
  const std::stop_token stop_;
  const pid_t pid_;
  const uint32_t address_space_;
  const uint64_t time_ns_;
  std::unordered_map<uint32_t, std::shared_ptr<const unwind::ImageUnwinder>> held_;
};

// By a file, whose reader can be killed: process_vm_readv() waits for the address space's lock as nobody can be.
bool DeferredUnwinder::read_process_memory(Pid pid, RuntimeAddr address, std::span<uint8_t> bytes) {
  const UniqueFd memory(::open(fmt::format("/proc/{}/mem", pid).c_str(), O_RDONLY | O_CLOEXEC));
  return memory &&
         ::pread(memory.get(), bytes.data(), bytes.size(), static_cast<off_t>(address.value)) == static_cast<ssize_t>(bytes.size());
}

DeferredUnwinder::DeferredUnwinder(MappingHistory& mappings, ImageUnwinders& images, TableRequests& tables, ReadMemory read_memory)
    : mappings_(mappings),
      images_(images),
      tables_(tables),
      read_memory_(std::make_shared<const ReadMemory>(std::move(read_memory))),
      queue_({.thread_name = "cicada-unwind", .workers = 2, .of_one_owner = 1, .max_bytes = kMaxQueuedBytes, .stop_timeout = kFinishTime}) {
}

DeferredUnwinder::~DeferredUnwinder() = default;

bool DeferredUnwinder::submit(UnwindJob job) {
  const size_t bytes = job.record.size();
  const sample_record sample = job.sample;
  const uint64_t arrived_ns = job.arrived_ns;
  return queue_.submit({.owner = sample.uid,
                        .bytes = bytes,
                        .timeout = kMaxWalk,
                        .run = [this, job = std::move(job)](WorkQueue::Attempt& attempt) { run(job, attempt); },
                        .give_up =
                            [this, sample, arrived_ns](const Error&) {
                              forget_walk(arrived_ns);
                              publish({sample, arrived_ns, {}, END_DEFERRED_FAILED});
                            }}) != 0;
}

std::vector<FinishedWalk> DeferredUnwinder::take() {
  const std::lock_guard lock(mutex_);
  return std::exchange(results_, {});
}

void DeferredUnwinder::finish() {
  if (!queue_.wait_idle(kFinishTime)) {
    hurry_ = true;
    images_.stop();
    diagnostics().warn("stacks", "not all that were left to user space are finished: it took too long");
    if (!queue_.wait_idle(kHangs)) queue_.give_up_overdue(WorkQueue::Clock::now() + kMaxWalk);
    queue_.wait_idle();  // another thread has the rest
  }
  queue_.stop();
}

void DeferredUnwinder::run(const UnwindJob& job, WorkQueue::Attempt& attempt) {
  FinishedWalk result{job.sample, job.arrived_ns, {}, END_DEFERRED_FAILED};
  if (!hurry_) {
    begin_walk(job.arrived_ns);
    wait_for_mappings(job.arrived_ns, attempt.stop_token());
    attempt.progress();
    result = finish_walk(job, attempt.stop_token());
  }
  if (!attempt.commit()) return;
  end_walk(job.arrived_ns);
  publish(std::move(result));
}

void DeferredUnwinder::begin_walk(uint64_t arrived_ns) {
  const std::lock_guard lock(mutex_);
  walking_.insert(arrived_ns);
  mappings_.retain_exited_since(*walking_.begin());
}

void DeferredUnwinder::forget_walk(uint64_t arrived_ns) {
  const std::lock_guard lock(mutex_);
  if (const auto at = walking_.find(arrived_ns); at != walking_.end()) walking_.erase(at);
}

// While others wait, as long as before: compiling libLLVM for one job may outlast the process of the next.
void DeferredUnwinder::end_walk(uint64_t arrived_ns) {
  forget_walk(arrived_ns);
  const std::lock_guard lock(mutex_);
  if (!walking_.empty())
    mappings_.retain_exited_since(*walking_.begin());
  else if (queue_.waiting() == 0)
    mappings_.retain_exited_since(0);
}

void DeferredUnwinder::publish(FinishedWalk result) {
  const std::lock_guard lock(mutex_);
  results_.push_back(std::move(result));
}

void DeferredUnwinder::wait_for_mappings(uint64_t arrived_ns, const std::stop_token& stop) {
  if (mappings_.watermark_ns() > arrived_ns) return;
  mappings_.request_poll();
  const uint64_t timeout_ends_ns = arrived_ns + in_ns(kMaxWait);
  auto pause = std::chrono::milliseconds(1);  // a turn is near; in a storm it is not
  while (mappings_.watermark_ns() <= arrived_ns && monotonic_ns() < timeout_ends_ns && !hurry_ && !stop.stop_requested()) {
    std::this_thread::sleep_for(pause);
    pause = std::min(2 * pause, std::chrono::milliseconds(8));
  }
}

FinishedWalk DeferredUnwinder::finish_walk(const UnwindJob& job, const std::stop_token& stop) {
  FinishedWalk result;
  result.sample = job.sample;
  result.arrived_ns = job.arrived_ns;
  const unwind_request& start = job.start();
  View view(mappings_, images_, read_memory_, start, stop);
  unwind::StackCopy copy;
  std::copy(std::begin(start.gpr), std::end(start.gpr), copy.gpr);
  copy.ip = start.ip;
  copy.exact_ip = copy.all_registers = start.all_registers != 0;
  copy.is_32_bit = (job.sample.flags & SAMPLE_32_BIT) != 0;
  copy.new_task = copy.all_registers && (job.sample.flags & SAMPLE_NEW_TASK) != 0;
  copy.new_stack = copy.all_registers && (job.sample.flags & SAMPLE_NEW_STACK) != 0;
  copy.mode = start.unwind_mode;
  copy.pages = start.pages;
  copy.stack = Bytes(job.record).subspan(sizeof(unwind_request), start.stack_bytes);
  if (start.end_reason < END_REASON_COUNT)
    diagnostics().info(fmt::format("process {}", start.pid), "stacks are walked late, in user space; the first: {}", profile::kEndReasons[start.end_reason].text);
  unwind::DeferredStack finished = unwind::finish_walk(copy, view);
  if (stop.stop_requested()) return result;
  result.frames = std::move(finished.frames);
  result.end_reason = static_cast<uint8_t>(finished.end);
  if (const auto mapping = mappings_.find_mapping(start.address_space, RuntimeAddr(start.ip)); mapping && mapping->image != 0) {
    if (start.end_reason == END_NO_TABLE) tables_.request_again(mapping->image);
  }
  return result;
}

}  // namespace cicada::ingest
