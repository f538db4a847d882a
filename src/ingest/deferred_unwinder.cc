// SPDX-License-Identifier: Apache-2.0
#include "ingest/deferred_unwinder.h"

#include <algorithm>
#include <deque>
#include <thread>
#include <unordered_map>

#include "abi/java_lookup.h"
#include "base/diagnostics.h"
#include "base/monotonic_clock.h"
#include "process/procfs/process_memory.h"
#include "profile/completeness.h"
#include "unwind/walk/deferred_walk.h"

static inline int java_code_read(void* reader, __u64 address, void* to, __u32 bytes) {
  auto* const memory = static_cast<cicada::process::ProcessMemory*>(reader);
  return memory->read(cicada::RuntimeAddr(address), {static_cast<uint8_t*>(to), bytes}) == bytes ? 0 : 1;
}

namespace cicada::ingest {
namespace {

constexpr uint64_t in_ns(std::chrono::nanoseconds time) { return static_cast<uint64_t>(time.count()); }

unwind::StackCopy copy_of(const UnwindJob& job) {
  const unwind_request& start = job.start();
  unwind::StackCopy copy;
  std::copy(std::begin(start.gpr), std::end(start.gpr), copy.gpr);
  copy.ip = start.ip;
  copy.exact_ip = copy.all_registers = start.all_registers != 0;
  copy.is_32_bit = (job.sample.flags & SAMPLE_32_BIT) != 0;
  copy.new_task = copy.all_registers && (job.sample.flags & SAMPLE_NEW_TASK) != 0;
  copy.new_stack = copy.all_registers && (job.sample.flags & SAMPLE_NEW_STACK) != 0;
  copy.mode = start.unwind_mode;
  copy.pages = start.pages;
  copy.below = ARCH_RED_ZONE;
  copy.stack = Bytes(job.record.data(), job.record.size()).subspan(sizeof(unwind_request), start.stack_bytes);
  return copy;
}

FinishedWalk unfinished(const UnwindJob& job) { return {job.sample, job.arrived_ns, {}, END_DEFERRED_FAILED}; }

}  // namespace

// The sample's address space as it was mapped. What is not mapped yet may be a moment later: asks again until kMaxWaitForOne
// after the sample, or kMaxWait if it is expected, so a backlog of old jobs is not waited for.
class DeferredUnwinder::View final : public unwind::AddressSpaceView {
 public:
  View(const MappingHistory& mappings, ImageUnwinders& images, process::ProcessMemory& memory, const JavaMachines* java, const unwind_request& start,
       std::stop_token ending)
      : mappings_(mappings),
        images_(images),
        memory_(memory),
        java_(java),
        ending_(std::move(ending)),
        pid_(static_cast<Pid>(start.pid)),
        address_space_(start.address_space),
        time_ns_(start.time_ns) {}

