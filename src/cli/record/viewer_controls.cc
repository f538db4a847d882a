// SPDX-License-Identifier: Apache-2.0
#include "cli/record/viewer_controls.h"

#include <sys/eventfd.h>
#include <sys/resource.h>

#include <fmt/ranges.h>

#include <utility>

#include "attach/viewer_socket.h"
#include "cli/quantity.h"
#include "cli/record/record.h"

namespace cicada::cli {
namespace {

constexpr std::string_view kSpaces = " \t", kDigits = "0123456789,";

UniqueFd eventfd() { return UniqueFd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)); }

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  for (size_t at; (at = text.find_first_not_of(kSpaces)) != std::string_view::npos;) {
    text.remove_prefix(at);
    words.emplace_back(text.substr(0, text.find_first_of(kSpaces)));
    text.remove_prefix(words.back().size());
  }
  return words;
}

// Of this process and of those that it has waited for.
uint64_t own_cpu_ns() {
  uint64_t sum = 0;
  for (const int who : {RUSAGE_SELF, RUSAGE_CHILDREN}) {
    rusage used{};
    if (::getrusage(who, &used) == 0) sum += static_cast<uint64_t>(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(used.ru_utime.tv_usec + used.ru_stime.tv_usec) * 1000;
  }
  return sum;
}

std::string cut(std::string text) { return text.substr(0, sink::kMaxMomentText); }

}  // namespace

ViewerControls::ViewerControls(const RecordOptions& options, std::optional<Pid> command, std::function<uint64_t()> cpu_of_readers)
    : options_(options), command_(command), cpu_of_readers_(std::move(cpu_of_readers)), stop_(eventfd()), change_(eventfd()) {
  moment_.title = cut(title_of(options));
  if (!options.changeable) return;
  moment_.may_change = options.outputs.empty();
  moment_.may_choose = moment_.may_change && options.changeable->whole_machine && options.changeable->asked.empty();
  moment_.events = cut(fmt::format("{}", fmt::join(options.changeable->events, " ")));
}

attach::ViewerServer::Controls ViewerControls::controls() {
  return {.take = [this](std::string_view line) { return take(line); },
          .moment = [this] {
            const std::lock_guard lock(mutex_);
            sink::Moment moment = moment_;
            moment.cpu_ns = own_cpu_ns() + (cpu_of_readers_ ? cpu_of_readers_() : 0);
            return moment;
          }};
}

std::shared_ptr<const profile::ProfileSnapshot> ViewerControls::snapshot() const {
  const std::lock_guard lock(mutex_);
  return session_->snapshot();
}

void ViewerControls::show(engine::Session& session) {
  const std::lock_guard lock(mutex_);
  session_ = &session;
}

void ViewerControls::show(engine::Session& session, const Change& change) {
  const std::lock_guard lock(mutex_);
  session_ = &session;
  moment_.paused = false;
  moment_.title = cut(title_of(change.options));
  moment_.events = change.events;
  moment_.processes = change.processes;
  moment_.answer.clear();
}

void ViewerControls::set_sampling(bool samples) {
  const std::lock_guard lock(mutex_);
  samples_ = samples;
}

void ViewerControls::refuse(const Error& error) {
  const std::lock_guard lock(mutex_);
  moment_.answer = cut(error.message());
}

std::optional<ViewerControls::Change> ViewerControls::take_change() {
  const std::lock_guard lock(mutex_);
  eventfd_t ignored;
  static_cast<void>(::eventfd_read(change_.get(), &ignored));
  return std::exchange(asked_, std::nullopt);
}

bool ViewerControls::take(std::string_view line) {
  if (line.starts_with(attach::kRecord)) return take_record(line.substr(attach::kRecord.size())), true;
  const std::lock_guard lock(mutex_);
  if (line == attach::kStop) return ::eventfd_write(stop_.get(), 1), true;
  if (line != attach::kPause && line != attach::kResume) return false;
  moment_.answer.clear();
  if (!samples_) return true;
  moment_.paused = line == attach::kPause;
  session_->pause(moment_.paused);
  return true;
}

void ViewerControls::take_record(std::string_view asked) {
  const size_t tab = std::min(asked.find('\t'), asked.size());
  const std::string_view events = asked.substr(0, tab), processes = asked.substr(std::min(tab + 1, asked.size()));
  Result<RecordOptions> next = changed(events, processes);
  if (!next) return refuse(next.error());
  const std::lock_guard lock(mutex_);
  asked_ = Change{std::move(*next), std::string(events), std::string(processes)};
  ::eventfd_write(change_.get(), 1);
}

Result<RecordOptions> ViewerControls::changed(std::string_view events, std::string_view processes) const {
  if (!options_.changeable) return make_error(ErrorKind::kInvalid, "this recording stays as it was begun; `cicada serve` and `cicada top` can be told to begin anew");
  if (!options_.outputs.empty()) return make_error(ErrorKind::kInvalid, "what is recorded is written to {}, and would be lost", options_.outputs.front());
  RawRecordOptions raw = *options_.changeable;
  raw.events = words_of(events);
  if (!processes.empty()) {
    if (!raw.whole_machine || !raw.asked.empty()) return make_error(ErrorKind::kInvalid, "{}: only {} is recorded here; processes can be chosen of a whole machine", processes, title_of(options_));
    const bool numbers = processes.find_first_not_of(kDigits) == std::string_view::npos;
    (numbers ? raw.processes : raw.asked.processes) = {std::string(processes)};
    raw.whole_machine = !numbers;
  }
  // The command was launched already, and does not end with what is recorded of it.
  if (command_) {
    raw.command.clear();
    raw.processes = {fmt::format("{}", *command_)};
    raw.children = true;
  }
  RecordOptions next = TRY(check_record_options(raw));
  if (command_) {
    next.target.command = options_.target.command;
    next.target.named.clear();
  }
  next.command_line = options_.command_line;
  next.viewer = options_.viewer;
  next.viewer_process = options_.viewer_process;
  next.end_note = options_.end_note;
  next.summary = options_.summary;
  next.changeable = options_.changeable;
  return next;
}

}  // namespace cicada::cli
