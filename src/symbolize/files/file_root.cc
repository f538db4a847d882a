// SPDX-License-Identifier: Apache-2.0
#include "symbolize/files/file_root.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

namespace cicada::symbolize {

// O_PATH: nothing happens to what is behind the name.
Result<UniqueFd> FileRoot::open_handle(const std::string& path) const {
  UniqueFd handle;
  if (is_ours()) {
    handle = UniqueFd(::open(path.c_str(), O_PATH | O_CLOEXEC));
  } else {
    struct open_how how {};
    how.flags = O_PATH | O_CLOEXEC;
    how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
    handle = UniqueFd(static_cast<int>(::syscall(SYS_openat2, folder_->get(), path.c_str(), &how, sizeof how)));
  }
  if (!handle) return errno_error(errno, "open " + path);
  return handle;
}

Result<UniqueFd> FileRoot::open(const std::string& path) const {
  const UniqueFd handle = TRY(open_handle(path));
  struct stat st {};
  if (::fstat(handle.get(), &st) != 0) return errno_error(errno, "stat " + path);
  if (!S_ISREG(st.st_mode)) return make_error(ErrorKind::kInvalid, "{}: not a regular file", path);
  UniqueFd fd(::open(fmt::format("/proc/self/fd/{}", handle.get()).c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (!fd) return errno_error(errno, "open " + path);
  return fd;
}

std::string FileRoot::outside_path(const std::string& path) const {
  return is_ours() ? path : fmt::format("/proc/{}/fd/{}{}", ::getpid(), folder_->get(), path);
}

Result<elf::ElfFile> FileRoot::open_elf(const std::string& path) const {
  const UniqueFd fd = TRY(open(path));
  return elf::ElfFile::parse(TRY(FileMapping::map(fd.get(), path)), path);
}

std::string FileRoot::real_path(const std::string& path) const {
  const Result<UniqueFd> handle = open_handle(path);
  if (!handle) return path;
  std::error_code error;
  const std::filesystem::path real = std::filesystem::read_symlink(fmt::format("/proc/self/fd/{}", handle->get()), error);
  return error ? path : real.string();
}

}  // namespace cicada::symbolize
