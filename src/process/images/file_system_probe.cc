// SPDX-License-Identifier: Apache-2.0
#include "process/images/file_system_probe.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace cicada::process {
namespace {

constexpr std::chrono::milliseconds kFresh{1000};  // an answer of others

Error no_answer() { return make_error(ErrorKind::kIo, "its file system does not answer"); }

}  // namespace

// FUSE, NFS, SMB (three versions), 9P, Ceph, AFS, Coda, Lustre.
bool is_answered_by_others(uint32_t magic) {
  constexpr std::array<uint32_t, 10> kMagics{FUSE_SUPER_MAGIC, NFS_SUPER_MAGIC, SMB_SUPER_MAGIC, 0xff534d42,       0xfe534d42,
                                             V9FS_MAGIC,       0x00c36400,      AFS_SUPER_MAGIC, CODA_SUPER_MAGIC, 0x0bd00bd0};
  return std::find(kMagics.begin(), kMagics.end(), magic) != kMagics.end();
}

std::optional<Result<void>> FileSystemProbe::known(Device device) {
  const auto now = std::chrono::steady_clock::now();
  const std::lock_guard lock(mutex_);
  std::erase_if(known_, [&](const auto& entry) {
    const auto for_how_long = entry.second.kind == Kind::kOthers ? std::min(kFresh, cache_lifetime_) : cache_lifetime_;
    return now - entry.second.since >= for_how_long;
  });
  const auto at = known_.find(device);
  if (at != known_.end() && at->second.kind != Kind::kSilent) return Result<void>();
  if (at != known_.end()) return no_answer();
  return std::nullopt;
}

Result<void> FileSystemProbe::ask(const FileIdentity& file, const std::string& path) {
  if (file.major != 0) return {};  // a disk
  const Device device(file.major, file.minor);
  if (auto answer = known(device)) return *std::move(answer);
  // What it opens by name is the first that may hang.
  auto answer = children_.run({}, [&path](ChildAnswer& said) {
    const int handle = ::open(path.c_str(), O_PATH | O_CLOEXEC);
    struct statfs fs {};
    struct statx st {};
    if (handle < 0 || ::fstatfs(handle, &fs) != 0 || ::statx(handle, "", AT_EMPTY_PATH | AT_STATX_FORCE_SYNC, STATX_SIZE, &st) != 0)
      said.error = errno;
    said.number = static_cast<uint32_t>(fs.f_type);
  });
  if (!answer) return answer.error().kind() == ErrorKind::kLimit ? no_answer() : answer.error();
  if (!*answer) return note_silent(file);
  if ((*answer)->error != 0) return errno_error((*answer)->error, fmt::format("open {}", path));
  const std::lock_guard lock(mutex_);
  known_[device] = {is_answered_by_others((*answer)->number) ? Kind::kOthers : Kind::kLocal, std::chrono::steady_clock::now()};
  return {};
}

Error FileSystemProbe::note_silent(const FileIdentity& file) {
  const std::lock_guard lock(mutex_);
  known_[{file.major, file.minor}] = {Kind::kSilent, std::chrono::steady_clock::now()};
  return no_answer();
}

}  // namespace cicada::process
