// SPDX-License-Identifier: Apache-2.0
#include "sink/output_file.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <csignal>
#include <filesystem>
#include <map>
#include <random>
#include <utility>

#include "sink/output_directory.h"
#include "sink/recording/recording_chunks.h"

namespace cicada::sink {
namespace {

struct Split {
  std::string directory, name;
};

Split split(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return {".", path};
  return {slash == 0 ? "/" : path.substr(0, slash), path.substr(slash + 1)};
}

// The descriptor that a name stands for, if it does: process substitution passes /dev/fd/63.
std::optional<int> find_descriptor(std::string_view path) {
  if (is_standard_output(path)) return STDOUT_FILENO;
  if (path == "/dev/stderr") return STDERR_FILENO;
  for (const std::string_view prefix : {"/dev/fd/", "/proc/self/fd/"}) {
    if (!path.starts_with(prefix)) continue;
    const std::string_view digits = path.substr(prefix.size());
    int fd = -1;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), fd);
    if (error == std::errc() && end == digits.data() + digits.size() && fd >= 0) return fd;
  }
  return std::nullopt;
}

Error write_error(int error, const std::string& path) {
  if (error == ENOSPC || error == EDQUOT)
    return make_error(ErrorKind::kLimit, "write {}: no space left; free some, or choose another place with -o", path);
  if (error == EPIPE) return make_error(ErrorKind::kGone, "write {}: the reader closed the pipe", path);
  return errno_error(error, fmt::format("write {}", path));
}

struct Place {
  UniqueFd directory;
  std::string name;
  UniqueFd special;  // a FIFO, device or socket that exists: a handle (O_PATH) to what is opened as it is
};

uid_t asked_by(const FileRights& rights) { return rights.owner ? rights.owner->uid : ::geteuid(); }

