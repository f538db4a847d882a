// SPDX-License-Identifier: Apache-2.0
// No foreign code runs under the lock: jobs and what they hold are run, given up and destroyed without it.
#include "base/work_queue.h"

#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "base/catching.h"
#include "base/cpu_clock.h"
#include "base/diagnostics.h"

namespace cicada {
namespace {

constexpr std::chrono::milliseconds kEvenTime(5);  // owners that differ by less have worked alike

void add_nice(pid_t thread, int nice) {
  ::setpriority(PRIO_PROCESS, static_cast<id_t>(thread), ::getpriority(PRIO_PROCESS, 0) + nice);
}

}  // namespace

// A job on its way.
struct WorkQueue::Ticket {
  JobId id;
  Job job;

  size_t cost() const { return job.bytes + kJobBytes; }
  void give_up(const Error& why) const {
    if (job.give_up) job.give_up(why);
  }
};

struct WorkQueue::State {
  using TicketPtr = std::shared_ptr<Ticket>;
  struct Owner {
    std::map<std::pair<uint64_t, JobId>, TicketPtr> waiting;  // by weight, then age
    size_t bytes = 0;
  };
  struct Worker {
    std::thread thread;
    pid_t tid = 0;
    TicketPtr current;
  };

  explicit State(const Options& o) : options(o) {}

  Options options;
  mutable std::mutex mutex;
  std::condition_variable work;      // for workers: something waits, or the end
  std::condition_variable changed;   // for wait()
  std::map<uint32_t, Owner> owners;  // who has something waiting
  uint32_t last_owner = UINT32_MAX;  // whose turn it was
  struct Use {
    unsigned running = 0;
    std::chrono::nanoseconds worked{};  // CPU time, that of others for it included
  };
  std::map<uint32_t, Use> uses;  // of the workers, by owner, since the queue was idle
  std::unordered_map<JobId, TicketPtr> by_id;  // what waits
  size_t bytes = 0;
  JobId last_id = 0;
  std::vector<std::unique_ptr<Worker>> workers;
  size_t running = 0;
  unsigned heavy = 0;  // of these
  bool stopping = false;
  std::stop_source ending;
  Clock::time_point busy_since;
  Counts counts;

  // All but the last four under the mutex.
  bool is_idle() const { return by_id.empty() && running == 0; }
  void note_if_idle() {
    if (is_idle()) {
      counts.busy += Clock::now() - busy_since;
      uses.clear();
    }
    changed.notify_all();
  }
  TicketPtr take(const TicketPtr& ticket);  // which waits
  bool is_heavy(const Ticket& ticket) const { return ticket.job.weight >= options.heavy; }
  // No owner has more than options.of_one_owner workers, and heavy jobs not all.
  bool may_run(const std::pair<const uint32_t, Owner>& owner) const {
    const auto use = uses.find(owner.first);
    return (use == uses.end() || use->second.running < options.of_one_owner) &&
           (heavy == 0 || heavy + 1 < options.workers || !is_heavy(*owner.second.waiting.begin()->second));
  }
  bool has_next() const {
    return std::any_of(owners.begin(), owners.end(), [&](const auto& owner) { return may_run(owner); });
  }
  TicketPtr take_next();
  bool make_room(const Ticket& wanted, std::vector<TicketPtr>& dropped);
  // For what waits and `more`. False: there is none.
  bool start_workers(size_t more);

