// SPDX-License-Identifier: Apache-2.0
// Where the bytes of images are: a port. A live session hands out descriptors that were kept since the image was first mapped; for a
// profile from elsewhere the disk is looked at.
#pragma once
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "base/unique_fd.h"
#include "profile/profile.h"
#include "symbolize/files/file_root.h"

namespace cicada::symbolize {

// The file of an image. Threads: any; valid as long as the ImageFiles it is from.
struct ImageFile {
  // A readable descriptor. Fails: kGone, kNotFound, or kInvalid (another build-id). May take long: a network, a disk; ends soon after `stop`.
  std::function<Result<UniqueFd>(const std::stop_token& stop)> open;
  FileRoot root;  // where its path and its debug files are
  uint32_t owner = 0;  // the user in whose name it is read
};

class ImageFiles {
 public:
  virtual ~ImageFiles() = default;
  // Waits for no file. Threads: the profile's.
  virtual ImageFile find(const profile::ProfileSnapshot& profile, profile::ImageId image) = 0;
};

// The recorded path, then debug_dirs by build-id; accepted only if the build-id matches. The vDSO: our own, if it is the same.
std::unique_ptr<ImageFiles> on_disk_images(std::vector<std::string> debug_dirs = {"/usr/lib/debug"});

}  // namespace cicada::symbolize
