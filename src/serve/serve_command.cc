// SPDX-License-Identifier: Apache-2.0
// Shows recordings in browsers (live/show.h): who answers can read, and answer on sockets that it was given.
#include "cli/serve.h"

#include <CLI/CLI.hpp>
#include <memory>

#include "cli/exit_code.h"
#include "cli/help_formatter.h"
#include "cli/record/record_command.h"
#include "live/show.h"
#include "sandbox/read_only.h"
#include "serve/page_door.h"

namespace cicada::cli {
namespace {

struct ServeOptions {
  std::string listen;
  bool no_token = false, open = false;
  PageDoor door = {};  // of who answers
};

Result<int> serve_recording(ServeOptions& options, live::Recording& recording) {
  hold_signals();
  TRY(recording.load());
  TRY(sandbox::open_no_more());
  serve::LiveContent content(recording.title(), recording.keep_ns());
  std::unique_ptr<live::RecordingFollower> follower;
  if (!recording.is_file() && !options.no_token) content.set_control([&](std::string_view line) { return follower->control(line); });
  follower = TRY(recording.follow([&](std::shared_ptr<const profile::ProfileSnapshot> now, sink::PageState state) { content.update(std::move(now), std::move(state)); }));
  if (!recording.is_ours()) tell_address(options.door, false, InvokingUser::detect());
  TRY(answer_at(options.door, content, recording.is_ours()));
  return kExitSuccess;
}

std::shared_ptr<live::Viewer> viewer_of(const std::shared_ptr<ServeOptions>& options) {
  live::Viewer viewer;
  viewer.kind = ReaderKind::kServes;
  viewer.options = {"--listen", "--no-token", "--open"};
  viewer.end_note = "the recording has ended; its page stays until Ctrl-C";
  viewer.open = [options](const InvokingUser& user, const RecordOptions* record) -> Result<std::vector<int>> {
    options->door = TRY(open_page_door(options->listen, !options->no_token, user));
    if (record == nullptr && options->open) open_address(options->door, user);
    return std::vector{options->door.listener.fd.get()};
  };
  viewer.begun = [options](const InvokingUser& user) {
    options->door.listener.fd.reset();
    tell_address(options->door, options->open, user);
  };
  viewer.show = [options](live::Recording& recording) { return serve_recording(*options, recording); };
  return std::make_shared<live::Viewer>(std::move(viewer));
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
  auto asked = std::make_shared<live::Asked>();
  auto options = std::make_shared<ServeOptions>();
  CLI::App* command = app.add_subcommand("serve", kServeDescription);
  command->formatter(std::make_shared<HelpFormatter>("cicada serve [OPTIONS] [FILE | --attach PID | -- CMD… | -p PID|NAME,…]"));
  command->footer(footer());
  live::add_options(*command, *asked);
  command->add_option("--listen", options->listen, "where: PORT, ADDRESS:PORT or unix:PATH (default: a free port of 127.0.0.1)")->type_name("WHERE")->group("Page");
  command->add_flag("--no-token", options->no_token, "no secret word in the address: for collectors on this machine")->group("Page");
  command->add_flag("--open", options->open, "show it in the browser at once")->group("Page");
  add_record_options(*command, asked->raw);
  for (CLI::Option* option : command->get_options()) option->allow_extra_args(false);
  return {command, [asked, options, parser = command](const Invocation& invocation) { return live::show(*parser, asked, viewer_of(options), invocation); }, true};
}

}  // namespace cicada::cli