  JobId submit(Job job);
  void run(Worker& self);
  template <typename Over>
  bool wait_for(std::chrono::milliseconds timeout, Over over);
  void stop();
};

WorkQueue::State::TicketPtr WorkQueue::State::take(const TicketPtr& ticket) {
  const auto owner = owners.find(ticket->job.owner);
  TicketPtr taken = std::move(owner->second.waiting.extract({ticket->job.weight, ticket->id}).mapped());
  by_id.erase(taken->id);
  owner->second.bytes -= taken->cost();
  bytes -= taken->cost();
  if (owner->second.waiting.empty()) owners.erase(owner);
  return taken;
}

// Of who has the fewest jobs running, then of who has worked least, then in turn. has_next() holds.
WorkQueue::State::TicketPtr WorkQueue::State::take_next() {
  const auto first = owners.upper_bound(last_owner);
  auto next = owners.end();
  std::pair<unsigned, int64_t> least;
  const auto look = [&](auto begin, auto end) {
    for (auto at = begin; at != end; ++at) {
      if (!may_run(*at)) continue;
      const Use& use = uses[at->first];
      const std::pair<unsigned, int64_t> its(use.running, use.worked / kEvenTime);
      if (next == owners.end() || its < least) std::tie(next, least) = std::tuple(at, its);
    }
  };
  look(first, owners.end());
  look(owners.begin(), first);
  last_owner = next->first;
  return take(TicketPtr(next->second.waiting.begin()->second));
}

bool WorkQueue::State::make_room(const Ticket& wanted, std::vector<TicketPtr>& dropped) {
  if (wanted.cost() > options.max_bytes) return false;
  while (bytes > options.max_bytes - wanted.cost()) {
    const auto most = std::max_element(owners.begin(), owners.end(),
                                       [](const auto& a, const auto& b) { return a.second.bytes < b.second.bytes; });
    const auto own = owners.find(wanted.job.owner);
    if (most == own || most->second.bytes <= (own == owners.end() ? 0 : own->second.bytes) + wanted.cost())
      return false;
    dropped.push_back(take(TicketPtr(std::prev(most->second.waiting.end())->second)));
    ++counts.refused;
  }
  return true;
}

bool WorkQueue::State::start_workers(size_t more) {
  const auto is_needed = [&] {
    return workers.size() - running < by_id.size() + more && workers.size() < options.workers;
  };
  try {
    while (is_needed()) {
      auto worker = std::make_unique<Worker>();
      worker->thread = std::thread([this, self = worker.get()] { run(*self); });
      workers.push_back(std::move(worker));
    }
  } catch (const std::system_error&) {  // fewer, then
  }
  return !workers.empty();
}

void WorkQueue::State::run(Worker& self) {
  ::prctl(PR_SET_NAME, options.thread_name);
  std::unique_lock lock(mutex);
  self.tid = ::gettid();
  if (options.nice != 0) add_nice(0, options.nice);
  for (;;) {
    work.wait(lock, [&] { return stopping || has_next(); });
    if (stopping) return;
    const TicketPtr ticket = self.current = take_next();
    ++running;
    heavy += is_heavy(*ticket);
    ++uses[ticket->job.owner].running;
    const auto began = work_time();
    lock.unlock();
    Attempt attempt(*this);
    const auto ran = catching(options.thread_name, [&]() -> Result<void> {
      ticket->job.run(attempt);
      return {};
    });
    if (!ran) {
      diagnostics().warn(options.thread_name, "{}", ran.error().message());
      ticket->give_up(ran.error());
    }
    ticket->job.run = nullptr;
    ticket->job.give_up = nullptr;
    lock.lock();
    self.current = nullptr;
    --running;
    if (is_heavy(*ticket)) {
      --heavy;
      work.notify_all();
    }
    ++counts.done;
    Use& use = uses[ticket->job.owner];
    --use.running;
    use.worked += work_time() - began;
    note_if_idle();
  }
}

WorkQueue::JobId WorkQueue::State::submit(Job job) {
  const uint32_t owner = job.owner;
  auto ticket = std::make_shared<Ticket>(Ticket{0, std::move(job)});
  std::vector<TicketPtr> dropped;
  JobId id = 0;
  {
    const std::lock_guard lock(mutex);
    const bool was_idle = is_idle();
    if (stopping || !make_room(*ticket, dropped) || !start_workers(1)) {
      ++counts.refused;
    } else {
      if (was_idle) busy_since = Clock::now();
      ticket->id = id = ++last_id;
      bytes += ticket->cost();
      Owner& of = owners[owner];
      of.bytes += ticket->cost();
      by_id.emplace(id, ticket);
      of.waiting.emplace(std::pair(ticket->job.weight, id), std::move(ticket));
      work.notify_one();
    }
  }
  for (const auto& lost : dropped) lost->give_up(make_error(ErrorKind::kLimit, "too much waits to be done"));
  return id;
}

template <typename Over>
bool WorkQueue::State::wait_for(std::chrono::milliseconds timeout, Over over) {
  std::unique_lock lock(mutex);
  if (timeout != kForever) return changed.wait_for(lock, timeout, over);
  changed.wait(lock, over);
  return true;
}

void WorkQueue::State::stop() {
  std::map<uint32_t, Owner> forgotten;
  std::vector<std::unique_ptr<Worker>> workers_then;
  {
    const std::lock_guard lock(mutex);
    stopping = true;
    std::swap(forgotten, owners);
    bytes = 0;
    by_id.clear();
    if (!forgotten.empty()) note_if_idle();
    std::swap(workers_then, workers);
  }
  work.notify_all();
  forgotten.clear();
  ending.request_stop();
  for (const auto& worker : workers_then) worker->thread.join();
}

std::stop_token WorkQueue::Attempt::stop_token() const { return state_.ending.get_token(); }

WorkQueue::WorkQueue(const Options& options) : state_(std::make_unique<State>(options)) {}
WorkQueue::~WorkQueue() { stop(); }

WorkQueue::JobId WorkQueue::submit(Job job) { return state_->submit(std::move(job)); }
WorkQueue::JobId WorkQueue::Attempt::submit(Job job) { return state_.submit(std::move(job)); }

bool WorkQueue::wait(JobId job, std::chrono::milliseconds timeout) {
  return state_->wait_for(timeout, [s = state_.get(), job] {
    const auto has_it = [&](const auto& worker) { return worker->current != nullptr && worker->current->id == job; };
    return std::none_of(s->workers.begin(), s->workers.end(), has_it) && !s->by_id.contains(job);
  });
}

bool WorkQueue::wait_idle(std::chrono::milliseconds timeout) {
  return state_->wait_for(timeout, [s = state_.get()] { return s->is_idle(); });
}

void WorkQueue::set_nice(int nice) {
  const std::lock_guard lock(state_->mutex);
  state_->options.nice = nice;
  for (const auto& worker : state_->workers) {
    if (worker->tid != 0) add_nice(worker->tid, nice);
  }
}

void WorkQueue::stop() { state_->stop(); }

WorkQueue::Counts WorkQueue::counts() const {
  const std::lock_guard lock(state_->mutex);
  Counts counts = state_->counts;
  if (!state_->is_idle()) counts.busy += Clock::now() - state_->busy_since;
  return counts;
}

}  // namespace cicada
