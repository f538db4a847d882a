// SPDX-License-Identifier: Apache-2.0
// What viewers of a recording may ask of it: to pause, to go on, to end, and to begin anew with other events, or with some of the machine's processes only.
//
//   ViewerServer ── a line ──▶ ViewerControls ── stop_fd, change_fd ──▶ run_record
//                ◀── snapshot, moment ──      ◀── show ──
//
// Where results are written nothing begins anew: what was recorded would be lost. Nobody gets to see more than the command line named: processes can only be chosen where
// that named the whole machine.
// Threads: lines, snapshots and moments are the server's thread's, the rest is run_record's.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "attach/viewer_server.h"
#include "base/unique_fd.h"
#include "cli/record/record_options.h"
#include "engine/session.h"

namespace cicada::cli {

class ViewerControls {
 public:
  // What is asked for instead.
  struct Change {
    RecordOptions options;
    std::string events, processes;  // as asked
  };

  // `command`: what was launched, if anything was; it goes on, whatever is recorded of it. `cpu_of_readers`: what processes that
  // read for it used, ns; empty: there are none.
  ViewerControls(const RecordOptions& options, std::optional<Pid> command, std::function<uint64_t()> cpu_of_readers = {});
  attach::ViewerServer::Controls controls();
  std::shared_ptr<const profile::ProfileSnapshot> snapshot() const;

  // Viewers are shown this one from now on. It outlives what they are shown of it.
  void show(engine::Session& session);
  void show(engine::Session& session, const Change& change);
  void set_sampling(bool samples);  // between its start and its stop: only then it can pause
  // Why it was not done.
  void refuse(const Error& error);

  // Readable: somebody wants it to end, to begin anew. For poll().
  int stop_fd() const { return stop_.get(); }
  int change_fd() const { return change_.get(); }
  // What is asked for. Nothing: nothing, or that was taken already.
  std::optional<Change> take_change();

  // What was recorded, with other events and processes. Fails: kInvalid and as check_record_options().
  Result<RecordOptions> changed(std::string_view events, std::string_view processes) const;

 private:
  bool take(std::string_view line);
  void take_record(std::string_view asked);

  const RecordOptions options_;
  const std::optional<Pid> command_;
  const std::function<uint64_t()> cpu_of_readers_;
  const UniqueFd stop_, change_;
  mutable std::mutex mutex_;
  engine::Session* session_ = nullptr;
  bool samples_ = false;
  sink::Moment moment_;
  std::optional<Change> asked_;
};

}  // namespace cicada::cli
