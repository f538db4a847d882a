// SPDX-License-Identifier: Apache-2.0
// The directory that an image's process calls "/": its container's, its chroot's, or ours. Debug files are looked for in there, by the
// paths the process would use; links are resolved inside, so a container cannot make cicada read a file of the host.
// Nothing is opened but regular files: a name may lead to a FIFO or a device, whose mere opening has effects.
// Threads: any. Copies share the descriptor.
#pragma once
#include <memory>
#include <string>

#include "base/result.h"
#include "base/unique_fd.h"

namespace cicada::symbolize {

class FileRoot {
 public:
  FileRoot() = default;  // our own
  // A descriptor of the directory. Null: our own.
  explicit FileRoot(std::shared_ptr<const UniqueFd> directory) : directory_(std::move(directory)) {}
  bool is_ours() const { return directory_ == nullptr; }
  int descriptor() const { return is_ours() ? -1 : directory_->get(); }

  // Fails: kNotFound, kInvalid (not a regular file), kUnsupported (kernel older than 5.6, in a foreign root), the system's error.
  Result<UniqueFd> open(const std::string& path) const;

 private:
  std::shared_ptr<const UniqueFd> directory_;
};

}  // namespace cicada::symbolize
