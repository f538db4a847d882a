// SPDX-License-Identifier: Apache-2.0
// A file that appears under its name only when it is complete: written beside it under a temporary name, renamed by commit().
//
// cicada runs as root and writes where strangers can write. So the temporary file is created exclusively, in the directory
// that was opened once; a symbolic link at the final name is replaced, never followed; an existing FIFO or device is
// written to as it is if it belongs to root or to who asked, and a FIFO that nobody reads is an error, not a wait; a directory is refused.
// "-", /dev/stdout and /dev/fd/N mean the descriptor.
// A temporary file that a killed run abandoned is removed by the next one for the same name: nobody holds its lock any more.
// Writes are buffered, and the first error sticks: commit() returns it (full disk, closed pipe), and nothing is left.
// Threads: one at a time.
#pragma once
#include <sys/types.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"

namespace cicada::sink {

class OutputDirectory;

// Outputs of a process that may open none: another one opens them, and gives them their names. Threads: one at a time.
class OutputOpener {
 public:
  virtual ~OutputOpener() = default;
  // A new, empty file, or what OutputFile takes as it is. Fails: as OutputFile::create(), or nobody asked for it.
  virtual Result<UniqueFd> open(const std::string& path) = 0;
  // It is whole. Fails: as OutputFile::commit().
  virtual Result<void> commit(const std::string& path) = 0;
};

struct FileOwner {
  uid_t uid = 0;
  gid_t gid = 0;
};

struct FileRights {
  std::optional<FileOwner> owner = {};  // who asked for the file, when cicada itself runs as root
  mode_t mode = 0644;                   // less the umask
  bool replace_recordings = false;      // --force
  std::shared_ptr<const OutputDirectory> below = {};  // where paths begin; none: in the working directory
  std::shared_ptr<OutputOpener> opener = {};          // none: this process opens them
};

class OutputFile {
 public:
  static Result<OutputFile> create(const std::string& path, const FileRights& rights);
  OutputFile(OutputFile&&) noexcept = default;
  OutputFile& operator=(OutputFile&&) noexcept = default;

  void write(std::string_view bytes) {
    if (bytes.size() > kBufferBytes - buffer_.size()) return write_long(bytes);
    buffer_.append(bytes);
  }
  void write(char byte) { write(std::string_view(&byte, 1)); }
  bool failed() const { return error_.has_value(); }
  int fd() const { return fd_.get(); }  // as long as it is not committed
  // A regular file: another one can take its name. Not a FIFO, a device, a descriptor.
  bool replaceable() const { return replaceable_; }

  // The bytes so far reach the operating system (not the disk).
  Result<void> flush();
  // The file takes its final name now and stays open: for formats that are readable at any moment.
  Result<void> publish();
  // Flushes, publishes, closes; fails with the first error of all writes, and then the temporary file is gone.
  Result<void> commit();

 private:
  static constexpr size_t kBufferBytes = 256 << 10;
  struct Temporary;  // removes the file unless it was renamed
  struct RemoveTemporary {
    void operator()(Temporary* temporary) const;
  };
  OutputFile() = default;
  void write_long(std::string_view bytes);
  void write_out(std::string_view bytes);

  std::string path_;
  UniqueFd fd_;
  std::unique_ptr<Temporary, RemoveTemporary> temporary_;  // none: a descriptor or device, or published
  std::shared_ptr<OutputOpener> opener_;                   // of one that is not published yet
  std::string buffer_;
  bool replaceable_ = false;
  std::optional<Error> error_;
};

bool is_standard_output(std::string_view path);

// Whether create() would succeed, without creating anything: asked before a recording starts. A recording that is there already counts as
// not writable unless it may be replaced: it cannot be made again.
Result<void> check_writable(const std::string& path, const FileRights& rights);
// Fails (kInvalid) if two are the same descriptor or file, however they are spelt.
Result<void> check_distinct(const std::vector<std::string>& paths);

}  // namespace cicada::sink
