// SPDX-License-Identifier: Apache-2.0
// Shows recordings in the terminal (live/show.h): who draws can read, and write to the terminal.
#include <poll.h>
#include <sys/socket.h>

#include <CLI/CLI.hpp>
#include <array>
#include <cerrno>
#include <memory>
#include <optional>

#include "attach/viewer_socket.h"
#include "cli/exit_code.h"
#include "cli/help_formatter.h"
#include "cli/record/record_command.h"
#include "cli/top.h"
#include "base/catching.h"
#include "live/file_maker.h"
#include "live/show.h"
#include "sandbox/read_only.h"
#include "sink/sink_registry.h"
#include "top/background.h"
#include "top/command_terminal.h"
#include "top/json_lines.h"
#include "top/kept_terminal.h"
#include "top/run_states.h"
#include "top/viewer_loop.h"

namespace cicada::cli {
namespace {

constexpr int kAnswerTimeoutMs = 10'000;  // of another recorder
constexpr size_t kMostEarlyOutput = 1 << 20;

struct TopOptions {
  bool json = false;
  std::optional<top::KeptTerminal> terminal = {};
  UniqueFd command = {};  // where its output comes from
  UniqueFd files = {};    // who makes them (live/file_maker.h)
};

Result<void> write_file(const std::shared_ptr<live::MadeFiles>& files, const std::string& extension, const std::string& title, const profile::ProfileSnapshot& profile, profile::EventId event) {
  return catching("write " + extension, [&]() -> Result<void> {
    sink::SinkOptions options;
    options.title = title;
    options.rights.opener = files;
    if (extension != ".cicada" && extension != ".html") options.tree.event = event;  // those have all
    const auto sink = TRY(sink::make_sink("cicada" + extension, options));
    return sink->finish(profile);
  });
}

// Until a recorder says something, so that one which cannot begin says so on a screen that is as it was. The command may write meanwhile. False: it is over.
Result<bool> wait_for_recorder(const live::Recording& recording, int ended, int command, std::string& output) {
  if (recording.is_file()) return true;
  std::array<char, 1 << 14> piece;
  for (;;) {
    std::array polled{pollfd{recording.fd(), POLLIN, 0}, pollfd{ended, POLLIN, 0}, pollfd{command, POLLIN, 0}};
    const int ready = ::poll(polled.data(), polled.size(), recording.is_ours() ? -1 : kAnswerTimeoutMs);
    if (ready < 0 && errno == EINTR) continue;
    if (ready < 0) return errno_error(errno, "wait for a recorder");
    if (ready == 0) return make_error(ErrorKind::kLimit, "{}: no answer; is it stopped?", recording.name());
    if (polled[1].revents != 0) return false;
    if (polled[0].revents != 0) {
      char byte;
      if (::recv(recording.fd(), &byte, 1, MSG_PEEK) > 0) return true;
      return make_error(ErrorKind::kGone, "{}: it ended before it said anything", recording.name());
    }
    const ssize_t got = ::read(command, piece.data(), piece.size());
    if (got > 0 && output.size() < kMostEarlyOutput) output.append(piece.data(), static_cast<size_t>(got));
    if (got <= 0 && errno != EINTR && errno != EAGAIN) command = -1;
  }
}

Result<int> show_in_terminal(TopOptions& options, live::Recording& recording) {
  const UniqueFd ended = TRY(top::catch_end_signals());
  TRY(recording.load());
  const auto updates = TRY(top::Updates::open());
  std::string output;
  if (!TRY(wait_for_recorder(recording, ended.get(), options.command.get(), output))) return kExitSuccess;
  const auto screen = TRY(top::open_screen());
  std::unique_ptr<live::RecordingFollower> follower;
  const auto reads = TRY(top::Background::start("cicada-reads"));
  const auto trees = TRY(top::Background::start("cicada-trees"));
  top::AppPorts ports;
  ports.read_source = [&](top::SourceQuestion question) {
    reads->run([question = std::move(question)] { return [answer = top::read_source(question)](top::App& app) { app.show_source(answer); }; });
  };
  const auto files = std::make_shared<live::MadeFiles>(std::move(options.files));
  ports.write = [&](std::string extension, std::shared_ptr<const profile::ProfileSnapshot> profile, profile::EventId event) {
    reads->run([=, title = recording.title()] {
      const Result<void> done = write_file(files, extension, title, *profile, event);
      return [text = done ? fmt::format("written to {}", files->name()) : done.error().message()](top::App& app) { app.say(text); };
    });
  };
  ports.make_tree = [&](top::Shape shape, std::shared_ptr<const profile::ProfileSnapshot> profile) {
    trees->run([shape = std::move(shape), profile = std::move(profile)] {
      return [made = std::make_shared<top::ShapedTree>(top::make_tree(shape, *profile))](top::App& app) { app.take_tree(std::move(*made)); };
    });
  };
  ports.send = [&](std::string_view sequence) { screen->send(sequence); };
  top::RunStates run_states;
  if (!recording.is_file()) ports.run_state = [&](Pid pid, uint64_t start_ns, Tid tid) { return run_states.of(pid, start_ns, tid); };
  if (!recording.is_file()) ports.control = [&](std::string_view line) { return follower->control(line); };
  top::App app(recording.title(), std::move(ports));
  if (!output.empty()) app.add_output(output);
  follower = TRY(recording.follow([&](std::shared_ptr<const profile::ProfileSnapshot> now, sink::PageState state) { updates->put({std::move(now), std::move(state)}); }));
  top::run_viewer(*screen, app, *updates, {*reads, *trees}, ended.get(), options.command.get());
  return kExitSuccess;
}

Result<int> print_lines(live::Recording& recording) {
  const UniqueFd ended = TRY(top::catch_end_signals());
  TRY(recording.load());
  TRY(sandbox::open_no_more());
  const auto updates = TRY(top::Updates::open());
  const auto follower = TRY(recording.follow([&](std::shared_ptr<const profile::ProfileSnapshot> now, sink::PageState state) { updates->put({std::move(now), std::move(state)}); }));
  TRY(top::print_json_lines(*updates, ended.get()));
  return kExitSuccess;
}

std::shared_ptr<live::Viewer> viewer_of(const std::shared_ptr<TopOptions>& options) {
  live::Viewer viewer;
  viewer.kind = ReaderKind::kShows;
  viewer.options = {"--json"};
  viewer.summary = false;
  viewer.lines = true;
  if (options->json) {
    viewer.show = [](live::Recording& recording) { return print_lines(recording); };
    return std::make_shared<live::Viewer>(std::move(viewer));
  }
  viewer.open = [options](const InvokingUser& user, RecordOptions* record) -> Result<std::vector<int>> {
    options->terminal = TRY(top::KeptTerminal::keep());
    options->files = TRY(live::start_file_maker(user));
    if (record == nullptr || record->target.command.empty()) return std::vector{options->files.get()};
    top::CommandTerminal terminal = TRY(top::open_command_terminal(user));
    record->command_terminal = std::make_shared<UniqueFd>(std::move(terminal.command));
    options->command = std::move(terminal.viewer);
    return std::vector{options->files.get(), options->command.get()};
  };
  viewer.begun = [options](const InvokingUser&) {
    options->command.reset();
    options->files.reset();
    options->terminal->hold_messages();
  };
  viewer.show = [options](live::Recording& recording) { return show_in_terminal(*options, recording); };
  viewer.ended = [options](bool by_signal) {
    if (options->terminal) options->terminal->give_back(by_signal);
  };
  return std::make_shared<live::Viewer>(std::move(viewer));
}

std::string footer() {
  return "Examples:\n"
         "  sudo cicada top                    the whole machine, as it runs\n"
         "  sudo cicada top -p nginx           a program\n"
         "  sudo cicada top -- ./program       a command\n"
         "  cicada top --attach 4711           what `cicada record --attachable` records\n"
         "  cicada top cicada.cicada           a recording; the same as `cicada report --tui cicada.cicada`\n"
         "\nWhen what is recorded ends, the last picture stays until you leave with q.";
}

}  // namespace

Command add_top_command(CLI::App& app) {
  auto asked = std::make_shared<live::Asked>();
  auto options = std::make_shared<TopOptions>();
  CLI::App* command = app.add_subcommand("top", "look at it in the terminal while it runs: the machine, a program, a recording");
  command->formatter(std::make_shared<HelpFormatter>("cicada top [OPTIONS] [FILE | --attach PID | -- CMD… | -p PID|NAME,…]"));
  command->footer(footer());
  live::add_options(*command, *asked);
  command->add_flag("--json", options->json, "for machines: a line of JSON each second, on standard output; needs no terminal")->group("What to show");
  add_record_options(*command, asked->raw);
  for (CLI::Option* option : command->get_options()) option->allow_extra_args(false);
  return {command, [asked, options, parser = command](const Invocation& invocation) { return live::show(*parser, asked, viewer_of(options), invocation); }, true};
}

}  // namespace cicada::cli
