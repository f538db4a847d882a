// SPDX-License-Identifier: Apache-2.0
#include "symbolize/target_root.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <sstream>

namespace cicada::symbolize {

Result<TargetIdentity> load_target_identity(Pid pid, const std::string& proc) {
  const std::string path = fmt::format("{}/{}/status", proc, pid);
  std::ifstream in(path);
  if (!in) return make_error(ErrorKind::kGone, "{}: the process is gone", path);
  TargetIdentity identity;
  identity.pid_inside = pid;
  std::string line;
  bool has_uid = false;
  while (std::getline(in, line)) {
    std::istringstream words(line);
    std::string key, word;
    words >> key;
    if (key == "Uid:") has_uid = static_cast<bool>(words >> word >> identity.uid);
    if (key == "NSpid:") {
      for (Pid each = 0; words >> each;) identity.pid_inside = each;  // the innermost namespace is last
    }
  }
  if (!has_uid) return make_error(ErrorKind::kGone, "{}: no Uid line", path);
  return identity;
}

Result<UniqueFd> open_in_target(Pid pid, const std::string& path, uint32_t uid, const std::string& proc) {
  const std::string root_path = fmt::format("{}/{}/root", proc, pid);
  const UniqueFd root(::open(root_path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!root) return errno_error(errno, "open " + root_path);
  struct open_how how {};
  how.flags = O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
  how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
  UniqueFd fd(static_cast<int>(::syscall(SYS_openat2, root.get(), path.c_str(), &how, sizeof how)));
  if (!fd) return errno_error(errno, fmt::format("open {} as process {} sees it", path, pid));
  struct stat st {};
  if (::fstat(fd.get(), &st) != 0) return errno_error(errno, "stat " + path);
  if (!S_ISREG(st.st_mode)) return make_error(ErrorKind::kInvalid, "{} (process {}): not a regular file", path, pid);
  if (st.st_uid != uid && st.st_uid != 0) {
    return make_error(ErrorKind::kPermission, "{} (process {}): belongs to user {}, not to the process's user {}; not used", path, pid, st.st_uid, uid);
  }
  return fd;
}

}  // namespace cicada::symbolize
