// SPDX-License-Identifier: Apache-2.0
// What ImageRegistry remembers: its own and its workers', split over the files that this names. Included by them alone.
#pragma once
#include <chrono>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <tuple>
#include <vector>

#include "process/images/image_file.h"
#include "process/images/image_registry.h"
#include "process/images/mount_roots.h"

namespace cicada::process {

inline constexpr size_t kMaxTries = 8;  // to open a file that could not be opened

using Clock = std::chrono::steady_clock;

enum class ImageState : uint8_t { kOpening, kReady, kNotElf, kFailed };

struct KnownBias {
  FileOffset offset;
  uint64_t size = 0;
  std::optional<uint64_t> delta;  // begin - bias
};

struct ImageEntry {
  ImageJob job;
  ImageState state = ImageState::kOpening;
  bool vdso = false;
  UniqueFd fd;
  std::shared_ptr<const UniqueFd> root;
  std::shared_ptr<const elf::ElfFile> elf;
  FileContents contents;
  bool path_matters = false, may_hang = false;
  profile::ImageKind kind = profile::ImageKind::kUnknown;
  std::vector<KnownBias> biases;
  Clock::time_point checked;  // when the contents were last compared
  uint64_t last_used = 0;
  size_t tries = 0;
};

// Everything under the mutex; a worker lets go of it while it opens a file.
struct ImageRegistry::State : std::enable_shared_from_this<ImageRegistry::State> {
  explicit State(const Options& options);

  Options options;
  UniqueFd ready_event;
  MountRoots roots;
  FileSystems file_systems;
  mutable std::mutex mutex;
  std::condition_variable work, idle;
  std::deque<uint32_t> queue;
  struct Worker {
    uint32_t job = 0;  // 0: idle
    Clock::time_point since;
    bool abandoned = false;
  };
  std::vector<std::shared_ptr<Worker>> workers;
  size_t running_threads = 0;
  bool stopping = false;

  std::deque<ImageEntry> images;  // by id - 1
  std::map<std::tuple<uint32_t, uint32_t, uint64_t>, std::vector<uint32_t>> by_inode;  // newest last
  std::vector<uint32_t> ready;
  size_t open_descriptors = 0;
  uint64_t turn = 0;
  uint32_t vdso = 0;
  bool vdso_tried = false;
  ImageRegistryCounts counts{};

  ImageEntry& entry(uint32_t id) { return images[id - 1]; }
  static auto inode_key(const FileIdentity& file) { return std::tuple(file.major, file.minor, file.inode); }

  // --- the entries: image_entries.cc
  // 0: no id left.
  uint32_t create(const MappedFile& mapped);
  static void add_hint(ImageEntry& image, const MappedFile& mapped);
  // The entry that these numbers and this path mean today; null: none yet.
  ImageEntry* find(const MappedFile& mapped);
  ImageBinding bind(ImageEntry& image, RuntimeAddr begin, FileOffset offset, uint64_t size);
  void fill(ImageEntry& image, OpenedImage opened);
  void make_room();
  // Makes elf and fd available in the calling thread.
  Result<void> reopen(uint32_t id);
  uint32_t vdso_image();
  // A descriptor of its own; waits for as long as the file system does.
  Result<UniqueFd> open_again(uint32_t id);

  // --- who opens them: image_workers.cc
  void enqueue(ImageEntry& image);
  // Threads are detached: one that hangs in open() cannot be joined, and must not keep the program from ending.
  void ensure_workers();
  void run(Worker& self);
  std::shared_ptr<const UniqueFd> find_root(const ImageJob& job);
  void finish(ImageEntry& image, Result<OpenedImage> opened);
  void mark_ready(uint32_t id);
  // open_again() into memory, by a thread that is left behind if nothing moves for `stuck_after_ms`.
  Result<UniqueFd> open_patiently(uint32_t id);
  // Leaves hanging workers behind.
  void give_up_stuck();
};

}  // namespace cicada::process
