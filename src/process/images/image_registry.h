// SPDX-License-Identifier: Apache-2.0
// Every executable file seen, with an id that is never reused (abi/frame.h: 1 … 2^21 - 1), opened once and kept open.
//
//   resolve() ──▶ known inode, unchanged ──▶ image and bias at once, no I/O but one statx that never leaves this machine
//             └─▶ unknown ──▶ id + kPending ──▶ worker opens it ──▶ take_ready() ──▶ re_resolve()
//
// Opening goes through /proc/PID/map_files/BEGIN-END: the right inode whatever the mount namespace, deleted files and memfds too.
// When the process is gone already: by name, in our root and in the root of another process that maps the file, accepted only if
// it is the same inode or the same build-id; a deleted name is never tried.
// The same inode with another change time is another image (cp over an installed library), and so is a reused inode number.
//
// Hanging file systems and FIFOs cost a worker, not the caller: at most kMaxStuck workers may hang, each is replaced after
// kStuckAfter_ms; after that, files on workers' queues become kUnknown, with one diagnostic.
// Descriptors: at most half of RLIMIT_NOFILE; beyond it the least recently used are closed and reopened when needed, accepted only
// if inode and change time, or build-id, are the same.
// Threads: resolve, re_resolve, take_ready: the tracker's. Everything else: any.
#pragma once
#include <memory>
#include <string>

#include "base/result.h"
#include "base/unique_fd.h"
#include "elf/elf_file.h"
#include "process/images/image_source.h"
#include "profile/profile.h"

namespace cicada::process {

struct ImageInfo {
  uint32_t id = 0;
  std::string path;       // as the process saw it, ' (deleted)' taken off
  std::string build_id;   // lower-case hex, or empty
  profile::ImageKind kind = profile::ImageKind::kUnknown;
  bool deleted = false;   // when first seen
};

struct ImageRegistryCounts {
  uint64_t images = 0, opened = 0, open_failed = 0, not_elf = 0, replaced = 0, reopened = 0, closed_for_room = 0, stuck = 0;
};

class ImageRegistry final : public ImageSource {
 public:
  struct Options {
    unsigned workers = 2;
    size_t max_descriptors = 0;      // 0: half of RLIMIT_NOFILE, at most 2,048
    uint32_t stuck_after_ms = 2000;
    uint32_t max_stuck = 4;
    uint32_t check_every_ms = 10;    // whether the contents are still the same; a statx for each mapping cost 4 % of the tracker's time in a storm
    uint32_t max_images = (1u << 21) - 1;
  };
  explicit ImageRegistry(const Options& options);
  ~ImageRegistry() override;

  ImageBinding resolve(const MappedFile& mapped) override;
  ImageBinding re_resolve(uint32_t image, Range<RuntimeAddr> range, FileOffset offset) override;
  std::vector<uint32_t> take_ready() override;
  int ready_fd() const override;

  // The vDSO, copied once from our own memory (every 64-bit process of a boot has the same). 0: there is none.
  uint32_t vdso_image();

  // The parsed file, shared: for table compilers. Fails: kNotFound (no such id), kGone (cannot be reopened).
  Result<std::shared_ptr<const elf::ElfFile>> elf(uint32_t image);
  // A readable descriptor of its own: for the symbolizer. The vDSO is given as a memfd.
  Result<UniqueFd> open(uint32_t image);
  // The root folder (mount_roots.h) of the process it was first opened for: where its debug files are. Null: ours.
  std::shared_ptr<const UniqueFd> root(uint32_t image) const;
  // Nothing: no such id.
  std::optional<ImageInfo> find(uint32_t image) const;
  ImageRegistryCounts counts() const;

 private:
  struct State;  // shared with workers, so that one that hangs for ever can be left behind
  std::shared_ptr<State> state_;
};

}  // namespace cicada::process
