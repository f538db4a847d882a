// SPDX-License-Identifier: Apache-2.0
#include "ingest/java_machines.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/catching.h"
#include "base/diagnostics.h"
#include "process/procfs/proc_fs.h"
#include "process/procfs/process_memory.h"
#include "unwind/java/java_machine.h"

namespace cicada::ingest {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds kAnswerTimeout(1000);

}  // namespace

struct JavaMachines::Machine {
  RuntimeAddr library;
  uint32_t uid = ~0U;
  Clock::time_point first_seen{}, next{};
  Clock::duration retry = kFirstRetry;
  bool looked = false, busy = false, known = false, refused = false;
  std::shared_ptr<std::optional<unwind::JavaMachine>> layout = std::make_shared<std::optional<unwind::JavaMachine>>();  // the job's
  java_code code{};
};

// What jobs use.
struct JavaMachines::Shared {
  explicit Shared(Ports given) : ports(std::move(given)) {}
  void look(uint32_t address_space, Pid pid, RuntimeAddr library, std::optional<unwind::JavaMachine>& layout, const std::stop_token& stop);
  size_t count_of(uint32_t uid) const;
  void forget(uint32_t address_space);
  void refuse(uint32_t address_space, Machine& machine) const;
  void give_up(const Error& why) noexcept;

  const Ports ports;
  DisposableChildren children{kAnswerTimeout};
  mutable std::mutex mutex;
  std::condition_variable_any changed;
  std::unordered_map<uint32_t, Machine> machines;  // by address space
  bool is_due = false;  // something may be, before run() thought so
  bool stopped = false;
};

JavaMachines::JavaMachines(Ports ports) : shared_(std::make_unique<Shared>(std::move(ports))) {}
JavaMachines::~JavaMachines() { stop(); }

void JavaMachines::stop() {
  {
    const std::lock_guard lock(shared_->mutex);
    shared_->stopped = true;
  }
  thread_ = {};
}

void JavaMachines::note_library(uint32_t address_space, RuntimeAddr library) {
  const std::lock_guard lock(shared_->mutex);
  auto& machines = shared_->machines;
  if (shared_->stopped || machines.contains(address_space)) return;
  const auto asked = std::count_if(machines.begin(), machines.end(), [](const auto& entry) { return !entry.second.refused; });
  if (static_cast<size_t>(asked) >= kMaxMachines) return diagnostics().warn("Java", "more than {} virtual machines run; of the others' code the frame pointer is followed", kMaxMachines);
  const auto now = Clock::now();
  machines[address_space] = {.library = library, .first_seen = now, .next = now};
  shared_->ports.publish(address_space, &machines[address_space].code);
  if (!thread_.joinable()) {
    const Result<void> started = catching("a thread", [&]() -> Result<void> {
      thread_ = std::jthread([this](std::stop_token stop) {
        const Result<void> ran = catching("looking for code", [&]() -> Result<void> { return run(stop), Result<void>(); });
        if (ran) return;
        const std::lock_guard of_machines(shared_->mutex);
        shared_->give_up(ran.error());
      });
      return {};
    });
    if (!started) return shared_->give_up(started.error());
  }
  shared_->is_due = true;
  shared_->changed.notify_all();
}

std::optional<java_code> JavaMachines::find(uint32_t address_space) const {
  const std::lock_guard lock(shared_->mutex);
  const auto at = shared_->machines.find(address_space);
  return at == shared_->machines.end() || at->second.refused ? std::nullopt : std::optional(at->second.code);
}

bool JavaMachines::is_settled() const {
  const std::lock_guard lock(shared_->mutex);
  return std::all_of(shared_->machines.begin(), shared_->machines.end(), [](const auto& entry) { return entry.second.looked; });
}

