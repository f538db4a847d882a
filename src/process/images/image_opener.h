// SPDX-License-Identifier: Apache-2.0
// Opens the files behind mappings: the very inode, whatever the mount namespace and its name's fate.
//
//   request(job) ──▶ queue ──▶ a worker opens it ──▶ take_opened()
//
// Opening goes through /proc/PID/map_files/BEGIN-END: the right inode, deleted files and memfds too. When the process is gone: by name, in
// our root and in the root of another process that maps the file, accepted only if it is the same inode or the same build-id; a deleted
// name is never tried.
//
// A file system that does not answer costs a worker the time of one question: children wait for it (file_opener.h), the file's outcome is an
// error, and others of that file system are not asked for a while. Threads: any.
#pragma once
#include <chrono>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "base/address.h"
#include "base/process_key.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "base/work_queue.h"
#include "elf/image_header.h"
#include "process/images/file_identity.h"

namespace cicada::process {

class ProcReaders;

// Asks no server. Nothing: fstat's errors.
std::optional<FileContents> contents_of(int fd);

// A place where a process maps the file.
struct ImageHint {
  Pid pid = 0;
  Range<RuntimeAddr> range;
};

struct ImageJob {
  uint32_t id = 0;
  uint32_t owner = 0;  // of the file; until it is open, who mapped it first: whose turn opening it is
  FileIdentity file;
  std::string path;
  bool deleted = false;
  std::vector<ImageHint> hints;
  // As it was when it was opened; empty before.
  FileContents contents;
  std::string build_id;
};

struct OpenedImage {
  UniqueFd fd;  // of a remote file only a handle (O_PATH); none: there were too many
  FileContents contents;
  std::optional<elf::ImageHeader> header;  // nothing: not an ELF this program reads
  std::shared_ptr<const UniqueFd> root;    // mount_roots.h
  bool path_matters = false;               // inode numbers are not unique on its file system, or a stranger says what it is called
  bool remote = false;
  uint32_t owner = 0;                      // of the file: who may say what belongs to it
};

// Is it what the job was opened as? Written over with the same build, it is.
bool is_same_image(const ImageJob& job, const OpenedImage& opened);

class ImageOpener {
 public:
  struct Options {
    unsigned workers = 2;
    std::chrono::milliseconds timeout{1500};  // of a question to a file system
    size_t max_untaken = 256;  // opened files that nobody took yet; half of them of one owner
    std::shared_ptr<ProcReaders> readers = {};  // null: some of its own
  };
  static constexpr size_t kMaxQueued = 65'536;
  static constexpr uint64_t kMaxCopyBytes = 256 << 20;

  explicit ImageOpener(const Options& options);
  ~ImageOpener();  // waits for nobody's file

  struct Outcome {
    uint32_t id;
    Result<OpenedImage> opened;
  };
  // Exactly one outcome follows; beyond max_untaken without a descriptor, as one that was closed for room.
  // Fails: kGone (no process maps it any more, or another file has its name), kUnsupported (no regular file),
  // kLimit (too much waits), what the file system says, or that it says nothing.
  void request(const ImageJob& job);
  std::vector<Outcome> take_opened();
  int ready_fd() const;  // readable when take_opened() has something: an eventfd

  struct Reread {
    UniqueFd fd;                       // readable, with a position of its own
    std::optional<OpenedImage> image;  // it had to be opened again
  };
  // An image that was opened before, for `held`, which may be empty. Waits: for a remote file as long as it answers now and then, one of an
  // owner at a time. Fails: kGone (written over, or replaced), kLimit (larger than kMaxCopyBytes), kIo (`stop` came first), and like request().
  Result<Reread> reread(const ImageJob& job, const UniqueFd& held, bool remote, const std::stop_token& stop = {});

 private:
  struct Shared;
  const std::unique_ptr<Shared> shared_;
  WorkQueue queue_;  // its jobs use all of this
};

}  // namespace cicada::process
