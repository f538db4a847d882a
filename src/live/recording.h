// SPDX-License-Identifier: Apache-2.0
// What is shown, in the process that shows it: a file, what another recorder records, or what the process records that started this one.
//
// Threads: one. What follow() returns must not outlive what its port uses.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "base/unique_fd.h"
#include "cli/input/reader.h"
#include "engine/retention.h"
#include "live/recording_follower.h"
#include "profile/profile.h"

namespace cicada::live {

class Recording {
 public:
  // Borrows `files` until load().
  static Recording of_file(const cli::ReaderFiles& files, std::string path);
  // `socket` was asked for a recording. `name`: what messages call the recorder. `is_ours`: it started this process, and ends it.
  static Recording of_recorder(UniqueFd socket, std::string name, std::string title, engine::Retention retention, bool is_ours);

  const std::string& title() const { return title_; }
  std::optional<uint64_t> keep_ns() const { return retention_.keep_ns; }
  bool is_file() const { return files_ != nullptr; }
  bool is_ours() const { return is_ours_; }
  // Of a recorder: readable when something came. -1: a file.
  int fd() const { return socket_.get(); }
  const std::string& name() const { return name_; }
  // Reads a file, and the debug files that its names come from: before files can be opened no more. Fails: as load_profile().
  Result<void> load();
  // Hands on all there is, and then what comes. Null: nothing comes. Call once, after load(). Fails: as RecordingFollower::start().
  Result<std::unique_ptr<RecordingFollower>> follow(RecordingFollower::Show show);

 private:
  Recording() = default;
  const cli::ReaderFiles* files_ = nullptr;
  std::string name_, title_;  // of a file: its path
  std::optional<profile::Profile> profile_;
  UniqueFd socket_;
  engine::Retention retention_;
  bool is_ours_ = false;
};

}  // namespace cicada::live
