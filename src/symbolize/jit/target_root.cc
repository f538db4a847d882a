// SPDX-License-Identifier: Apache-2.0
#include "symbolize/jit/target_root.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <sstream>

namespace cicada::symbolize {
namespace {

constexpr int64_t kClockSlackS = 2;  // ticks are coarse, and the real time may have been adjusted since boot

}  // namespace

Result<Target> Target::open(Pid pid, const std::string& proc) {
  const std::string process = fmt::format("{}/{}", proc, pid);
  Target target;
  target.pid_ = target.pid_inside_ = pid;
  TRY(target.read_status(process + "/status"));
  target.read_beginning(process + "/stat");
  target.mount_namespace_ = UniqueFd(::open((process + "/ns/mnt").c_str(), O_RDONLY | O_CLOEXEC));
  auto folder = std::make_shared<const UniqueFd>(::open((process + "/root").c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!*folder) return errno_error(errno, fmt::format("open {}/root", process));
  target.root_ = FileRoot(std::move(folder));
  return target;
}

Result<void> Target::read_status(const std::string& path) {
  std::ifstream in(path);
  if (!in) return make_error(ErrorKind::kGone, "{}: the process is gone", path);
  std::string line;
  bool has_uid = false;
  while (std::getline(in, line)) {
    std::istringstream words(line);
    std::string key, word;
    words >> key;
    if (key == "Uid:") has_uid = static_cast<bool>(words >> word >> uid_);
    if (key == "NSpid:") {
      for (Pid each = 0; words >> each;) pid_inside_ = each;  // the innermost namespace is last
    }
  }
  if (!has_uid) return make_error(ErrorKind::kGone, "{}: no Uid line", path);
  return {};
}

void Target::read_beginning(const std::string& path) {
  std::ifstream in(path);
  std::string text;
  if (!std::getline(in, text)) return;
  std::istringstream words(text.substr(text.rfind(')') + 1));
  std::string word;
  for (int field = 3; field < 22; ++field) words >> word;
  int64_t ticks = 0;
  if (!(words >> ticks)) return;
  struct timespec real {
  }, since_boot{};
  ::clock_gettime(CLOCK_REALTIME, &real);
  ::clock_gettime(CLOCK_BOOTTIME, &since_boot);
  began_s_ = real.tv_sec - since_boot.tv_sec + ticks / ::sysconf(_SC_CLK_TCK);
}

Result<UniqueFd> Target::open_file(const std::string& path) const {
  if (ask_) {
    if (const auto asked = ask_(path); !asked) return asked.error().within(fmt::format("process {}", pid_));
  }
  Result<UniqueFd> fd = root_.open(path);
  if (!fd) return fd.error().within(fmt::format("process {}", pid_));
  struct stat st {};
  if (::fstat(fd->get(), &st) != 0) return errno_error(errno, "stat " + path);
  if (st.st_uid != uid_ && st.st_uid != 0) {
    return make_error(ErrorKind::kPermission, "{} (process {}): belongs to user {}, not to the process's user {}; not used", path, pid_,
                      st.st_uid, uid_);
  }
  return fd;
}

bool Target::is_newer(int fd) const {
  struct stat st {};
  return began_s_ == 0 || ::fstat(fd, &st) != 0 || st.st_mtim.tv_sec + kClockSlackS >= began_s_;
}

}  // namespace cicada::symbolize
