// SPDX-License-Identifier: Apache-2.0
// Debug files from a debuginfod server: only when asked (--debuginfod, or DEBUGINFOD_URLS in the environment names one), never
// while recording, and within a time limit for all files together. elfutils' own library does the work (caching included); it is
// loaded when needed, so cicada runs without it.
// Threads: any; one download at a time.
#pragma once
#include <chrono>
#include <memory>
#include <stop_token>
#include <string>

#include "base/result.h"
#include "base/unique_fd.h"

namespace cicada::symbolize {

class DebuginfodClient {
 public:
  // `limit` counts from now, for all downloads of this client.
  explicit DebuginfodClient(std::chrono::milliseconds limit = std::chrono::seconds(30));
  ~DebuginfodClient();
  // Whether the environment asks for it.
  static bool named_by_environment();
  // Ends about a second after `stop` is requested: so often the library asks.
  // Fails: kUnsupported (libdebuginfod1 is not installed, DEBUGINFOD_URLS is not set), kNotFound (or stopped), kLimit (out of time).
  Result<UniqueFd> find_debug_file(const std::string& build_id, const std::stop_token& stop = {});

 private:
  struct Library;
  std::unique_ptr<Library> library_;
  std::chrono::steady_clock::time_point deadline_;
};

}  // namespace cicada::symbolize
