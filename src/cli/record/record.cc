// SPDX-License-Identifier: Apache-2.0
#include "cli/record/record.h"

#include <poll.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "base/catching.h"
#include "base/diagnostics.h"
#include "base/readable.h"
#include "bpf_source/privileges.h"
#include "cli/exit_code.h"
#include "attach/viewer_server.h"
#include "cli/invoking_user.h"
#include "cli/launch/launched_command.h"
#include "cli/launch/open_in_browser.h"
#include "cli/launch/runtime_environment.h"
#include "cli/record/record_progress.h"
#include "cli/record/summary.h"
#include "cli/record/viewer_controls.h"
#include "cli/stop_signals.h"
#include "cli/terminal.h"
#include "engine/session.h"
#include "process/metadata/arguments.h"
#include "profile/wakeups.h"
#include "recorder/recorder.h"
#include "sink/sink_registry.h"
#include "symbolize/files/debuginfod_client.h"
#include "symbolize/jit/jit_advice.h"

namespace cicada::cli {
namespace {

bool has_lines(const std::string& path) { return sink::find_format(path)->has_lines; }
bool is_recording(const std::string& path) { return sink::find_format(path)->recording; }

symbolize::SymbolizeOptions symbolize_options(const RecordOptions& options, const InvokingUser& user) {
  symbolize::SymbolizeOptions out;
  out.user = user.uid();
  out.inlines = options.inlines.value_or(true);
  out.lines = options.lines.value_or(std::any_of(options.outputs.begin(), options.outputs.end(), has_lines));
  out.demangle = options.demangle;
  out.fold_clones = options.fold_clones;
  out.debuginfod = options.debuginfod || symbolize::DebuginfodClient::named_by_environment();
  return out;
}

bpf_source::SamplingConfig sampling_config(const RecordOptions& options, const std::optional<LaunchedCommand>& command) {
  bpf_source::SamplingConfig sampling;
  if (!options.target.tids.empty()) {
    sampling.targets = bpf_source::TargetKind::kThreads;
    sampling.tids = options.target.tids;
  } else if (!options.target.whole_machine) {
    sampling.targets = bpf_source::TargetKind::kProcesses;
    const bool held = options.target.pids.empty();  // a command, which does not run yet
    sampling.pids = held ? std::vector<Pid>{command->pid()} : options.target.pids;
    sampling.from_exec = held;
  }
  sampling.asked = options.target.asked;
  sampling.events = options.events;
  sampling.kernel_frames = options.kernel_frames;
  sampling.stacks = options.stacks;
  sampling.min_wait_ns = options.min_wait_ns;
  sampling.max_wait_ns = options.max_wait_ns;
  sampling.kernel_thread_waits = options.kernel_threads;
  sampling.include_idle = options.include_idle;
  sampling.max_map_memory_bytes = options.max_map_memory_bytes;
  sampling.with_arguments = options.with_arguments;
  sampling.unwind = options.unwind;
  return sampling;
}

process::Arguments arguments_of(const RecordOptions& options) {
  return options.with_arguments ? process::Arguments::kAll : process::Arguments::kProgram;
}

// cicada's own words, and what is kept of the command's.
std::vector<std::string> kept_command_line(const RecordOptions& options) {
  std::vector<std::string> kept(options.command_line.begin(), options.command_line.end() - static_cast<ptrdiff_t>(options.target.command.size()));
  for (std::string& word : process::kept_arguments(options.target.command, arguments_of(options))) kept.push_back(std::move(word));
  return kept;
}

// Does the recording show what the user might not see otherwise?
bool shows_others(const RecordOptions& options, const InvokingUser& user) {
  const auto of_others = [](const bpf_source::EventSpec& spec) { return spec.type.kind == bpf_source::EventKind::kWake; };
  if (options.target.whole_machine || std::any_of(options.events.events.begin(), options.events.events.end(), of_others)) return true;
  const auto is_theirs = [&](int id) {
    struct stat st {};
    return ::stat(fmt::format("/proc/{}", id).c_str(), &st) == 0 && st.st_uid == user.uid();
  };
  return !std::all_of(options.target.pids.begin(), options.target.pids.end(), is_theirs) ||
         !std::all_of(options.target.tids.begin(), options.target.tids.end(), is_theirs);
}

sink::SinkOptions sink_options_of(const RecordOptions& options, const InvokingUser& user) {
  sink::SinkOptions sink_options;
  sink_options.tree.expand_inlined = options.inlines.value_or(true);
  sink_options.tree.include_idle = options.include_idle;
  sink_options.tree.kernel_frames = options.kernel_frames;
  sink_options.tree.group_by = options.group_by;
  sink_options.title = title_of(options);
  if (user.through_sudo()) sink_options.rights.owner = sink::FileOwner{user.uid(), user.gid()};
  if (shows_others(options, user)) sink_options.rights.mode = 0600;
  sink_options.rights.replace_recordings = options.force;
  sink_options.keeps_last = options.retention.keep_ns.has_value();
  return sink_options;
}

// What follows the wakers of threads that waited.
class WakerSink final : public profile::Sink {
 public:
  WakerSink(std::unique_ptr<profile::Sink> sink, unsigned wakers) : sink_(std::move(sink)), wakers_(wakers) {}
  Result<void> finish(const profile::ProfileSnapshot& profile) override { return sink_->finish(profile::follow_wakers(profile, wakers_)); }
  std::string description() const override { return sink_->description(); }

