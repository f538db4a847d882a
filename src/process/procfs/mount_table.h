// SPDX-License-Identifier: Apache-2.0
// Which file systems lie on a path, as one process has them mounted: what must answer before the path is opened. From its mountinfo, which
// the kernel writes without asking any of them. A path that leads elsewhere through a symbolic link is not followed.
// Threads: any.
#pragma once
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "process/images/file_identity.h"

namespace cicada::process {

struct MountPoint {
  std::string path;     // absolute, as the process sees it
  FileIdentity device;  // no inode
};

class MountTable {
 public:
  MountTable() = default;  // nothing is known
  // The text of /proc/PID/mountinfo. Lines that are none are left out.
  explicit MountTable(std::string_view mountinfo);
  // Outermost first: "/", "/srv", "/srv/data" for "/srv/data/file".
  std::vector<MountPoint> on_the_way_to(std::string_view path) const;

 private:
  std::map<std::string, FileIdentity, std::less<>> by_path_;
};

}  // namespace cicada::process
