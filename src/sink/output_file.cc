// SPDX-License-Identifier: Apache-2.0
#include "sink/output_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <csignal>
#include <random>

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
  if (path == "-" || path == "/dev/stdout") return STDOUT_FILENO;
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
  bool special = false;  // exists and is a FIFO, device or socket: opened as it is
};

Result<Place> open_place(const std::string& path) {
  const Split parts = split(path);
  if (parts.name.empty() || parts.name == "." || parts.name == "..")
    return make_error(ErrorKind::kInvalid, "{}: is a directory; give a file name", path);
  Place place;
  place.name = parts.name;
  place.directory.reset(::open(parts.directory.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!place.directory) return errno_error(errno, fmt::format("write {}: open directory {}", path, parts.directory));
  struct stat st {};
  if (::fstatat(place.directory.get(), parts.name.c_str(), &st, AT_SYMLINK_NOFOLLOW) == 0) {
    if (S_ISDIR(st.st_mode)) return make_error(ErrorKind::kInvalid, "{}: is a directory; give a file name", path);
    place.special = !S_ISREG(st.st_mode) && !S_ISLNK(st.st_mode);
  }
  return place;
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

Result<OutputFile> OutputFile::create(const std::string& path, std::optional<FileOwner> owner) {
  OutputFile file;
  file.path_ = path == "-" ? "standard output" : path;
  if (const auto descriptor = find_descriptor(path)) {
    file.fd_.reset(::fcntl(*descriptor, F_DUPFD_CLOEXEC, 3));
    if (!file.fd_) return errno_error(errno, fmt::format("write {}", file.path_));
    return file;
  }
  Place place = TRY(open_place(path));
  if (place.special) {
    file.fd_.reset(::openat(place.directory.get(), place.name.c_str(), O_WRONLY | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC));
    if (!file.fd_) return errno_error(errno, fmt::format("write {}", path));
    return file;
  }
  std::random_device random;
  for (int attempt = 0;; ++attempt) {
    // A name is at most 255 bytes: the original is shortened, not the random part.
    const std::string name = fmt::format(".{}.{:08x}.part", place.name.substr(0, 200), random());
    file.fd_.reset(::openat(place.directory.get(), name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644));
    if (file.fd_) {
      file.temporary_.reset(new Temporary{std::move(place.directory), name, place.name});
      file.replaceable_ = true;
      break;
    }
    if (errno != EEXIST || attempt == 16) return errno_error(errno, fmt::format("write {}", path));
  }
  if (owner && ::fchown(file.fd_.get(), owner->uid, owner->gid) != 0)
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
  if (temporary_ == nullptr) return {};
  const int directory = temporary_->directory.get();
  if (::renameat(directory, temporary_->name.c_str(), directory, temporary_->final_name.c_str()) != 0)
    return errno_error(errno, fmt::format("rename the finished file to {}", path_));
  temporary_->name.clear();
  temporary_.reset();
  return {};
}

Result<void> OutputFile::commit() {
  Result<void> published = publish();
  // Delayed allocation (NFS, quotas) reports a full disk only at close.
  if (fd_ && ::close(fd_.release()) != 0 && errno != EINTR && published) published = write_error(errno, path_);
  if (!published) temporary_.reset();
  return published;
}

Result<void> check_writable(const std::string& path) {
  if (const auto descriptor = find_descriptor(path)) {
    if (::fcntl(*descriptor, F_GETFL) < 0) return errno_error(errno, fmt::format("write {}", path));
    return {};
  }
  const Place place = TRY(open_place(path));
  const int failed = place.special ? ::faccessat(place.directory.get(), place.name.c_str(), W_OK, AT_EACCESS)
                                   : ::faccessat(place.directory.get(), ".", W_OK | X_OK, AT_EACCESS);
  if (failed != 0) return errno_error(errno, fmt::format("write {}", path));
  return {};
}

}  // namespace cicada::sink
