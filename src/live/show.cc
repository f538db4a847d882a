// SPDX-License-Identifier: Apache-2.0
#include "live/show.h"

#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <utility>

#include "attach/viewer_socket.h"
#include "cli/exit_code.h"
#include "cli/quantity.h"
#include "cli/record/record.h"
#include "cli/terminal.h"

namespace cicada::live {
namespace {

using cli::InvokingUser;
using cli::Invocation;
using cli::NamedFiles;
using cli::RecordOptions;

constexpr const char* kUsuallyKept = "10m";
constexpr std::string_view kOfEveryViewer[] = {"FILE", "--attach", "--last", "--quiet", "--verbose"};

Result<engine::Retention> retention_of(const Asked& asked) {
  engine::Retention retention;
  retention.keep_ns = TRY(cli::parse_duration_ns(asked.raw.last.empty() ? kUsuallyKept : asked.raw.last, "--last"));
  return retention;
}

std::string recorder_name(const Asked& asked) { return fmt::format("recorder {}", asked.attach); }

Result<UniqueFd> follow_recorder(const Asked& asked, const InvokingUser& user) {
  UniqueFd socket = TRY(attach::connect_to_recorder(asked.attach, user.uid()));
  const std::string line = fmt::format("{}\n", attach::kFollow);
  // Who has said already why it does not want to does not hear it.
  if (::send(socket.get(), line.data(), line.size(), MSG_NOSIGNAL) < 0 && errno != EPIPE) return errno_error(errno, fmt::format("ask recorder {}", asked.attach));
  return socket;
}

// What is recorded already, or by others: a reader shows it.
Result<int> show_others(const std::shared_ptr<Asked>& asked, const std::shared_ptr<Viewer>& viewer, const Invocation& invocation) {
  const InvokingUser user = InvokingUser::detect();
  TRY(user.become());
  const auto socket = std::make_shared<UniqueFd>();
  const auto retention = std::make_shared<engine::Retention>();
  if (!asked->attach.empty()) *retention = TRY(retention_of(*asked));
  const cli::Command reader{nullptr,
                            [=](const Invocation& here) {
                              Recording recording = asked->attach.empty() ? Recording::of_file(*here.files, asked->file)
                                                                          : Recording::of_recorder(std::move(*socket), recorder_name(*asked), recorder_name(*asked), *retention, false);
                              const Result<int> done = viewer->show(recording);
                              if (done) return *done;
                              cli::print_error(done.error().message());
                              return cli::kExitFailure;
                            },
                            false,
                            [=]() -> Result<NamedFiles> {
                              NamedFiles named;
                              named.kind = viewer->kind;
                              if (asked->attach.empty()) named.inputs = {asked->file};
                              else *socket = TRY(follow_recorder(*asked, user));
                              if (viewer->open) named.kept = TRY(viewer->open(user, nullptr));
                              if (*socket) named.kept.push_back(socket->get());
                              return named;
                            }};
  const pid_t caller = ::getpid();
  const Result<int> code = cli::run_reader(reader, invocation);
  if (viewer->ended && ::getpid() == caller) viewer->ended(!code && code.error().kind() == ErrorKind::kGone);
  return code;
}

// Ends the viewer, and says so, on every way out.
class RunningViewer {
 public:
  RunningViewer(const Viewer& viewer, pid_t pid) : viewer_(viewer), pid_(pid) {}
  RunningViewer(const RunningViewer&) = delete;
  RunningViewer& operator=(const RunningViewer&) = delete;
  ~RunningViewer() {
    const int status = cli::end_reader(viewer_.kind, pid_);
    if (viewer_.ended) viewer_.ended(WIFSIGNALED(status));
  }

