// SPDX-License-Identifier: Apache-2.0
#include "parser/parsers.h"

#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <set>

#include "base/clean_text.h"
#include "base/cpu_clock.h"
#include "base/diagnostics.h"
#include "base/file_mapping.h"
#include "base/process_state.h"

namespace cicada::parser {
namespace {

using sandbox::Channel;
using sandbox::Message;
using symbolize::CompanionFiles;
using Clock = Channel::Clock;

constexpr std::chrono::milliseconds kLook(20);
constexpr int kMaxNotes = 16, kMaxCompanions = 64;  // of one question

std::chrono::nanoseconds cpu_time_of(pid_t pid) {
  clockid_t clock;
  timespec used{};
  if (::clock_getcpuclockid(pid, &clock) != 0 || ::clock_gettime(clock, &used) != 0) return {};
  return std::chrono::seconds(used.tv_sec) + std::chrono::nanoseconds(used.tv_nsec);
}

std::chrono::nanoseconds budget_of(int file) { return Parsers::kBudgetPerMiB * static_cast<int64_t>(existing_bytes(file) >> 20); }
std::chrono::nanoseconds budget_of(const Question& question) {
  return std::min<std::chrono::nanoseconds>(Parsers::kBudget + budget_of(question.file), Parsers::kMaxBudget);
}

}  // namespace

struct Parsers::Running {
  explicit Running(sandbox::Zygote::Child started) : child(std::move(started)) {}
  sandbox::Zygote::Child child;
  std::set<Key> known;  // it may have them open
  uint64_t last_used = 0;
  int nice = 0;

  void kill() const { ::syscall(SYS_pidfd_send_signal, child.process.get(), SIGKILL, nullptr, 0); }
  // As much of a claim to the CPU as the thread that waits for it.
  void follow_nice() {
    const int ours = ::getpriority(PRIO_PROCESS, 0);
    if (ours != nice && ::setpriority(PRIO_PROCESS, static_cast<id_t>(child.pid), ours) == 0) nice = ours;
  }
};

namespace {

// One question and what comes back.
class Conversation {
 public:
  Conversation(Channel& channel, pid_t pid, const Question& question, const std::stop_token& stop)
      : channel_(channel), pid_(pid), question_(question), stop_(stop), budget_(budget_of(question)) {}

  Result<Parsers::Answer> run(size_t max_bytes) {
    UniqueFd job = TRY(sandbox::memory_file(question_.contents.data(), question_.contents.size()));
    Message message;
    message.kind = question_.kind;
    message.numbers = question_.numbers;
    message.text = question_.path;
    TRY(channel_.send_now(message, {job.get(), question_.file}));
    for (;;) {
      const Message said = TRY(channel_.receive(false, Clock::time_point::max(), [this] { return is_over(); }));
      switch (said.kind) {
        case kNote:
          if (++notes_ <= kMaxNotes) diagnostics().pass_on(said.numbers[0] == static_cast<uint64_t>(Severity::kInfo) ? Severity::kInfo : Severity::kWarning, clean_text(said.text));
          break;
        case kOpen: TRY(open(said)); break;
        case kFailed: return said_error(said);
        case kDone: {
          struct stat st {};
          if (::fstat(job.get(), &st) != 0 || said.numbers[0] > std::min<uint64_t>(max_bytes, static_cast<uint64_t>(st.st_size)))
            return make_error(ErrorKind::kLimit, "an answer of {} bytes in {}, {} at most", said.numbers[0], st.st_size, max_bytes);
          ended_well_ = true;
          return Parsers::Answer{std::move(job), said.numbers[0]};
        }
        default: return make_error(ErrorKind::kCorrupt, "an answer of an unknown kind");
      }
    }
  }
  bool ended_well() const { return ended_well_; }
  // Also of one that has ended meanwhile, as far as it was seen.
  std::chrono::nanoseconds used() const { return std::max(last_cpu_, cpu_time_of(pid_)) - cpu_begin_; }
  bool was_stopped() const { return stop_.stop_requested(); }
  bool was_silent() const { return silent_; }

 private:
  bool is_over() {
    const auto cpu = cpu_time_of(pid_);
    const auto now = Clock::now();
    if (cpu != last_cpu_) {
      last_cpu_ = cpu;
      last_progress_ = now;
    }
    // One that has nothing but too little of a busy CPU makes progress, too.
    silent_ = now - last_progress_ > Parsers::kSilence && !is_runnable(pid_);
    return stop_.stop_requested() || cpu - cpu_begin_ > budget_ || silent_ || now - begin_ - excused_ > Parsers::kWallFactor * budget_;
  }
  Error said_error(const Message& said) {
    ended_well_ = true;
    const Error error = error_from(said);
    return Error(error.kind(), clean_text(error.message()));
  }
  Result<void> open(const Message& said) {
    const bool valid = said.numbers[0] <= static_cast<uint64_t>(CompanionFiles::Place::kServer) && said.text.find('\0') == std::string::npos;
    if (question_.companions == nullptr || !valid || ++companions_ > kMaxCompanions)
      return channel_.send_now(to_message(make_error(ErrorKind::kNotFound, "{}: no companions", said.text)));
    const auto before = Clock::now();
    const auto found = question_.companions->open(static_cast<CompanionFiles::Place>(said.numbers[0]), said.text);
    last_progress_ = Clock::now();
    excused_ += last_progress_ - before;
    if (!found) return channel_.send_now(to_message(found.error()));
    budget_ = std::min<std::chrono::nanoseconds>(budget_ + budget_of(found->fd.get()), Parsers::kMaxBudget);
    Message answer;
    answer.kind = kFile;
    answer.text = found->path;
    return channel_.send_now(answer, {found->fd.get()});
  }

