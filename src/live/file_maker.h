// SPDX-License-Identifier: Apache-2.0
// Makes files for a viewer, which can make none: "cicada-20261128-114512.svg" in the working directory, of the formats that cicada writes.
//
//   who called it ── fork ──▶ a process with the invoking user's rights: makes files, gives them their names
//   viewer: MadeFiles         ◀── a socket ──▶
//
// It never replaces a file, and ends when nobody holds the viewer's end any more.
#pragma once
#include <string>

#include "base/result.h"
#include "base/unique_fd.h"
#include "cli/invoking_user.h"
#include "sandbox/channel.h"
#include "sink/output_file.h"

namespace cicada::live {

// Returns the viewer's end. Before there are threads.
Result<UniqueFd> start_file_maker(const cli::InvokingUser& user);

// For a sink (sink/sink_registry.h) whose path is "cicada.svg", or with another extension that cicada writes; the file gets a name with the time. Threads: one at a time.
class MadeFiles final : public sink::OutputOpener {
 public:
  explicit MadeFiles(UniqueFd maker) : maker_(std::move(maker)) {}
  Result<UniqueFd> open(const std::string& path) override;
  Result<void> commit(const std::string& path) override;
  const std::string& name() const { return name_; }  // of the last file

 private:
  Result<sandbox::Message> ask(uint32_t kind, const std::string& path);
  sandbox::Channel maker_;
  std::string name_;
};

}  // namespace cicada::live
