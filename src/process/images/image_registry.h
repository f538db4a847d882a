// SPDX-License-Identifier: Apache-2.0
// Every executable file seen, with an id that is never reused (abi/frame.h: 1 … 2^21 - 1), opened once and kept open.
//
//   resolve() ──▶ known inode, unchanged ──▶ image and bias at once, no I/O but one statx that never leaves this machine
//             └─▶ unknown ──▶ id + kPending ──▶ worker opens it ──▶ take_ready() ──▶ re_resolve()
//
// The same inode with other contents is another image (cp over an installed library), and so is a reused inode number.
// Descriptors: at most a quarter of RLIMIT_NOFILE; beyond it the least recently used are closed and opened again when needed, accepted only
// if the contents, or the build-id, are the same.
// Threads: resolve, re_resolve, take_ready: the tracker's. Everything else: any.
#pragma once
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "process/images/descriptor_cache.h"
#include "process/images/image_opener.h"
#include "process/images/image_source.h"
#include "process/images/image_table.h"
#include "profile/profile.h"

namespace cicada::process {

struct ImageInfo {
  uint32_t id = 0;
  std::string path;       // as the process saw it, ' (deleted)' taken off
  std::string build_id;   // lower-case hex, or empty
  uint32_t owner = 0;     // root for files of root, else the user who mapped it first
  profile::ImageKind kind = profile::ImageKind::kUnknown;
  bool deleted = false;   // when first seen
  uint64_t bytes = 0;     // its size when it was opened
};

struct ImageRegistryCounts {
  uint64_t images = 0, opened = 0, open_failed = 0, not_elf = 0, replaced = 0, reopened = 0, closed_for_room = 0, unreadable = 0;
};

class ImageRegistry final : public ImageSource {
 public:
  struct Options {
    ImageOpener::Options opener{};
    size_t max_descriptors = 0;    // 0: a quarter of RLIMIT_NOFILE, at most 2,048
    uint32_t check_every_ms = 10;  // whether the contents are still the same; a statx for each mapping cost 4 % of the tracker's time in a storm
    size_t max_images = (1u << 21) - 1;
  };
  explicit ImageRegistry(const Options& options);

  ImageBinding resolve(const MappedFile& mapped) override;
  ImageBinding re_resolve(uint32_t image, Range<RuntimeAddr> range, FileOffset offset) override;
  std::vector<uint32_t> take_ready() override;
  int ready_fd() const override;

  // The vDSO, copied once from our own memory (every 64-bit process of a boot has the same). 0: there is none.
  uint32_t vdso_image();

  // A readable descriptor of its own, of what it was when it was mapped.
  // Fails: kNotFound (no such id), kGone (cannot be opened again), kLimit (large and remote), kIo (`stop` came first), what the file system says.
  Result<UniqueFd> open(uint32_t image, const std::stop_token& stop = {});
  // The root directory (mount_roots.h) of the process it was first opened for: where its debug files are. Null: ours.
  std::shared_ptr<const UniqueFd> root(uint32_t image) const;
  // Nothing: no such id.
  std::optional<ImageInfo> find(uint32_t image) const;
  // Its file has not been opened yet, nor has that failed.
  bool is_opening(uint32_t image) const;
  ImageRegistryCounts counts() const;

 private:
  // All under the mutex.
  void request(ImageEntry& image);
  ImageEntry* find_vdso();
  bool has_changed(ImageEntry& image);
  void accept(ImageEntry& image, OpenedImage opened);

  const std::chrono::milliseconds check_every_;
  const size_t max_descriptors_;
  ImageOpener opener_;
  mutable std::mutex mutex_;
  ImageTable table_;
  DescriptorCache descriptors_;
  std::optional<uint32_t> vdso_;  // 0: there is none
  UniqueFd vdso_fd_;
  ImageRegistryCounts counts_{};
};

}  // namespace cicada::process