 private:
  const std::unique_ptr<profile::Sink> sink_;
  const unsigned wakers_;
};

Result<void> add_sinks(engine::Session& session, const RecordOptions& options, const sink::SinkOptions& sink_options) {
  // The recording first: nothing that goes wrong with a picture can cost it.
  std::vector<std::string> outputs = options.outputs;
  std::stable_partition(outputs.begin(), outputs.end(), is_recording);
  auto sinks = TRY(sink::make_sinks(outputs, sink_options));
  for (size_t i = 0; i < sinks.size(); ++i) {
    if (options.wakers != 0 && !is_recording(outputs[i])) sinks[i] = std::make_unique<WakerSink>(std::move(sinks[i]), options.wakers);
    session.add_sink(std::move(sinks[i]));
  }
  return {};
}

// No output could be written from which the others can be made: a full disk must not cost what was recorded.
Result<std::string> write_elsewhere(const profile::ProfileSnapshot& profile, const sink::SinkOptions& options) {
  const char* variable = std::getenv("TMPDIR");
  const std::string_view directory = variable != nullptr && *variable != 0 ? variable : "/tmp";
  const auto sink = TRY(sink::make_sink(fmt::format("{}/cicada-{}.cicada", directory, profile.header.start_realtime_ns), options));
  TRY(sink->finish(profile));
  return sink->description();
}

void print_summary(engine::Session& session, const RecordOptions& options, std::vector<std::string> written) {
  for (std::string& advice : symbolize::jit_advice(session.profile())) session.header().warnings.push_back(std::move(advice));
  if (options.outputs.size() == 1 && written.size() == 1 && is_recording(options.outputs[0]))
    written[0] += fmt::format("   (cicada report {1}{0}; cicada convert {2}{0} x.html)", options.outputs[0], options.wakers != 0 ? "--wakers " : "",
                              options.wakers != 0 ? fmt::format("--wakers={} ", options.wakers) : "");
  SummaryOptions summary;
  summary.include_idle = options.include_idle;
  summary.stats = options.stats;
  summary.stacks = options.stacks;
  summary.columns = terminal_columns();
  print_message(format_summary(session.profile(), written, summary));
  if (!options.stats) return;
  for (const std::string& line : session.statistics()) print_message(line + "\n");
}

// What a command writes on the same terminal stays as it is.
bool shows_progress(const RecordOptions& options) {
  return options.verbosity != Verbosity::kQuiet && ::isatty(STDERR_FILENO) != 0 && (options.target.command.empty() || ::isatty(STDOUT_FILENO) == 0);
}

constexpr auto kLastPicture = std::chrono::seconds(20);  // until it is with who shows it from now on

Result<std::unique_ptr<attach::ViewerServer>> serve_viewers(ViewerControls& controls, const RecordOptions& options, const InvokingUser& user) {
  std::unique_ptr<attach::ViewerSocket> socket;
  if (options.attachable) socket = TRY(attach::ViewerSocket::open(user.uid(), user.gid()));
  return attach::ViewerServer::start(std::move(socket), user.uid(), [&controls] { return controls.snapshot(); }, controls.controls(), options.viewer ? std::move(*options.viewer) : UniqueFd());
}

void stay_until_signal(StopSignals& signals, int viewer, const std::string& note) {
  if (is_readable(viewer)) return;
  if (!note.empty()) print_note(note);
  std::array polled{pollfd{signals.fd(), POLLIN, 0}, pollfd{viewer, POLLIN, 0}};
  while (::poll(polled.data(), polled.size(), -1) < 0 && errno == EINTR) continue;
}

// How the viewer ended, a child that nobody has waited for; nothing: it has not, or there is none.
std::optional<siginfo_t> find_end(const std::shared_ptr<UniqueFd>& viewer) {
  siginfo_t end{};
  if (viewer == nullptr || ::waitid(P_PIDFD, static_cast<id_t>(viewer->get()), &end, WEXITED | WNOHANG | WNOWAIT) != 0 || end.si_pid == 0) return std::nullopt;
  return end;
}

// Its user has left.
bool is_success(const std::optional<siginfo_t>& end) { return end && end->si_code == CLD_EXITED && end->si_status == kExitSuccess; }

int fail(const Error& error) {
  print_error(error.message());
  return kExitFailure;
}

}  // namespace

std::string title_of(const RecordOptions& options) {
  if (options.target.whole_machine) return options.target.asked_for.empty() ? "whole machine" : options.target.asked_for;
  std::string title;
  if (!options.target.command.empty()) title = process::shown_arguments(options.target.command, arguments_of(options));
  if (!options.target.named.empty()) title = (options.target.named.find_first_not_of("0123456789, ") == std::string::npos ? "process " : "") + options.target.named;
  for (const Tid tid : options.target.tids) title += fmt::format("{}{}", title.empty() ? "thread " : ", ", tid);
  if (!options.target.asked_for.empty()) title += fmt::format(" ({})", options.target.asked_for);
  return title;
}

int run_record(const RecordOptions& asked) {
  RecordOptions options = asked;
  const bool quiet = options.verbosity == Verbosity::kQuiet;
  auto signals = StopSignals::open();
  if (!signals) return fail(signals.error());
  const InvokingUser user = options.as_root ? InvokingUser::effective() : InvokingUser::detect();

  const auto readers = recorder::Readers::start();
  if (!readers) return fail(readers.error());
  std::optional<LaunchedCommand> command;
  std::vector<std::string> told;
  if (!options.target.command.empty()) {
    if (options.jit_options) told = runtime_environment(options.target.command, user, quiet);
    if (!told.empty() && !quiet) print_note(fmt::format("the command gets {}, for the names of its functions; --no-jit-options: it does not", fmt::join(told, " and ")));
    auto held = LaunchedCommand::hold(options.target.command, user, told, options.command_terminal ? options.command_terminal->get() : -1);
    if (options.command_terminal) options.command_terminal->reset();  // so that its end is seen at the other side
    if (!held) {
      print_error(held.error().message());
      return LaunchedCommand::exit_code_of(held.error());
    }
    command.emplace(std::move(*held));
  }

  bpf_source::keep_needed_privileges();  // before this starts a thread
  signals->watch();
  const auto maps = std::make_shared<PerfMaps>();
  if (!told.empty()) maps->note(command->pid());
  const bool progress = shows_progress(options);
  const auto open = [&](const RecordOptions& what) {
    recorder::RecorderConfig config;
    if (!told.empty()) config.lifecycle.on_fork = [maps](const process::ProcessInfo& process) { maps->note(process.pid); };
    config.sampling = sampling_config(what, command);
    config.session.command_line = kept_command_line(what);
    config.session.names = symbolize_options(what, user);
    config.session.retention = what.retention;
    if (progress) config.session.functions = profile::CallTreeOptions{.include_idle = what.include_idle};
    return recorder::open(*readers, std::move(config));
  };
  auto opened = open(options);
  if (!opened) return fail(opened.error());
  std::unique_ptr<engine::Session> session = std::move(*opened);
  const sink::SinkOptions sink_options = sink_options_of(options, user);
  if (const Result<void> added = add_sinks(*session, options, sink_options); !added) return fail(added.error());
  ViewerControls controls(options, command ? std::optional(command->pid()) : std::nullopt, [&] { return readers->cpu_ns(); });
  controls.show(*session);
  std::unique_ptr<attach::ViewerServer> viewers;
  if (options.attachable || options.viewer) {
    auto served = serve_viewers(controls, options, user);
    if (!served) return fail(served.error());
    viewers = std::move(*served);
    if (!quiet && options.attachable) print_note(fmt::format("look at it with: cicada report --attach {}", ::getpid()));
  }
  if (const Result<void> started = session->start(); !started) return fail(started.error());
  controls.set_sampling(true);

  if (command) {
    if (const Result<void> released = command->release(); !released) {
      print_error(released.error().message());
      return LaunchedCommand::exit_code_of(released.error());
    }
  }
  std::optional<RecordProgress> shown;
  if (progress) shown.emplace(*session, options.duration_ns);

  std::vector<int> ends{signals->fd(), controls.stop_fd()};
  if (command) ends.push_back(command->exit_fd());
  if (options.viewer_process) ends.push_back(options.viewer_process->get());
  engine::StopRule rule;
  rule.duration_ns = options.duration_ns;
  rule.stop_fds = ends;
  rule.stop_fds.push_back(controls.change_fd());
  rule.when_targets_exit = !command;
  const auto begun = std::chrono::steady_clock::now();
  const auto left_ns = [&] { return *options.duration_ns - std::min<uint64_t>(*options.duration_ns, static_cast<uint64_t>((std::chrono::steady_clock::now() - begun).count())); };
  // What was collected before an exception is still written.
  Result<void> ran = catching("recording", [&] { return session->run(rule); });
  bool changed = false;
  while (ran && !any_readable(ends) && (!options.duration_ns || left_ns() != 0)) {
    const auto change = controls.take_change();
    if (!change) break;
    // What there is goes on until the other one runs.
    auto next = open(change->options);
    if (const Result<void> started = next ? (*next)->start() : next.error(); !started) {
      controls.refuse(started.error());
    } else {
      shown.reset();
      controls.show(**next, *change);
      options = change->options;
      session = std::move(*next);
      changed = true;
    }
    if (options.duration_ns) rule.duration_ns = left_ns();
    if (progress && !shown) shown.emplace(*session, rule.duration_ns);
    ran = catching("recording", [&] { return session->run(rule); });
  }
  shown.reset();
  if (!ran) print_error(ran.error().message());

  // Nothing of the command's end is sampled any more, but it is ended before results are written: it may print on the same terminal.
  controls.set_sampling(false);
  std::vector<std::string> failures;
  if (const Result<void> stopped = session->stop(); !stopped) failures.push_back(stopped.error().message());
  session->describe_retention();
  const std::optional<int> signal = signals->take();
  if (command && command->find_exit_code() && !signal && !changed) {
    session->header().runs = 1;
    session->header().runs_ns = session->header().duration_ns;
  }
  const bool left = is_success(find_end(options.viewer_process));  // then the command's terminal has gone as well, and its code says nothing
  const int command_code = command ? command->end(signal) : kExitSuccess;
  const int exit_code = left ? kExitSuccess : command_code;
  const bool stays = options.viewer && !signal;
  if (!stays) signals->let_through();

  std::vector<std::string> written;
  for (const engine::SinkOutcome& outcome : session->finish()) {
    if (outcome.error) {
      failures.push_back(outcome.error->message());
    } else {
      written.push_back(outcome.description);
    }
  }
  if (viewers) viewers->finish(stays ? kLastPicture : attach::ViewerServer::kEndTimeout);
  if (!told.empty()) maps->remove(user, session->profile().header.start_realtime_ns);
  if (written.empty() && !failures.empty()) {
    const Result<std::string> saved = write_elsewhere(session->profile(), sink_options);
    if (saved) written.push_back(*saved + ", because nothing else could be written");
    if (!saved || quiet) failures.push_back(saved ? written.back() : saved.error().message());
  }
  const std::optional<siginfo_t> viewer_end = find_end(options.viewer_process);
  const bool viewer_told = viewer_end && viewer_end->si_code == CLD_EXITED && viewer_end->si_status == kExitFailureTold;
  if (viewer_end && !is_success(viewer_end) && !viewer_told)
    failures.push_back(viewer_end->si_code == CLD_EXITED ? "the process that shows the recording has ended, so the recording has, too"
                                                         : fmt::format("the process that shows the recording was ended by signal {} ({}), so the recording has ended, too", viewer_end->si_status, ::strsignal(viewer_end->si_status)));
  diagnostics().tell_rest();
  if (!quiet && (options.summary || !written.empty())) print_summary(*session, options, std::move(written));
  for (const std::string& failure : failures) print_error(failure);
  if (options.open && failures.empty()) open_in_browser(*options.open, user);
  if (stays) stay_until_signal(*signals, options.viewer_process->get(), options.end_note);
  return failures.empty() && ran && !viewer_told ? exit_code : kExitFailure;
}

}  // namespace cicada::cli
