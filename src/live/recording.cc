// SPDX-License-Identifier: Apache-2.0
#include "live/recording.h"

#include <utility>

#include "base/check.h"
#include "cli/input/report_input.h"

namespace cicada::live {

Recording Recording::of_file(const cli::ReaderFiles& files, std::string path) {
  Recording recording;
  recording.files_ = &files;
  recording.name_ = recording.title_ = std::move(path);
  return recording;
}

Recording Recording::of_recorder(UniqueFd socket, std::string name, std::string title, engine::Retention retention, bool is_ours) {
  Recording recording;
  recording.socket_ = std::move(socket);
  recording.name_ = std::move(name);
  recording.title_ = std::move(title);
  recording.retention_ = retention;
  recording.is_ours_ = is_ours;
  return recording;
}

Result<void> Recording::load() {
  if (is_file()) profile_ = TRY(cli::load_profile(*files_, name_));
  return {};
}

Result<std::unique_ptr<RecordingFollower>> Recording::follow(RecordingFollower::Show show) {
  if (!is_file()) return RecordingFollower::start(std::move(socket_), name_, retention_, !is_ours_, std::move(show));
  CHECK(profile_.has_value());
  show(std::make_shared<const profile::ProfileSnapshot>(*profile_), {.ended = "a recording"});
  profile_.reset();
  return std::unique_ptr<RecordingFollower>();
}

}  // namespace cicada::live
