// SPDX-License-Identifier: Apache-2.0
#include "symbolize/files/file_root.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "base/file_mapping.h"

namespace cicada::symbolize {

Result<UniqueFd> FileRoot::open(const std::string& path) const {
  UniqueFd handle;  // O_PATH: nothing happens to what is behind the name
  if (is_ours()) {
    handle = UniqueFd(::open(path.c_str(), O_PATH | O_CLOEXEC));
  } else {
    struct open_how how {};
    how.flags = O_PATH | O_CLOEXEC;
    how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
    handle = UniqueFd(static_cast<int>(::syscall(SYS_openat2, directory_->get(), path.c_str(), &how, sizeof how)));
  }
  if (!handle) return errno_error(errno, "open " + path);
  return reopen_regular(handle, path);
}

}  // namespace cicada::symbolize