  std::optional<Mapping> find_mapping(RuntimeAddr address) override {
    for (;;) {
      const auto found = mappings_.find_mapping(address_space_, address);
      const auto replaced = find_replaced(address);
      if (replaced) {
        const process::ImageBinding& was = replaced->was;
        if (was.state == process::BindingState::kImage) return Mapping{replaced->range, was.bias, was.image, 0};
        if (was.state == process::BindingState::kJit) return Mapping{replaced->range, 0, 0, MAPPING_JIT};
      } else if (found) {
        return Mapping{{RuntimeAddr(found->begin), RuntimeAddr(found->end)}, found->bias, found->image, found->flags};
      }
      const uint64_t now_ns = monotonic_ns();
      const bool expected = replaced ? replaced->was.state == process::BindingState::kPending : mappings_.is_expected(address_space_, address);
      if (ending_.stop_requested() || now_ns >= time_ns_ + in_ns(expected ? kMaxWait : kMaxWaitForOne)) return std::nullopt;
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
  }

  const unwind::ImageUnwinder* find_image(uint32_t image) override {
    if (const auto held = held_.find(image); held != held_.end()) return held->second.get();
    const auto found = images_.find(image);
    if (!found) {
      missing_.image = image;
      return nullptr;
    }
    return held_.emplace(image, *found ? **found : nullptr).first->second.get();
  }
  bool waits_for_code(uint32_t image, LinkAddr address) override {
    if (ending_.stop_requested() || monotonic_ns() >= time_ns_ + in_ns(kMaxWaitForTables) || !images_.can_read_code(image)) return false;
    missing_ = {image, address};
    return true;
  }
  const Missing& missing() const { return missing_; }

  // Another process may have the pid by now; its bytes hardly read as a trampoline, too.
  std::optional<uint64_t> read_code(RuntimeAddr address) override {
    if (ending_.stop_requested()) return std::nullopt;
    return memory_.read_word(address);
  }
  end_reason find_rule_of_code(RuntimeAddr address, unwind_rule& rule) override {
    while (java_ != nullptr && !ending_.stop_requested()) {
      const auto code = java_->find(address_space_);
      if (!code) return END_NO_RULE;
      java_reading reading{};
      if (code->segment_shift != 0) return static_cast<end_reason>(java_code_rule(&memory_, &*code, address.value, &reading, &rule));
      if (monotonic_ns() >= time_ns_ + in_ns(kMaxWaitForOne)) break;  // it has not said yet where its code is
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    return java_ == nullptr ? END_NO_RULE : END_UNREADABLE;
  }

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
  process::ProcessMemory& memory_;
  const JavaMachines* const java_;
  const std::stop_token ending_;
  const Pid pid_;
  const uint32_t address_space_;
  const uint64_t time_ns_;
  std::unordered_map<uint32_t, std::shared_ptr<const unwind::ImageUnwinder>> held_;
  Missing missing_;
};

DeferredUnwinder::DeferredUnwinder(MappingHistory& mappings, ImageUnwinders& images, TableRequests& tables, const JavaMachines* java)
    : mappings_(mappings),
      images_(images),
      tables_(tables),
      java_(java),
      walkers_({.thread_name = "cicada-unwind", .workers = 2, .of_one_owner = 1}),
      compilers_({.thread_name = "cicada-rows", .workers = 2, .of_one_owner = 1, .heavy = ImageUnwinders::kLargeImage}) {
  images_.observe([this](uint32_t image) { table_is_there(image); });
}

DeferredUnwinder::~DeferredUnwinder() {
  ending_.request_stop();
  images_.observe({});
  images_.stop();
  compilers_.stop();
  walkers_.stop();
}

bool DeferredUnwinder::submit(UnwindJob job) {
  const uint32_t owner = job.owner();
  std::unique_lock lock(mutex_);
  std::vector<UnwindJob> dropped;
  const bool added = stacks_.add(std::move(job), dropped);
  end_unfinished(dropped);
  if (!added) return false;
  const bool begins = wants_turn(owner);
  lock.unlock();
  if (begins) begin_turn(owner);
  return true;
}

std::vector<FinishedWalk> DeferredUnwinder::take() {
  const std::lock_guard lock(mutex_);
  const uint64_t now_ns = monotonic_ns();
  if (now_ns > in_ns(kMaxWaitForTables)) end_unfinished(stacks_.take_parked_before(now_ns - in_ns(kMaxWaitForTables)));
  return std::exchange(results_, {});
}

void DeferredUnwinder::finish() {
  std::unique_lock lock(mutex_);
  const auto none_waits = [&] { return stacks_.empty(); };
  bool done = settled_.wait_for(lock, kUnnoticed, none_waits);
  if (!done) {
    diagnostics().warn("stacks", "some are being finished, for {} s at most", (kFinishTime - kUnnoticed).count());
    done = settled_.wait_for(lock, kFinishTime - kUnnoticed, none_waits);
  }
  if (!done) {
    diagnostics().warn("stacks", "not all that were left to user space are finished: it took too long");
    end_unfinished(stacks_.take_all());
  }
  ending_.request_stop();
  lock.unlock();
  images_.stop();
  compilers_.stop();
  walkers_.stop();
}

// True: who asked begins it.
bool DeferredUnwinder::wants_turn(uint32_t owner) { return stacks_.waits(owner) && turns_.try_emplace(owner).second; }

void DeferredUnwinder::begin_turn(uint32_t owner) {
  if (walkers_.submit({.owner = owner,
                       .run = [this, owner](WorkQueue::Attempt&) { take_turn(owner); },
                       .give_up = [this, owner](const Error&) { give_up_turn(owner); }}) == 0)
    give_up_turn(owner);
}

void DeferredUnwinder::take_turn(uint32_t owner) {
  const std::vector<UnwindJob>* jobs = nullptr;
  {
    const std::lock_guard lock(mutex_);
    jobs = &turns_.at(owner).emplace(stacks_.take(owner, kMaxTogether, kMaxBytesTogether));
    retain_for_walks();
  }
  std::vector<Outcome> outcomes;
  if (!jobs->empty()) {
    wait_for_mappings(jobs->back().arrived_ns);
    outcomes = walk(owner, *jobs);
  }
  std::unique_lock lock(mutex_);
  const auto turn = turns_.extract(owner);
  const std::set<uint32_t> missing = settle(*turn.mapped(), std::move(outcomes));
  const bool goes_on = wants_turn(owner);
  lock.unlock();
  for (const uint32_t image : missing) compile(image);
  if (goes_on) begin_turn(owner);
}

// It failed, or nobody is there to walk.
void DeferredUnwinder::give_up_turn(uint32_t owner) {
  std::unique_lock lock(mutex_);
  const auto turn = turns_.extract(owner);
  if (turn && turn.mapped())
    settle(*turn.mapped(), {});
  else
    end_unfinished(stacks_.take_all(owner));
  const bool goes_on = wants_turn(owner);
  lock.unlock();
  if (goes_on) begin_turn(owner);
}

// Without outcomes they end unfinished. Returns the images whose tables are waited for.
std::set<uint32_t> DeferredUnwinder::settle(std::vector<UnwindJob>& jobs, std::vector<Outcome> outcomes) {
  std::set<uint32_t> missing;
  for (size_t i = 0; i < jobs.size(); ++i) {
    const Missing what = outcomes.empty() ? Missing() : outcomes[i].missing;
    if (what.image != 0 && !ending_.stop_requested() && monotonic_ns() < jobs[i].arrived_ns + in_ns(kMaxWaitForTables)) {
      missing.insert(what.image);
      if (what.code) {
        Unread& unread = unread_[what.image];
        unread.code.push_back(*what.code);
        unread.since_ns = std::min<uint64_t>(unread.since_ns, jobs[i].start().time_ns);
      }
      stacks_.park(what.image, std::move(jobs[i]));
      continue;
    }
    stacks_.forget(jobs[i]);
    results_.push_back(outcomes.empty() ? unfinished(jobs[i]) : std::move(outcomes[i].walk));
  }
  retain_for_walks();
  settled_.notify_all();
  return missing;
}

// Of those that are not counted any more.
void DeferredUnwinder::end_unfinished(std::span<const UnwindJob> jobs) {
  if (jobs.empty()) return;
  for (const UnwindJob& job : jobs) results_.push_back(unfinished(job));
  retain_for_walks();
  settled_.notify_all();
}

// UINT64_MAX: all are.
uint64_t DeferredUnwinder::first_unfinished_ns() const {
  uint64_t first_ns = stacks_.first_arrival_ns();
  for (const auto& [owner, jobs] : turns_)
    if (jobs && !jobs->empty()) first_ns = std::min(first_ns, jobs->front().arrived_ns);
  return first_ns;
}

void DeferredUnwinder::retain_for_walks() {
  const uint64_t first_ns = first_unfinished_ns();
  mappings_.retain_exited_since(first_ns == UINT64_MAX ? 0 : first_ns);
}

void DeferredUnwinder::compile(uint32_t image) {
  {
    const std::lock_guard lock(mutex_);
    if (compiling_.contains(image)) return;
    compiling_.insert(image);
  }
  WorkQueue::Job job = images_.job_of(image);
  job.run = [this, image](WorkQueue::Attempt&) { compile_now(image); };
  job.give_up = [this, image](const Error&) { no_table_comes(image); };
  if (compilers_.submit(std::move(job)) == 0) no_table_comes(image);
}

void DeferredUnwinder::compile_now(uint32_t image) {
  Unread unread;
  {
    const std::lock_guard lock(mutex_);
    if (const auto asked = unread_.extract(image)) unread = std::move(asked.mapped());
  }
  const auto unwinder = images_.get(image);  // whoever needs it sees why there is none
  if (unwinder && !unread.code.empty()) images_.read_code(image, unread.code, unread.since_ns);
  table_is_there(image);
}

// Also told by others who compile: the stacks need not wait for their turn among the compilers.
void DeferredUnwinder::table_is_there(uint32_t image) {
  std::vector<uint32_t> begin;
  {
    const std::lock_guard lock(mutex_);
    compiling_.erase(image);
    unread_.erase(image);  // who still waits for code asks again
    for (const uint32_t owner : stacks_.ready(image))
      if (wants_turn(owner)) begin.push_back(owner);
  }
  for (const uint32_t owner : begin) begin_turn(owner);
}

void DeferredUnwinder::no_table_comes(uint32_t image) {
  const std::lock_guard lock(mutex_);
  compiling_.erase(image);
  unread_.erase(image);
  end_unfinished(stacks_.take_parked(image));
}

uint64_t DeferredUnwinder::first_arrival_ns() {
  const std::lock_guard lock(mutex_);
  uint64_t first_ns = first_unfinished_ns();
  for (const FinishedWalk& walk : results_) first_ns = std::min(first_ns, walk.arrived_ns);
  return first_ns;
}

void DeferredUnwinder::wait_for_mappings(uint64_t arrived_ns) {
  if (mappings_.watermark_ns() > arrived_ns) return;
  mappings_.request_poll();
  const uint64_t timeout_ends_ns = arrived_ns + in_ns(kMaxWait);
  auto pause = std::chrono::milliseconds(1);  // a turn is near; in a storm it is not
  while (mappings_.watermark_ns() <= arrived_ns && monotonic_ns() < timeout_ends_ns && !ending_.stop_requested()) {
    std::this_thread::sleep_for(pause);
    pause = std::min(2 * pause, std::chrono::milliseconds(8));
  }
}

std::vector<DeferredUnwinder::Outcome> DeferredUnwinder::walk(uint32_t owner, std::span<const UnwindJob> jobs) {
  const auto end = WorkQueue::Clock::now() + kMaxTurn;
  std::map<uint32_t, process::ProcessMemory> memories;  // by process
  std::deque<View> views;
  std::vector<unwind::DeferredWalk> walks;
  for (const UnwindJob& job : jobs) {
    const unwind_request& start = job.start();
    if (start.end_reason < END_REASON_COUNT)
      diagnostics().info(fmt::format("process {}", start.pid), "stacks are walked late, in user space; the first: {}",
                         profile::kEndReasons[start.end_reason].text);
    process::ProcessMemory& memory = memories.try_emplace(start.pid, memory_readers_, static_cast<Pid>(start.pid), ending_.get_token()).first->second;
    walks.emplace_back(copy_of(job), views.emplace_back(mappings_, images_, memory, java_, start, ending_.get_token()));
  }
  unwind::finish_walks(walks, owner, [&] { return WorkQueue::Clock::now() < end; });
  std::vector<Outcome> outcomes;
  for (size_t i = 0; i < jobs.size(); ++i) {
    unwind::DeferredStack finished = walks[i].take();
    outcomes.push_back(
        {{jobs[i].sample, jobs[i].arrived_ns, std::move(finished.frames), static_cast<uint8_t>(finished.end)}, views[i].missing()});
    ask_for_table(jobs[i]);
  }
  return outcomes;
}

void DeferredUnwinder::ask_for_table(const UnwindJob& job) {
  const unwind_request& start = job.start();
  if (start.end_reason != END_NO_TABLE && start.end_reason != END_UNSUPPORTED_RULE) return;
  const auto mapping = mappings_.find_mapping(start.address_space, RuntimeAddr(start.ip));
  if (!mapping || mapping->image == 0) return;
  if (start.end_reason == END_NO_TABLE) return tables_.request_again(mapping->image);
  const auto unwinder = images_.find(mapping->image);
  if (unwinder && *unwinder && (**unwinder)->version() != 0) tables_.request_newer(mapping->image, (**unwinder)->version());
}

}  // namespace cicada::ingest