Result<Place> open_place(const std::string& path, const FileRights& rights) {
  const Split parts = split(path);
  if (parts.name.empty() || parts.name == "." || parts.name == "..")
    return make_error(ErrorKind::kInvalid, "{}: is a directory; give a file name", path);
  Place place;
  place.name = parts.name;
  if (rights.below) {
    place.directory = TRY(rights.below->open_inside(parts.directory));
  } else {
    place.directory.reset(::open(parts.directory.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!place.directory) return errno_error(errno, fmt::format("write {}: open directory {}", path, parts.directory));
  }
  UniqueFd handle(::openat(place.directory.get(), parts.name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  struct stat st {};
  if (!handle || ::fstat(handle.get(), &st) != 0 || S_ISREG(st.st_mode) || S_ISLNK(st.st_mode)) return place;
  if (S_ISDIR(st.st_mode)) return make_error(ErrorKind::kInvalid, "{}: is a directory; give a file name", path);
  if (st.st_uid != 0 && st.st_uid != asked_by(rights))
    return make_error(ErrorKind::kPermission, "write {}: is a FIFO or device that belongs to user {}; give another name", path, st.st_uid);
  place.special = std::move(handle);
  return place;
}

bool is_recording(const Place& place) {
  char begin[kRecordingMagic.size()];
  const UniqueFd fd(::openat(place.directory.get(), place.name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  return fd && ::read(fd.get(), begin, sizeof begin) == static_cast<ssize_t>(sizeof begin) && std::string_view(begin, sizeof begin) == kRecordingMagic;
}

// Opening a FIFO without a reader would wait for one.
Result<UniqueFd> open_special(const UniqueFd& handle, const std::string& path) {
  UniqueFd fd(::open(fmt::format("/proc/self/fd/{}", handle.get()).c_str(), O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (!fd && errno == ENXIO) return make_error(ErrorKind::kIo, "write {}: nobody reads it", path);
  if (!fd) return errno_error(errno, fmt::format("write {}", path));
  ::fcntl(fd.get(), F_SETFL, O_WRONLY);
  return fd;
}

constexpr size_t kRandomDigits = 8;
constexpr std::string_view kPart = ".part";

// A name is at most 255 bytes: the original is shortened, not the random part.
std::string part_prefix(const std::string& name) { return fmt::format(".{}.", name.substr(0, 200)); }

// Of runs that were killed. Who writes one has its lock; a moment lies between its creation and that.
void remove_abandoned(int directory, const std::string& name, const FileRights& rights) {
  constexpr int kMaxEntries = 10'000;
  constexpr time_t kYoungS = 10;
  const int listed = ::openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(listed >= 0 ? ::fdopendir(listed) : nullptr, ::closedir);
  if (!entries) return;
  const std::string prefix = part_prefix(name);
  for (int i = 0; i < kMaxEntries; ++i) {
    const dirent* entry = ::readdir(entries.get());
    if (entry == nullptr) return;
    const std::string_view found = entry->d_name;
    if (found.size() != prefix.size() + kRandomDigits + kPart.size() || !found.starts_with(prefix) || !found.ends_with(kPart)) continue;
    struct stat st {};
    if (::fstatat(directory, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(st.st_mode) || st.st_uid != asked_by(rights)) continue;
    if (st.st_mtim.tv_sec + kYoungS > ::time(nullptr)) continue;
    const UniqueFd fd(::openat(directory, entry->d_name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
    if (fd && ::flock(fd.get(), LOCK_EX | LOCK_NB) == 0) ::unlinkat(directory, entry->d_name, 0);
  }
}

}  // namespace

struct OutputFile::Temporary {
  UniqueFd directory;
  std::string name, final_name;
};

void OutputFile::RemoveTemporary::operator()(Temporary* temporary) const {
  if (!temporary->name.empty()) ::unlinkat(temporary->directory.get(), temporary->name.c_str(), 0);
  delete temporary;
}

Result<OutputFile> OutputFile::create(const std::string& path, const FileRights& rights) {
  OutputFile file;
  file.path_ = path == "-" ? "standard output" : rights.below ? rights.below->path() + "/" + path : path;
  if (rights.opener && !is_standard_output(path)) {
    file.fd_ = TRY(rights.opener->open(path));
    file.opener_ = rights.opener;
    return file;
  }
  if (const auto descriptor = find_descriptor(path)) {
    file.fd_.reset(::fcntl(*descriptor, F_DUPFD_CLOEXEC, 3));
    if (!file.fd_) return errno_error(errno, fmt::format("write {}", file.path_));
    return file;
  }
  Place place = TRY(open_place(path, rights));
  if (place.special) {
    file.fd_ = TRY(open_special(place.special, path));
    return file;
  }
  remove_abandoned(place.directory.get(), place.name, rights);
  std::random_device random;
  for (int attempt = 0;; ++attempt) {
    const std::string name = fmt::format("{}{:0{}x}{}", part_prefix(place.name), random(), kRandomDigits, kPart);
    file.fd_.reset(::openat(place.directory.get(), name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, rights.mode));
    if (file.fd_) {
      ::flock(file.fd_.get(), LOCK_EX | LOCK_NB);
      file.temporary_.reset(new Temporary{std::move(place.directory), name, place.name});
      file.replaceable_ = true;
      break;
    }
    if (errno != EEXIST || attempt == 16) return errno_error(errno, fmt::format("write {}", path));
  }
  if (rights.owner && ::fchown(file.fd_.get(), rights.owner->uid, rights.owner->gid) != 0)
    return errno_error(errno, fmt::format("change the owner of {}", path));
  return file;
}

void OutputFile::write_long(std::string_view bytes) {
  write_out(buffer_);
  buffer_.clear();
  if (bytes.size() > kBufferBytes) return write_out(bytes);
  buffer_.reserve(kBufferBytes);
  buffer_.append(bytes);
}

void OutputFile::write_out(std::string_view bytes) {
  if (error_) return;
  // A closed pipe is an error to report, not a signal to die of: blocked here, for this thread, and taken if it came.
  sigset_t pipe, before;
  sigemptyset(&pipe);
  sigaddset(&pipe, SIGPIPE);
  ::pthread_sigmask(SIG_BLOCK, &pipe, &before);
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd_.get(), bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) {
      error_ = write_error(n < 0 ? errno : EIO, path_);
      if (error_->kind() == ErrorKind::kGone && sigismember(&before, SIGPIPE) == 0) {
        const timespec now{};
        ::sigtimedwait(&pipe, nullptr, &now);
      }
      break;
    }
    bytes.remove_prefix(static_cast<size_t>(n));
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

Result<void> OutputFile::flush() {
  write_out(buffer_);
  buffer_.clear();
  if (error_) return *error_;
  return {};
}

Result<void> OutputFile::publish() {
  TRY(flush());
  if (opener_) return std::exchange(opener_, nullptr)->commit(path_);
  if (temporary_ == nullptr) return {};
  const int directory = temporary_->directory.get();
  if (::renameat(directory, temporary_->name.c_str(), directory, temporary_->final_name.c_str()) != 0)
    return errno_error(errno, fmt::format("rename the finished file to {}", path_));
  temporary_->name.clear();
  temporary_.reset();
  return {};
}

Result<void> OutputFile::commit() {
  const bool was_published = replaceable_ && temporary_ == nullptr;
  Result<void> published = publish();
  struct stat st {};
  if (published && was_published && ::fstat(fd_.get(), &st) == 0 && st.st_nlink == 0)
    published = make_error(ErrorKind::kGone, "write {}: somebody removed or replaced the file while it was written", path_);
  // Delayed allocation (NFS, quotas) reports a full disk only at close.
  if (fd_ && ::close(fd_.release()) != 0 && errno != EINTR && published) published = write_error(errno, path_);
  if (!published) temporary_.reset();
  return published;
}

Result<void> check_writable(const std::string& path, const FileRights& rights) {
  if (rights.opener) return {};  // it has looked
  if (const auto descriptor = find_descriptor(path)) {
    if (::fcntl(*descriptor, F_GETFL) < 0) return errno_error(errno, fmt::format("write {}", path));
    return {};
  }
  const Place place = TRY(open_place(path, rights));
  const int failed = place.special ? ::faccessat(place.directory.get(), place.name.c_str(), W_OK, AT_EACCESS)
                                   : ::faccessat(place.directory.get(), ".", W_OK | X_OK, AT_EACCESS);
  if (failed != 0) return errno_error(errno, fmt::format("write {}", path));
  if (!place.special && !rights.replace_recordings && is_recording(place))
    return make_error(ErrorKind::kInvalid, "{}: is a recording already; give another name, or --force to replace it", path);
  return {};
}

bool is_standard_output(std::string_view path) { return path == "-" || path == "/dev/stdout"; }

Result<void> check_distinct(const std::vector<std::string>& paths) {
  std::map<std::string, const std::string*> known;
  for (const std::string& path : paths) {
    const auto descriptor = find_descriptor(path);
    const Split parts = split(path);
    std::error_code ignored;
    std::filesystem::path directory = std::filesystem::canonical(parts.directory, ignored);
    if (ignored) directory = parts.directory;
    const std::string place = descriptor ? fmt::format("{}", *descriptor) : (directory / parts.name).string();
    const auto [at, is_new] = known.try_emplace(place, &path);
    if (!is_new) return make_error(ErrorKind::kInvalid, "{} and {}: the same output twice", *at->second, path);
  }
  return {};
}

}  // namespace cicada::sink