// Hands out what is due.
void JavaMachines::run(std::stop_token stop) {
  WorkQueue queue({.thread_name = "cicada-java", .workers = 2, .of_one_owner = 1});
  std::unique_lock lock(shared_->mutex);
  while (!stop.stop_requested()) {
    const auto now = Clock::now();
    auto next = now + kLookAgain;
    std::vector<uint32_t> due;
    for (auto& [space, machine] : shared_->machines) {
      if (machine.busy) continue;
      if (machine.next <= now)
        due.push_back(space);
      else
        next = std::min(next, machine.next);
    }
    for (const uint32_t space : due) {
      lock.unlock();
      const Pid pid = shared_->ports.find_user(space);
      const uint32_t uid = pid == 0 ? 0 : process::owner_of(pid);
      lock.lock();
      const auto at = shared_->machines.find(space);
      if (at == shared_->machines.end()) continue;
      Machine& machine = at->second;
      if (pid == 0) {
        shared_->forget(space);
        continue;
      }
      machine.uid = uid;
      if (!machine.known && !machine.refused && (now > machine.first_seen + kMaxWait || shared_->count_of(uid) > kMaxMachines / 2)) shared_->refuse(space, machine);
      if (machine.known || machine.refused) {
        machine.next = now + kLookAgain;
        if (machine.known) shared_->ports.refresh(space);
        continue;
      }
      machine.busy = true;
      const bool taken = queue.submit({.owner = uid, .run = [this, space, pid, library = machine.library, layout = machine.layout](WorkQueue::Attempt& attempt) {
                                        shared_->look(space, pid, library, *layout, attempt.stop_token());
                                      }}) != 0;
      if (!taken) machine.busy = false, machine.next = now + kLookAgain;
    }
    shared_->changed.wait_until(lock, stop, next, [&] { return std::exchange(shared_->is_due, false); });
  }
}

size_t JavaMachines::Shared::count_of(uint32_t uid) const {
  return static_cast<size_t>(std::count_if(machines.begin(), machines.end(), [&](const auto& entry) { return entry.second.uid == uid && !entry.second.refused; }));
}

void JavaMachines::Shared::forget(uint32_t address_space) {
  const auto at = machines.find(address_space);
  if (at == machines.end()) return;
  if (!at->second.refused && !stopped) ports.publish(address_space, nullptr);
  machines.erase(at);
}

void JavaMachines::Shared::refuse(uint32_t address_space, Machine& machine) const {
  machine.refused = machine.looked = true;
  machine.next = Clock::now() + kLookAgain;
  ports.publish(address_space, nullptr);
}

// Nobody looks any more: whoever waits for a machine goes on without it.
void JavaMachines::Shared::give_up(const Error& why) noexcept {
  stopped = true;
  for (auto& [space, machine] : machines)
    if (!std::exchange(machine.refused, true)) machine.looked = true, ports.publish(space, nullptr);
  diagnostics().warn("Java", "{}; of its code the frame pointer is followed from now on", why.message());
}

// One look at its memory.
void JavaMachines::Shared::look(uint32_t address_space, Pid pid, RuntimeAddr library, std::optional<unwind::JavaMachine>& layout, const std::stop_token& stop) {
  process::ProcessMemory memory(children, pid, stop);
  const unwind::ReadMemory read = [&memory](RuntimeAddr address, std::span<uint8_t> bytes) { return memory.read(address, bytes) == bytes.size(); };
  std::optional<Error> refused;
  if (!layout) {
    auto machine = unwind::JavaMachine::read(read, library);
    if (machine)
      layout.emplace(*std::move(machine));
    else
      refused = machine.error();
  }
  const auto code = layout ? layout->find_code(read) : std::nullopt;
  const std::lock_guard lock(mutex);
  const auto at = machines.find(address_space);
  if (at == machines.end() || stopped) return;
  Machine& machine = at->second;
  machine.busy = false;
  machine.looked = true;
  if (code) {
    machine.known = true;
    machine.code = *code;
    machine.next = Clock::now() + kLookAgain;
    ports.publish(address_space, &machine.code);
    diagnostics().info(fmt::format("process {}", pid), "a Java virtual machine; its code is walked by what it says of its frames");
  } else if (refused && refused->kind() == ErrorKind::kCorrupt && Clock::now() > machine.first_seen + kStart) {
    refuse(address_space, machine);
    diagnostics().warn(fmt::format("process {}", pid), "its libjvm.so: {}; of its code the frame pointer is followed", refused->message());
  } else {
    const auto now = Clock::now();
    machine.next = now + (now < machine.first_seen + kStart ? machine.retry : kLateRetry);
    machine.retry = std::min<Clock::duration>(2 * machine.retry, kRetry);
  }
  is_due = true;
  changed.notify_all();
}

}  // namespace cicada::ingest
