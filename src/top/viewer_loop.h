// SPDX-License-Identifier: Apache-2.0
// Runs the views in a terminal: what is pressed and what is sampled goes in, pictures come out.
//
//   a follower's thread ── put ──▶ Updates ──┐
//   what was asked for ── Background::take ──┤
//   keys, signals, the command's output ─────┴▶ run_viewer ──▶ App ──▶ Grid ──▶ Screen
//
// Keys are answered at once; what is sampled is drawn at most kDraws times a second.
#pragma once
#include <memory>
#include <mutex>
#include <optional>

#include "base/result.h"
#include "base/unique_fd.h"
#include "profile/snapshot.h"
#include "sink/flamegraph/page_feed.h"
#include "top/app.h"
#include "top/background.h"
#include "top/screen.h"

namespace cicada::top {

struct Update {
  std::shared_ptr<const profile::ProfileSnapshot> profile;
  sink::PageState state;
};

// The newest update only: what was not taken in time is replaced. Threads: any.
class Updates {
 public:
  static Result<std::unique_ptr<Updates>> open();
  void put(Update update);
  // Nothing: there is none that was not taken.
  std::optional<Update> take();
  int fd() const { return arrived_.get(); }  // readable when there is one

 private:
  explicit Updates(UniqueFd arrived) : arrived_(std::move(arrived)) {}
  const UniqueFd arrived_;
  std::mutex mutex_;
  std::optional<Update> newest_;
};

// SIGINT, SIGTERM and SIGHUP make this readable from now on. One of the process; before open_screen(), which would take them otherwise.
Result<UniqueFd> catch_end_signals();

// What App's ports have begun.
struct Backgrounds {
  Background& reads;  // files
  Background& trees;
};

// Until the reader leaves, or `ended` is readable. `command`: the terminal of the command that is recorded, as its other side; -1: there is none. It is
// told the screen's size. Borrows all. Threads: one.
void run_viewer(Screen& screen, App& app, Updates& updates, Backgrounds backgrounds, int ended, int command);

}  // namespace cicada::top
