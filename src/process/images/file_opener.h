// SPDX-License-Identifier: Apache-2.0
// Opens regular files, also on file systems that fall silent. One that another program or machine serves (FUSE, NFS, …) may take a question
// and never answer it; who waits for that cannot always be killed (FUSE: not once its server has read the question, as sshfs does whose
// network is gone), and a process with such a thread does not end. So a distant file is opened and read by a child
// (base/disposable_child.h), each time; here is only a handle to it (O_PATH), which can be let go of without an answer. Distant is also an
// overlay that is not among our own mounts: what is below it may be such a file system.
//
// A disk may be such a one, too: a program's (fuseblk), another machine's (nbd), or a file (loop). So each device is asked once.
// The way to a file that a process maps (/proc/PID/map_files) waits for the lock of that process's memory, so a reader of /proc goes it.
//
// Cost: a question to a reader (procfs/proc_readers.h) for each file. A fork (1 to 3 ms, on a worker) for each distant file, for each name
// of which the kernel does not know that it leads to a device that was asked, and for the first file of each device; again after a minute
// where numbers of devices are used again. Threads: any.
#pragma once
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "base/disposable_child.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "process/images/file_identity.h"

namespace cicada::process {

class ProcReaders;

// Do others answer for a file system with this magic (statfs)?
bool is_answered_by_others(uint32_t magic);
// … or for this disk: nbd, and loop devices whose file's file system or disk they answer for. System calls only, which may not return.
bool is_disk_of_others(uint32_t major, uint32_t minor);

struct FileFacts {
  uint32_t magic = 0;  // of its file system
  uint32_t mode = 0, owner = 0;
  bool disk_of_others = false;
  FileIdentity identity;
  FileContents contents;
};

class FileOpener;

// The opener outlives it. Threads: one at a time.
class OpenedFile {
 public:
  const FileFacts& facts() const { return facts_; }
  bool is_distant() const { return distant_ != nullptr; }
  // Up to so many bytes; 0 at its end. Fails: what the file system says; kIo: it does not answer, or `stop` came first.
  Result<size_t> read(uint64_t offset, std::span<uint8_t> to, const std::stop_token& stop = {});
  // Readable, but of a distant file only a handle.
  int fd() const { return fd_.get(); }
  UniqueFd release_fd() { return std::move(fd_); }

 private:
  friend class FileOpener;
  struct Distant;
  struct Deleter {
    void operator()(Distant* distant) const;
  };
  OpenedFile() = default;

  FileFacts facts_;
  UniqueFd fd_;
  std::unique_ptr<Distant, Deleter> distant_;
};

class FileOpener {
 public:
  static constexpr std::chrono::milliseconds kBelievedFor{60'000};
  using Device = std::pair<uint32_t, uint32_t>;  // or kNames and a user
  static constexpr uint32_t kNames = ~uint32_t{0};
  // timeout: what one question may take. cache_lifetime: what a device was found to be is not asked again for so long.
  FileOpener(std::shared_ptr<ProcReaders> readers, std::chrono::milliseconds timeout, std::chrono::milliseconds cache_lifetime = kBelievedFor)
      : readers_(std::move(readers)), children_(timeout), cache_lifetime_(cache_lifetime) {}
  // `path` below /proc, not of ourselves, which is said to be this file of this user. Fails: what opening it says, kUnsupported (no regular
  // file), and kIo where nobody answers, or has not answered lately, or `stop` came first.
  Result<OpenedFile> open(uint32_t owner, const FileIdentity& file, const std::string& path, const std::stop_token& stop = {});
  // The same for a name that a file of this user had. It may lead anywhere by now: after silence, no other name of his is followed for a
  // while of which the kernel does not know that it leads to a device that answered.
  Result<OpenedFile> open_by_name(uint32_t owner, const std::string& path, const std::stop_token& stop = {});
  // The same for a handle to a file. `name` is what errors call it.
  Result<OpenedFile> open_handle(uint32_t owner, int handle, const std::string& name, const std::stop_token& stop = {});
  // Who reads there waits in vain. The error says so.
  Error note_silent(Device device);

 private:
  enum class Kind : uint8_t { kLocal, kSilent };
  struct Known {
    Kind kind = Kind::kLocal;
    std::chrono::steady_clock::time_point since;
  };

  // Nothing: it must be asked.
  std::optional<Kind> known(Device device);
  // A handle, if the kernel knows where the name leads without asking a file system, and that is to a device that answered.
  UniqueFd open_on_known(const std::string& path);
  Result<OpenedFile> open_here(int handle, const std::string& name);
  // By `path`, or if there is none by `handle`. What is found out is kept about `device`.
  Result<OpenedFile> open_by_child(uint32_t owner, Device device, int handle, const char* path, const std::string& name, const std::stop_token& stop);
  void note(Device device, Kind kind);

  std::shared_ptr<ProcReaders> readers_;
  DisposableChildren children_;
  std::chrono::milliseconds cache_lifetime_;
  std::mutex mutex_;
  std::map<Device, Known> known_;
};

}  // namespace cicada::process
