// SPDX-License-Identifier: Apache-2.0
// What `cicada top` shows: views of a profile that grows, and what keys do in them. It knows no terminal and no recorder.
//
//   snapshots ──▶ update ─┐
//   keys      ──▶ press  ─┴▶ App ──▶ draw ──▶ Grid
//
// Threads: one.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "profile/snapshot.h"
#include "sink/flamegraph/page_feed.h"
#include "top/grid.h"
#include "top/screen.h"
#include "top/process_table.h"
#include "top/source.h"

namespace cicada::top {

struct AppPorts {
  // A line for the recorder (attach/viewer_socket.h); none: a recording that is finished.
  std::function<Result<void>(std::string_view)> control = {};
  // Answered by show_source(), some time. None: there is no source.
  std::function<void(SourceQuestion)> read_source = {};
  // Answered by take_tree(), some time. None: it is made at once.
  std::function<void(Shape, std::shared_ptr<const profile::ProfileSnapshot>)> make_tree = {};
  // All there is now, in the format of that extension; say() tells how it went. None: nothing can be written.
  std::function<void(std::string extension, std::shared_ptr<const profile::ProfileSnapshot>, profile::EventId)> write = {};
  // What threads do now, if they are of this machine (top/run_states.h). None: nobody knows.
  ProcessTable::RunState run_state = {};
  // An escape sequence for the terminal.
  std::function<void(std::string_view)> send = {};
};

class App {
 public:
  App(std::string title, AppPorts ports);
  ~App();
  // Later than the last one, or of another profile.
  void update(std::shared_ptr<const profile::ProfileSnapshot> now, sink::PageState state);
  // What the command that is recorded has printed since, as it came.
  void add_output(std::string_view bytes);
  void show_source(SourceAnswer answer);
  void take_tree(ShapedTree tree);
  void say(std::string text);  // until the next key
  // False: the reader wants to leave.
  bool press(const Input& input);
  void draw(Grid& grid, bool colours);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace cicada::top
