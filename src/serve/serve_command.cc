// SPDX-License-Identifier: Apache-2.0
// Who shows has no rights: a process that can read, and answer on sockets that it was given.
//
//   serve FILE, serve --attach PID    who called it opens everything ── fork ──▶ reader (input/reader.h): answers until Ctrl-C
//   serve [--] CMD, -p, -a            recorder ── a recording as it grows ──▶ reader: answers until the recorder ends it
#include "cli/serve.h"

#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iterator>
#include <memory>

#include "attach/viewer_socket.h"
#include "cli/exit_code.h"
#include "cli/help_formatter.h"
#include "cli/input/reader.h"
#include "cli/input/report_input.h"
#include "cli/quantity.h"
#include "cli/record/record.h"
#include "cli/record/record_command.h"
#include "serve/page_door.h"
#include "cli/terminal.h"
#include "sandbox/read_only.h"
#include "serve/recording_follower.h"

namespace cicada::cli {
namespace {

constexpr const char* kUsuallyKept = "10m";
constexpr std::string_view kShowing[] = {"FILE", "--attach", "--listen", "--no-token", "--open", "--last", "--quiet", "--verbose"};

struct ServeOptions {
  RawRecordOptions raw;
  std::string file, attach, listen;
  bool no_token = false, open = false;
  // Of who answers:
  PageDoor door = {};
  UniqueFd recorder = {};
  engine::Retention retention = {};
};

Result<engine::Retention> retention_of(const ServeOptions& options) {
  engine::Retention retention;
  retention.keep_ns = TRY(parse_duration_ns(options.raw.last.empty() ? kUsuallyKept : options.raw.last, "--last"));
  return retention;
}

Result<int> serve_recorder(ServeOptions& options, const std::string& name, const std::string& title, bool until_killed) {
  hold_signals();
  TRY(sandbox::open_no_more());
  serve::LiveContent content(title, options.retention.keep_ns);
  std::unique_ptr<serve::RecordingFollower> follower;
  if (!options.no_token) content.set_control([&](std::string_view line) { return follower->control(line); });
  follower = TRY(serve::RecordingFollower::start(std::move(options.recorder), name, options.retention, !until_killed,
                                                            [&](std::shared_ptr<const profile::ProfileSnapshot> now, sink::PageState state) { content.update(std::move(now), std::move(state)); }));
  if (!until_killed) tell_address(options.door, false, InvokingUser::detect());
  TRY(answer_at(options.door, content, until_killed));
  return kExitSuccess;
}

Result<int> serve_file(ServeOptions& options, const ReaderFiles& files) {
  hold_signals();
  profile::Profile profile = TRY(load_profile(files, options.file));
  TRY(sandbox::open_no_more());
  serve::LiveContent content(options.file);
  content.update(std::make_shared<const profile::ProfileSnapshot>(profile), {.ended = "a recording"});
  tell_address(options.door, false, InvokingUser::detect());
  TRY(answer_at(options.door, content, false));
  return kExitSuccess;
}

// Before rights are given up: what is answered at, and what is shown.
Result<NamedFiles> name_files(ServeOptions& options) {
  const InvokingUser user = InvokingUser::detect();
  NamedFiles named;
  named.serves = true;
  if (options.attach.empty()) {
    named.inputs = {options.file};
  } else {
    options.retention = TRY(retention_of(options));
    options.recorder = TRY(attach::connect_to_recorder(options.attach, user.uid()));
    const std::string line = fmt::format("{}\n", attach::kFollow);
    // Who has said already why it does not want to does not hear it.
    if (::send(options.recorder.get(), line.data(), line.size(), MSG_NOSIGNAL) < 0 && errno != EPIPE) return errno_error(errno, fmt::format("ask recorder {}", options.attach));
    named.kept.push_back(options.recorder.get());
  }
  options.door = TRY(open_page_door(options.listen, !options.no_token, user));
  named.kept.push_back(options.door.listener.fd.get());
  return named;
}

Result<int> show_recording(const std::shared_ptr<ServeOptions>& options, const Invocation& invocation) {
  const InvokingUser user = InvokingUser::detect();
  TRY(user.become());
  const Command reader{nullptr,
                       [options](const Invocation& here) {
                         const Result<int> done = options->attach.empty() ? serve_file(*options, *here.files) : serve_recorder(*options, fmt::format("recorder {}", options->attach), fmt::format("recorder {}", options->attach), false);
                         if (done) return *done;
                         print_error(done.error().message());
                         return kExitFailure;
                       },
                       false,
                       [options, user]() -> Result<NamedFiles> {
                         NamedFiles named = TRY(name_files(*options));
                         if (options->open) open_address(options->door, user);
                         return named;
                       }};
  return run_reader(reader, invocation);
}

Result<int> record_and_show(ServeOptions& options, const Invocation& invocation) {
  RawRecordOptions& raw = options.raw;
  raw.command = invocation.after_dashes;
  raw.shown = true;
  if (raw.command.empty() && raw.processes.empty() && raw.threads.empty()) raw.whole_machine = true;
  options.retention = TRY(retention_of(options));
  if (raw.last.empty() && raw.outputs.empty()) raw.last = kUsuallyKept;
  RecordOptions record = TRY(check_record_options(raw));
  record.command_line = invocation.command_line;
  record.changeable = std::make_shared<const RawRecordOptions>(raw);
  const InvokingUser user = record.as_root ? InvokingUser::effective() : InvokingUser::detect();
  options.door = TRY(open_page_door(options.listen, !options.no_token, user));
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return errno_error(errno, "a socket between recorder and viewer");
  record.viewer = std::make_shared<UniqueFd>(ends[0]);
  options.recorder = UniqueFd(ends[1]);
  const std::vector<int> kept{options.recorder.get(), options.door.listener.fd.get()};
  const pid_t viewer = TRY(start_reader(kept, user, [&] {
    const Result<int> done = serve_recorder(options, "the recorder", title_of(record), true);
    if (!done && done.error().kind() != ErrorKind::kGone) print_error(done.error().message());  // the recorder says itself why it ends
    return kExitFailure;
  }));
  options.recorder.reset();
  options.door.listener.fd.reset();
  tell_address(options.door, options.open, user);
  show_diagnostics(record.verbosity != Verbosity::kQuiet, record.verbosity == Verbosity::kVerbose);
  record.viewer_process = std::make_shared<UniqueFd>(static_cast<int>(::syscall(SYS_pidfd_open, viewer, 0)));
  const int code = run_record(record);
  end_reader(viewer);
  return code;
}

// Says how something is recorded; nothing: there is none. A file and a recorder are shown as they are.
std::string option_for_recordings(const CLI::App& parser, const Invocation& invocation) {
  if (!invocation.after_dashes.empty()) return invocation.after_dashes[0];
  const auto shows = [](const std::string& name) { return std::any_of(std::begin(kShowing), std::end(kShowing), [&](std::string_view one) { return name.find(one) != std::string::npos; }); };
  for (const CLI::Option* option : parser.get_options())
    if (option->count() != 0 && !shows(option->get_name(true, true))) return option->get_name();
  return "";
}

std::string footer() {
  return "Examples:\n"
         "  sudo cicada serve                    the whole machine, as it runs\n"
         "  sudo cicada serve -p nginx --open    a program, in your browser at once\n"
         "  sudo cicada serve -- ./program       a command\n"
         "  cicada serve --attach 4711           what `cicada record --attachable` records\n"
         "  cicada serve cicada.cicada           a recording\n"
         "\nPull-based collectors and `go tool pprof` read ADDRESS/debug/pprof/profile?seconds=10.\n"
         "When what is recorded ends, the page stays until Ctrl-C.";
}

}  // namespace

Command add_serve_command(CLI::App& app) {
  auto options = std::make_shared<ServeOptions>();
  CLI::App* command = app.add_subcommand("serve", kServeDescription);
  command->formatter(std::make_shared<HelpFormatter>("cicada serve [OPTIONS] [FILE | --attach PID | -- CMD… | -p PID|NAME,…]"));
  command->footer(footer());
  CLI::Option* file = command->add_option("FILE", options->file, "a recording, folded stacks or pprof, instead of something that runs")->group("What to show");
  command->add_option("--attach", options->attach, "what another recorder records, see record --attachable (default: a recording of our own)")->type_name("PID|SOCKET")->excludes(file)->group("What to show");
  command->add_option("--listen", options->listen, "where: PORT, ADDRESS:PORT or unix:PATH (default: a free port of 127.0.0.1)")->type_name("WHERE")->group("Page");
  command->add_flag("--no-token", options->no_token, "no secret word in the address: for collectors on this machine")->group("Page");
  command->add_flag("--open", options->open, "show it in the browser at once")->group("Page");
  add_record_options(*command, options->raw);
  for (CLI::Option* option : command->get_options()) option->allow_extra_args(false);
  return {command,
          [options, parser = command](const Invocation& invocation) {
            const bool shows = !options->file.empty() || !options->attach.empty();
            if (shows) show_diagnostics(!options->raw.quiet, options->raw.verbose);
            if (const std::string extra = shows ? option_for_recordings(*parser, invocation) : ""; !extra.empty()) {
              print_error(fmt::format("{}: it is for what is recorded now, and {} was recorded by others", extra, options->file.empty() ? "recorder " + options->attach : options->file));
              return kExitFailure;
            }
            const Result<int> code = shows ? show_recording(options, invocation) : record_and_show(*options, invocation);
            if (code) return *code;
            print_error(code.error().message());
            return kExitFailure;
          },
          true};
}

}  // namespace cicada::cli
