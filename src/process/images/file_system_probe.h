// SPDX-License-Identifier: Apache-2.0
// Which file systems answer. One that another program or machine serves (FUSE, NFS, …) may take a question and never answer it; who waits
// for that cannot always be killed (FUSE: not once its server has read the question, as sshfs does whose network is gone), and a process
// with such a thread does not end. So a child asks first (base/disposable_child.h).
//
// Cost: a fork (1 to 3 ms, on a worker) for the first file of each device without a disk, and again after a minute, because such devices'
// numbers are used again; where others answer, once a second at most. Threads: any.
#pragma once
#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "base/disposable_child.h"
#include "base/result.h"
#include "process/images/file_identity.h"

namespace cicada::process {

// Do others answer for a file system with this magic (statfs)?
bool is_answered_by_others(uint32_t magic);

class FileSystemProbe {
 public:
  static constexpr std::chrono::milliseconds kBelievedFor{60'000};

  // timeout: what one question may take. cache_lifetime: what a device was found to be is not asked again for so long.
  explicit FileSystemProbe(std::chrono::milliseconds timeout, std::chrono::milliseconds cache_lifetime = kBelievedFor)
      : children_(timeout), cache_lifetime_(cache_lifetime) {}
  // May `path`, which is said to be this file, be opened? Fails: what opening it says, and kIo where nobody answers, or has not answered
  // lately.
  Result<void> ask(const FileIdentity& file, const std::string& path);
  // A reader of this file waits in vain. The error says so.
  Error note_silent(const FileIdentity& file);

 private:
  using Device = std::pair<uint32_t, uint32_t>;
  enum class Kind : uint8_t { kLocal, kOthers, kSilent };
  struct Known {
    Kind kind = Kind::kLocal;
    std::chrono::steady_clock::time_point since;
  };

  // Nothing: it must be asked.
  std::optional<Result<void>> known(Device device);

  DisposableChildren children_;
  std::chrono::milliseconds cache_lifetime_;
  std::mutex mutex_;
  std::map<Device, Known> known_;
};

}  // namespace cicada::process
