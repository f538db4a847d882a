// SPDX-License-Identifier: Apache-2.0
// Shows a recording from a process that has no rights: what `serve` and `top` have in common.
//
//   FILE, --attach PID    who called it opens everything ── fork ──▶ reader: shows, until its user leaves
//   CMD, -p, -a           recorder ── a recording as it grows ──▶ reader: shows, until it leaves or the recorder ends it
//
// A command says in a Viewer what it needs and how it shows. Where a part of it runs is said at each part.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cli/command.h"
#include "cli/input/reader.h"
#include "cli/invoking_user.h"
#include "cli/record/record_options.h"
#include "live/recording.h"

namespace cicada::live {

// As the command line says it.
struct Asked {
  cli::RawRecordOptions raw;  // of a recording of our own
  std::string file, attach;   // one at most: it is recorded already, or by others
  bool is_ours() const { return file.empty() && attach.empty(); }
};

// Threads: one. Ports may be empty, but show.
struct Viewer {
  cli::ReaderKind kind = cli::ReaderKind::kServes;
  // Of the command's options those that say how it is shown: the rest says how something is recorded.
  std::vector<std::string_view> options = {};
  bool summary = true;  // of a recording of our own that is written nowhere, at its end
  bool lines = false;   // it shows files and lines, too, unless the command line says something else
  // What the recorder says when it has ended and the viewer has not.
  std::string end_note = {};

  // In who called it, before there is another process: opens what the viewer needs, and returns the descriptors that it keeps. `record`: what we record;
  // null: a file, another recorder.
  std::function<Result<std::vector<int>>(const cli::InvokingUser& user, cli::RecordOptions* record)> open = {};
  // In the recorder: the viewer runs.
  std::function<void(const cli::InvokingUser& user)> begun = {};
  // In the viewer. Returns its exit code; of our own recorder's viewer, 0 ends the recording, and anything else is a failure of it.
  std::function<Result<int>(Recording& recording)> show = {};
  // In who called it, when the viewer has ended, whatever happened. `by_signal`: it could not clean up.
  std::function<void(bool by_signal)> ended = {};
};

// Returns cicada's exit code. Says itself what failed.
int show(const CLI::App& parser, const std::shared_ptr<Asked>& asked, const std::shared_ptr<Viewer>& viewer, const cli::Invocation& invocation);

// FILE and --attach, as options of `command`.
void add_options(CLI::App& command, Asked& asked);

}  // namespace cicada::live