  Channel& channel_;
  const pid_t pid_;
  const Question& question_;
  const std::stop_token& stop_;
  std::chrono::nanoseconds budget_, cpu_begin_ = cpu_time_of(pid_), last_cpu_ = cpu_begin_;
  Clock::time_point begin_ = Clock::now(), last_progress_ = begin_;
  Clock::duration excused_{};  // we were at work for it
  int notes_ = 0, companions_ = 0;
  bool ended_well_ = false, silent_ = false;
};

}  // namespace

Parsers::Parsers(Start start, const symbolize::SymbolizeOptions& options, unsigned per_owner, LeftBehind& left)
    : start_(std::move(start)), options_(to_text(options)), per_owner_(per_owner), left_(left) {}
Parsers::~Parsers() = default;

Result<std::unique_ptr<Parsers::Running>> Parsers::start(uint32_t owner) {
  if (!left_.has_room(owner)) return make_error(ErrorKind::kLimit, "too many readers do not end");
  auto running = std::make_unique<Running>(TRY(start_(owner)));
  Message message;
  message.kind = kConfigure;
  message.text = options_;
  TRY(running->child.channel.send_now(message));
  return running;
}

void Parsers::end_longest_idle() {
  auto longest = idle_.end();
  for (auto at = idle_.begin(); at != idle_.end(); ++at) {
    if (!at->second.empty() && (longest == idle_.end() || at->second.front()->last_used < longest->second.front()->last_used)) longest = at;
  }
  if (longest == idle_.end()) return;
  longest->second.erase(longest->second.begin());  // its channel closes, and it ends
  --count_[longest->first];
  --all_;
}

Result<std::unique_ptr<Parsers::Running>> Parsers::take(const Question& question, const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  if (const auto deaths = deaths_.find(key_of(question)); deaths != deaths_.end() && deaths->second >= kMaxDeaths)
    return make_error(ErrorKind::kLimit, "whoever reads it dies");
  for (;;) {
    auto& idle = idle_[question.owner];
    if (!idle.empty()) {
      auto best = std::find_if(idle.begin(), idle.end(), [&](const auto& each) { return each->known.contains(key_of(question)); });
      if (best == idle.end()) best = std::prev(idle.end());
      auto running = std::move(*best);
      idle.erase(best);
      return running;
    }
    if (all_ >= kMaxParsers) end_longest_idle();
    if (count_[question.owner] < per_owner_ && all_ < kMaxParsers) break;
    if (stop.stop_requested()) return make_error(ErrorKind::kLimit, "no answer in time");
    changed_.wait_for(lock, kLook);
  }
  ++count_[question.owner];
  ++all_;
  lock.unlock();
  auto running = start(question.owner);
  if (running) return running;
  lock.lock();
  --count_[question.owner];
  --all_;
  changed_.notify_all();
  return running;
}

void Parsers::give_back(const Question& question, std::unique_ptr<Running> running, bool alive, int deaths) {
  if (!alive) {
    running->kill();
    if (running->child.process) left_.add(question.owner, std::move(running->child.process));  // else it is a test's thread
  }
  const std::lock_guard lock(mutex_);
  if (deaths != 0) deaths_[key_of(question)] += deaths;
  if (alive) {
    running->known.insert(key_of(question));
    running->last_used = ++turn_;
    idle_[question.owner].push_back(std::move(running));
  } else {
    --count_[question.owner];
    --all_;
  }
  changed_.notify_all();
}

Result<std::string> Parsers::ask(const Question& question, size_t max_bytes, const std::stop_token& stop) {
  const Answer answer = TRY(ask_for_file(question, max_bytes, stop));
  std::string bytes(answer.size, '\0');
  TRY(sandbox::read_file(answer.file.get(), bytes.data(), bytes.size()));
  return bytes;
}

Result<Parsers::Answer> Parsers::ask_for_file(const Question& question, size_t max_bytes, const std::stop_token& stop) {
  std::unique_ptr<Running> running = TRY(take(question, stop));
  running->follow_nice();
  Conversation conversation(running->child.channel, running->child.pid, question, stop);
  auto answer = conversation.run(max_bytes);
  delegated_cpu_time() += conversation.used();
  const bool alive = conversation.ended_well();
  give_back(question, std::move(running), alive, alive || conversation.was_stopped() ? 0 : conversation.was_silent() ? kMaxDeaths : 1);
  if (!alive && !answer && !conversation.was_stopped()) diagnostics().warn(question.path, "the process that read it was ended: {}", answer.error().message());
  return answer;
}

}  // namespace cicada::parser