 private:
  const Viewer& viewer_;
  const pid_t pid_;
};

Result<int> record_and_show(Asked& asked, const Viewer& viewer, const Invocation& invocation) {
  cli::RawRecordOptions& raw = asked.raw;
  raw.command = invocation.after_dashes;
  raw.shown = true;
  if (!raw.no_lines) raw.lines = raw.lines || viewer.lines;
  if (raw.command.empty() && raw.processes.empty() && raw.threads.empty()) raw.whole_machine = true;
  const engine::Retention retention = TRY(retention_of(asked));
  if (raw.last.empty() && raw.outputs.empty()) raw.last = kUsuallyKept;
  RecordOptions record = TRY(cli::check_record_options(raw));
  record.command_line = invocation.command_line;
  record.changeable = std::make_shared<const cli::RawRecordOptions>(raw);
  record.end_note = viewer.end_note;
  record.summary = viewer.summary;
  const InvokingUser user = record.as_root ? InvokingUser::effective() : InvokingUser::detect();
  std::vector<int> kept;
  if (viewer.open) kept = TRY(viewer.open(user, &record));
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return errno_error(errno, "a socket between recorder and viewer");
  record.viewer = std::make_shared<UniqueFd>(ends[0]);
  UniqueFd recorder(ends[1]);
  kept.push_back(recorder.get());
  const pid_t pid = TRY(cli::start_reader(viewer.kind, kept, user, [&] {
    Recording recording = Recording::of_recorder(std::move(recorder), "the recorder", cli::title_of(record), retention, true);
    const Result<int> done = viewer.show(recording);
    if (done) return *done;
    if (done.error().kind() == ErrorKind::kGone) return cli::kExitFailure;  // the recorder says itself why it ends
    cli::print_error(done.error().message());
    return cli::kExitFailureTold;
  }));
  recorder.reset();
  const RunningViewer running(viewer, pid);
  if (viewer.begun) viewer.begun(user);
  cli::show_diagnostics(record.verbosity != cli::Verbosity::kQuiet, record.verbosity == cli::Verbosity::kVerbose);
  record.viewer_process = std::make_shared<UniqueFd>(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  return cli::run_record(record);
}

// Says how something is recorded; nothing: there is none. A file and a recorder are shown as they are.
std::string option_for_recordings(const CLI::App& parser, const Viewer& viewer, const Invocation& invocation) {
  if (!invocation.after_dashes.empty()) return "-- " + invocation.after_dashes[0];
  const auto shows = [&](const std::string& name) {
    const auto names = [&](std::string_view one) { return name.find(one) != std::string::npos; };
    return std::ranges::any_of(kOfEveryViewer, names) || std::ranges::any_of(viewer.options, names);
  };
  for (const CLI::Option* option : parser.get_options())
    if (option->count() != 0 && !shows(option->get_name(true, true))) return option->get_name();
  return "";
}

}  // namespace

int show(const CLI::App& parser, const std::shared_ptr<Asked>& asked, const std::shared_ptr<Viewer>& viewer, const Invocation& invocation) {
  if (!asked->is_ours()) {
    cli::show_diagnostics(!asked->raw.quiet, asked->raw.verbose);
    if (const std::string extra = option_for_recordings(parser, *viewer, invocation); !extra.empty()) {
      cli::print_error(asked->file.empty() ? fmt::format("{}: it is for a recording of our own, not for that of {}", extra, recorder_name(*asked)) : fmt::format("{}: it is for what is recorded now, not for a file ({})", extra, asked->file));
      return cli::kExitFailure;
    }
  }
  const Result<int> code = asked->is_ours() ? record_and_show(*asked, *viewer, invocation) : show_others(asked, viewer, invocation);
  if (code) return *code;
  cli::print_error(code.error().message());
  return cli::kExitFailure;
}

void add_options(CLI::App& command, Asked& asked) {
  CLI::Option* file = command.add_option("FILE", asked.file, "a recording, folded stacks or pprof, instead of something that runs")->group("What to show");
  command.add_option("--attach", asked.attach, "what another recorder records, see record --attachable (default: a recording of our own)")->type_name("PID|SOCKET")->excludes(file)->group("What to show");
}

}  // namespace cicada::live
