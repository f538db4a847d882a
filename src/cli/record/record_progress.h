// SPDX-License-Identifier: Apache-2.0
// One line on the terminal while a recording runs, rewritten once a second:
//
//   12 s of 60 s  4,135 samples  26.3 % std::__introsort_loop  0.3 % lost
//
// Looks at snapshots only (engine/live_functions.h), from a thread of its own.
#pragma once
#include <optional>
#include <string>
#include <thread>

#include "engine/live_functions.h"
#include "engine/session.h"

namespace cicada::cli {

struct ProgressOptions {
  std::optional<uint64_t> duration_ns;  // of the recording; none: until Ctrl-C
  size_t columns = 80;
};

// `top`: the shown name of the function with the most samples, empty if there is none.
std::string format_progress(const profile::ProfileSnapshot& profile, std::string_view top, double top_share, const ProgressOptions& options);

class RecordProgress {
 public:
  // Borrows the session, which has functions (SessionConfig::functions).
  RecordProgress(const engine::Session& session, std::optional<uint64_t> duration_ns);
  // The line is gone then.
  ~RecordProgress();
  RecordProgress(const RecordProgress&) = delete;
  RecordProgress& operator=(const RecordProgress&) = delete;

 private:
  void run(const std::stop_token& stop);

  const engine::Session& session_;
  const std::optional<uint64_t> duration_ns_;
  std::jthread thread_;
};

}  // namespace cicada::cli
