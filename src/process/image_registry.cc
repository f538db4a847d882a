// SPDX-License-Identifier: Apache-2.0
// Whether an inode that was seen before still holds what it held: device and inode number are compared as the kernel shows them
// in maps; while our descriptor is open the number cannot be given to another file, so only the contents can change. That shows
// in mtime or size (statx with AT_STATX_DONT_SYNC: answered from memory even for a network file system that hangs). The change
// time alone is no sign: unlink and chmod move it, and every package upgrade unlinks running programs.
#include "process/image_registry.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/auxv.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <thread>
#include <unordered_map>

#include "base/diagnostics.h"
#include "process/maps_file.h"
#include "process/mount_roots.h"
#include "process/proc_fs.h"

namespace cicada::process {
namespace {

constexpr uint32_t kBtrfsMagic = 0x9123683e;
constexpr uint32_t kOverlayMagic = 0x794c7630;
constexpr size_t kMaxHints = 4;
constexpr size_t kMaxTries = 8;
constexpr size_t kMaxBiases = 64;

using Clock = std::chrono::steady_clock;

// What tells two contents of one inode apart.
struct Contents {
  int64_t modified_s = 0, modified_ns = 0;
  uint64_t size = 0;
  auto operator<=>(const Contents&) const = default;
};

std::optional<Contents> contents_of(int fd) {
  struct statx st {};
  if (::statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_MTIME | STATX_SIZE, &st) != 0) return std::nullopt;
  return Contents{st.stx_mtime.tv_sec, st.stx_mtime.tv_nsec, st.stx_size};
}

bool same_inode(int fd, const FileIdentity& file) {
  struct stat st {};
  return ::fstat(fd, &st) == 0 && major(st.st_dev) == file.major && minor(st.st_dev) == file.minor && st.st_ino == file.inode;
}

// O_PATH first: opening a FIFO or a device for reading may block or do things. Nothing is opened that is not a regular file.
Result<UniqueFd> open_safely(const std::string& path) {
  const UniqueFd handle(::open(path.c_str(), O_PATH | O_CLOEXEC));
  if (!handle) return errno_error(errno, fmt::format("open {}", path));
  struct stat st {};
  if (::fstat(handle.get(), &st) != 0) return errno_error(errno, fmt::format("stat {}", path));
  if (!S_ISREG(st.st_mode)) return make_error(ErrorKind::kUnsupported, "{}: not a regular file", path);
  return open_regular(fmt::format("/proc/self/fd/{}", handle.get()));
}

// A place where a process maps the file.
struct Hint {
  Pid pid = 0;
  Range<RuntimeAddr> range;
};

// Does the process map this very file at that place now?
bool maps_file_at(const Hint& hint, const FileIdentity& file) {
  const auto maps = read_maps(hint.pid, MapsFilter::kExecutable);
  if (!maps) return false;
  return std::any_of(maps->entries.begin(), maps->entries.end(), [&](const MapsEntry& entry) {
    return entry.range.begin == hint.range.begin && entry.file.same_inode(file);
  });
}

struct Job {
  uint32_t id = 0;
  FileIdentity file;
  std::string path;
  bool deleted = false;
  std::vector<Hint> hints;
  std::string build_id;  // known from an earlier opening; else empty
};

struct Opened {
  UniqueFd fd;
  std::shared_ptr<const UniqueFd> root;
  std::shared_ptr<const elf::ElfFile> elf;  // null: not an ELF this program reads
  Contents contents;
  bool path_matters = false;
};

Result<Opened> take(UniqueFd fd, const Job& job, bool inode_proven) {
  Opened opened;
  const auto contents = contents_of(fd.get());
  if (!contents) return errno_error(errno, fmt::format("stat {}", job.path));
  opened.contents = *contents;
  struct statfs fs {};
  if (::fstatfs(fd.get(), &fs) == 0) opened.path_matters = fs.f_type == kBtrfsMagic || fs.f_type == kOverlayMagic;
  auto file = FileMapping::map(fd.get(), job.path);
  if (!file) return file.error();
  auto elf = elf::ElfFile::parse(*std::move(file), job.path);
  if (elf) {
    opened.elf = std::make_shared<const elf::ElfFile>(*std::move(elf));
  } else if (elf.error().kind() == ErrorKind::kCorrupt) {
    diagnostics().warn(job.path, "{}", elf.error().message());
  }
  const bool same_build = opened.elf != nullptr && !job.build_id.empty() && opened.elf->build_id() == job.build_id;
  if (!inode_proven && !same_build) return make_error(ErrorKind::kGone, "{}: replaced by another file", job.path);
  opened.fd = std::move(fd);
  return opened;
}

Result<Opened> open_image(const Job& job) {
  Error last = make_error(ErrorKind::kGone, "{}: no process maps it any more", job.path);
  for (const Hint& hint : job.hints) {
    const Tid owner = thread_with_memory(hint.pid);
    auto fd = open_safely(fmt::format("/proc/{}/map_files/{:x}-{:x}", owner, hint.range.begin.value, hint.range.end.value));
    // The range may have been split or merged since; ask maps for the mapping that begins there.
    if (!fd && fd.error().kind() == ErrorKind::kNotFound) {
      const auto maps = read_maps(hint.pid, MapsFilter::kExecutable);
      if (maps) {
        for (const MapsEntry& entry : maps->entries) {
          if (!entry.range.contains(hint.range.begin) || !entry.file.same_inode(job.file)) continue;
          fd = open_safely(fmt::format("/proc/{}/map_files/{:x}-{:x}", owner, entry.range.begin.value, entry.range.end.value));
        }
      }
    }
    if (!fd) {
      last = fd.error();
      if (last.kind() == ErrorKind::kUnsupported) return last;
      continue;
    }
    // Something else may be mapped there by now: the numbers decide, fstat's where it tells the same ones, else maps'.
    const bool proven = same_inode(fd->get(), job.file) || maps_file_at(hint, job.file);
    auto opened = take(*std::move(fd), job, proven);
    if (opened) return opened;
    last = opened.error();
  }
  if (job.deleted || !job.path.starts_with('/')) return last;
  std::vector<std::string> paths{job.path};
  for (const Hint& hint : job.hints) paths.push_back(fmt::format("/proc/{}/root{}", hint.pid, job.path));
  for (const std::string& path : paths) {
    auto fd = open_safely(path);
    if (!fd) continue;
    const bool proven = same_inode(fd->get(), job.file);
    auto opened = take(*std::move(fd), job, proven);
    if (opened) return opened;
    last = opened.error();
  }
  return last;
}

enum class ImageState : uint8_t { kOpening, kReady, kNotElf, kFailed };

struct KnownBias {
  FileOffset offset;
  uint64_t size = 0;
  std::optional<uint64_t> delta;  // begin - bias
};

struct ImageEntry {
  Job job;
  ImageState state = ImageState::kOpening;
  bool vdso = false;
  UniqueFd fd;
  std::shared_ptr<const UniqueFd> root;
  std::shared_ptr<const elf::ElfFile> elf;
  Contents contents;
  bool path_matters = false;
  profile::ImageKind kind = profile::ImageKind::kUnknown;
  std::vector<KnownBias> biases;
  Clock::time_point checked;  // when the contents were last compared
  uint64_t last_used = 0;
  size_t tries = 0;
  Clock::time_point last_try;
};

profile::ImageKind kind_of(const std::string& path, const elf::ElfFile& elf) {
  const std::string_view base = std::string_view(path).substr(path.rfind('/') + 1);
  if (elf.type() == ET_EXEC) return profile::ImageKind::kExecutable;
  // Both have PT_INTERP at times (libc.so.6 runs), so the name decides.
  return base.find(".so") != std::string_view::npos ? profile::ImageKind::kLibrary : profile::ImageKind::kExecutable;
}

}  // namespace

struct ImageRegistry::State : std::enable_shared_from_this<ImageRegistry::State> {
  explicit State(const Options& o) : options(o), settled_event(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    if (options.max_descriptors == 0) {
      rlimit limit{};
      ::getrlimit(RLIMIT_NOFILE, &limit);
      options.max_descriptors = std::clamp<size_t>(limit.rlim_cur / 2, 16, 2048);
    }
  }

  Options options;
  UniqueFd settled_event;
  MountRoots roots;
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
  std::vector<uint32_t> settled;
  size_t open_descriptors = 0;
  uint64_t turn = 0;
  uint32_t vdso = 0;
  bool vdso_tried = false;
  ImageRegistryCounts counts{};

  ImageEntry& entry(uint32_t id) { return images[id - 1]; }
  static auto inode_key(const FileIdentity& file) { return std::tuple(file.major, file.minor, file.inode); }

  // 0: no id left.
  uint32_t create(const MappedFile& mapped) {
    if (images.size() >= options.max_images) {
      diagnostics().warn("images", "more than {} files mapped: further ones stay unknown", options.max_images);
      return 0;
    }
    images.emplace_back();
    const auto id = static_cast<uint32_t>(images.size());
    ImageEntry& image = entry(id);
    image.job.id = id;
    image.job.file = mapped.file;
    image.job.path = mapped.path;
    image.job.deleted = mapped.deleted;
    by_inode[inode_key(mapped.file)].push_back(id);
    ++counts.images;
    return id;
  }

  void add_hint(ImageEntry& image, const MappedFile& mapped) {
    auto& hints = image.job.hints;
    std::erase_if(hints, [&](const Hint& hint) { return hint.pid == mapped.pid; });
    hints.insert(hints.begin(), {mapped.pid, mapped.range});
    if (hints.size() > kMaxHints) hints.pop_back();
  }

  void enqueue(ImageEntry& image) {
    image.state = ImageState::kOpening;
    image.last_try = Clock::now();
    ++image.tries;
    queue.push_back(image.job.id);
    ensure_workers();
    work.notify_one();
  }

  // Threads are detached: one that hangs in open() cannot be joined, and must not keep the program from ending.
  void ensure_workers() {
    while (workers.size() < options.workers) {
      auto worker = std::make_shared<Worker>();
      workers.push_back(worker);
      ++running_threads;
      std::thread([self = shared_from_this(), worker] { self->run(*worker); }).detach();
    }
  }

  void run(Worker& self) {
    std::unique_lock lock(mutex);
    for (;;) {
      work.wait(lock, [&] { return stopping || !queue.empty() || self.abandoned; });
      if (stopping || self.abandoned) break;
      const uint32_t id = queue.front();
      queue.pop_front();
      const Job job = entry(id).job;
      self.job = id;
      self.since = Clock::now();
      lock.unlock();
      auto opened = open_image(job);
      if (opened) opened->root = find_root(job);
      lock.lock();
      self.job = 0;
      if (self.abandoned) break;  // the file was given up; its descriptor closes here
      finish(entry(id), std::move(opened));
    }
    --running_threads;
    idle.notify_all();
  }

  std::shared_ptr<const UniqueFd> find_root(const Job& job) {
    for (const Hint& hint : job.hints) {
      if (auto root = roots.find(hint.pid)) return root;
    }
    return nullptr;
  }

  void finish(ImageEntry& image, Result<Opened> opened) {
    if (image.state != ImageState::kOpening) return;
    if (opened) {
      ++counts.opened;
      fill(image, *std::move(opened));
    } else {
      const Error& error = opened.error();
      // A device or FIFO stays what it is. Else the next process that maps the file gives another chance.
      image.state = error.kind() == ErrorKind::kUnsupported ? ImageState::kNotElf : ImageState::kFailed;
      ++counts.open_failed;
      if (error.kind() != ErrorKind::kGone) diagnostics().warn(image.job.path, "code of this file stays unnamed: {}", error.message());
    }
    settle(image.job.id);
  }

  void settle(uint32_t id) {
    settled.push_back(id);
    const uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = ::write(settled_event.get(), &one, sizeof one);
  }

  void fill(ImageEntry& image, Opened opened) {
    // Opened a second time, after it was closed for room: the id stands for what it was, so other contents need another id.
    if (image.contents != Contents{} && image.contents != opened.contents &&
        (opened.elf == nullptr || image.job.build_id.empty() || opened.elf->build_id() != image.job.build_id)) {
      image.state = ImageState::kFailed;
      image.tries = kMaxTries;
      std::erase(by_inode[inode_key(image.job.file)], image.job.id);
      ++counts.replaced;
      return;
    }
    if (image.fd) --open_descriptors;
    image.fd.reset();
    image.contents = opened.contents;
    image.path_matters = opened.path_matters;
    if (opened.elf == nullptr) {
      image.state = ImageState::kNotElf;
      ++counts.not_elf;
      return;
    }
    image.state = ImageState::kReady;
    image.job.build_id = opened.elf->build_id();
    image.kind = kind_of(image.job.path, *opened.elf);
    image.elf = std::move(opened.elf);
    make_room();
    image.fd = std::move(opened.fd);
    if (opened.root != nullptr) image.root = std::move(opened.root);
    image.last_used = ++turn;
    ++open_descriptors;
  }

  void make_room() {
    while (open_descriptors >= options.max_descriptors) {
      ImageEntry* oldest = nullptr;
      for (ImageEntry& image : images) {
        if (image.fd && (oldest == nullptr || image.last_used < oldest->last_used)) oldest = &image;
      }
      if (oldest == nullptr) return;
      oldest->fd.reset();
      oldest->elf.reset();
      --open_descriptors;
      ++counts.closed_for_room;
    }
  }

  // Leaves hanging workers behind.
  void give_up_stuck() {
    const auto now = Clock::now();
    for (auto& worker : workers) {
      if (worker->job == 0 || now - worker->since < std::chrono::milliseconds(options.stuck_after_ms)) continue;
      ImageEntry& image = entry(worker->job);
      worker->abandoned = true;
      ++counts.stuck;
      image.state = ImageState::kFailed;
      image.tries = kMaxTries;
      diagnostics().warn(image.job.path, "its file system does not answer: code of this file stays unnamed");
      settle(image.job.id);
      worker = nullptr;
    }
    if (std::erase(workers, nullptr) == 0) return;
    if (counts.stuck < options.max_stuck) return ensure_workers();
    if (!workers.empty()) return;
    for (const uint32_t id : queue) {
      entry(id).state = ImageState::kFailed;
      settle(id);
    }
    queue.clear();
    options.workers = 0;  // no more threads are risked
  }

  Placement placement(ImageEntry& image, RuntimeAddr begin, FileOffset offset, uint64_t size) {
    switch (image.state) {
      case ImageState::kOpening: return {PlacementState::kPending, image.job.id, 0};
      case ImageState::kNotElf: return {PlacementState::kJit, 0, 0};
      case ImageState::kFailed: return {PlacementState::kUnknown, 0, 0};
      case ImageState::kReady: break;
    }
    image.last_used = ++turn;
    auto known = std::find_if(image.biases.begin(), image.biases.end(),
                              [&](const KnownBias& bias) { return bias.offset == offset && bias.size == size; });
    if (known == image.biases.end()) {
      if (image.elf == nullptr) return {PlacementState::kUnknown, 0, 0};
      const auto bias = image.elf->find_bias(begin, offset, size);
      KnownBias found{offset, size, std::nullopt};
      if (bias) found.delta = begin.value - *bias;
      if (image.biases.size() >= kMaxBiases) image.biases.erase(image.biases.begin());
      known = image.biases.insert(image.biases.end(), found);
    }
    // Executable bytes of the file that belong to no segment: no rows, no symbols.
    if (!known->delta) return {PlacementState::kJit, 0, 0};
    return {PlacementState::kImage, image.job.id, begin.value - *known->delta};
  }

  // The entry that these numbers and this path mean today; null: none yet.
  ImageEntry* find(const MappedFile& mapped) {
    const auto at = by_inode.find(inode_key(mapped.file));
    if (at == by_inode.end()) return nullptr;
    for (auto id = at->second.rbegin(); id != at->second.rend(); ++id) {
      ImageEntry& image = entry(*id);
      const uint64_t generation = image.job.file.generation;
      if (generation != 0 && mapped.file.generation != 0 && generation != mapped.file.generation) continue;
      if (image.path_matters && image.job.path != mapped.path) continue;
      if (generation == 0) image.job.file.generation = mapped.file.generation;
      return &image;
    }
    return nullptr;
  }

  std::pair<std::vector<uint8_t>, bool> vdso_bytes() {
    const uint64_t begin = ::getauxval(AT_SYSINFO_EHDR);
    const auto maps = read_maps(::getpid(), MapsFilter::kExecutable);
    if (begin == 0 || !maps) return {};
    for (const MapsEntry& mapped : maps->entries) {
      if (mapped.range.begin.value != begin) continue;
      const auto* bytes = reinterpret_cast<const uint8_t*>(begin);
      return {std::vector<uint8_t>(bytes, bytes + mapped.range.size()), true};
    }
    return {};
  }

  uint32_t vdso_image() {
    if (vdso_tried) return vdso;
    vdso_tried = true;
    const auto [bytes, found] = vdso_bytes();
    if (!found) return 0;
    auto elf = elf::ElfFile::parse_copy(bytes, "[vdso]");
    if (!elf) {
      diagnostics().warn("[vdso]", "{}", elf.error().message());
      return 0;
    }
    MappedFile mapped;
    mapped.path = "[vdso]";
    vdso = create(mapped);
    if (vdso == 0) return 0;
    ImageEntry& image = entry(vdso);
    image.vdso = true;
    image.elf = std::make_shared<const elf::ElfFile>(*std::move(elf));
    image.job.build_id = image.elf->build_id();
    image.kind = profile::ImageKind::kVdso;
    image.state = ImageState::kReady;
    return vdso;
  }

  // Makes elf and fd available in the calling thread.
  Result<void> reopen(uint32_t id) {
    std::unique_lock lock(mutex);
    if (id == 0 || id > images.size()) return make_error(ErrorKind::kNotFound, "image {}: no such image", id);
    ImageEntry& image = entry(id);
    if (image.elf != nullptr && (image.fd || image.vdso)) return {};
    if (image.state != ImageState::kReady) return make_error(ErrorKind::kGone, "{}: not open", image.job.path);
    const Job job = image.job;
    const Contents contents = image.contents;
    lock.unlock();
    Opened opened = TRY(open_image(job));
    if (opened.elf == nullptr || (opened.contents != contents && (job.build_id.empty() || opened.elf->build_id() != job.build_id))) {
      return make_error(ErrorKind::kGone, "{}: replaced by another file", job.path);
    }
    lock.lock();
    ++counts.reopened;
    if (!image.fd) fill(image, std::move(opened));
    return {};
  }
};

ImageRegistry::ImageRegistry(const Options& options) : state_(std::make_shared<State>(options)) {}

ImageRegistry::~ImageRegistry() {
  constexpr auto kFarewell = std::chrono::milliseconds(500);
  std::unique_lock lock(state_->mutex);
  state_->stopping = true;
  state_->work.notify_all();
  state_->idle.wait_for(lock, kFarewell, [&] { return state_->running_threads == 0; });
}

Placement ImageRegistry::place(const MappedFile& mapped) {
  State& s = *state_;
  const std::lock_guard lock(s.mutex);
  if (mapped.file.anonymous()) {
    if (mapped.path != "[vdso]") return {PlacementState::kJit, 0, 0};
    const uint32_t id = s.vdso_image();
    return id == 0 ? Placement{PlacementState::kJit, 0, 0} : s.placement(s.entry(id), mapped.range.begin, mapped.offset, mapped.range.size());
  }
  ImageEntry* image = s.find(mapped);
  if (image != nullptr && (image->state == ImageState::kReady || image->state == ImageState::kNotElf) && image->fd &&
      Clock::now() - image->checked >= std::chrono::milliseconds(s.options.check_every_ms)) {
    image->checked = Clock::now();
    const auto contents = contents_of(image->fd.get());
    if (contents && *contents != image->contents) {
      ++s.counts.replaced;
      image = nullptr;
    }
  }
  if (image == nullptr) {
    const uint32_t id = s.create(mapped);
    if (id == 0) return {PlacementState::kUnknown, 0, 0};
    image = &s.entry(id);
    s.add_hint(*image, mapped);
    s.enqueue(*image);
    return {PlacementState::kPending, id, 0};
  }
  s.add_hint(*image, mapped);
  const bool retry = image->state == ImageState::kFailed && image->tries < kMaxTries && s.options.workers > 0;
  // Closed for room: what is there now must be looked at again before its old rows are used.
  const bool closed = image->state == ImageState::kReady && !image->fd && !image->vdso;
  if (retry || closed) s.enqueue(*image);
  return s.placement(*image, mapped.range.begin, mapped.offset, mapped.range.size());
}

Placement ImageRegistry::place_again(uint32_t id, Range<RuntimeAddr> range, FileOffset offset) {
  State& s = *state_;
  const std::lock_guard lock(s.mutex);
  if (id == 0 || id > s.images.size()) return {};
  return s.placement(s.entry(id), range.begin, offset, range.size());
}

std::vector<uint32_t> ImageRegistry::take_settled() {
  State& s = *state_;
  uint64_t count = 0;
  [[maybe_unused]] const ssize_t got = ::read(s.settled_event.get(), &count, sizeof count);
  const std::lock_guard lock(s.mutex);
  s.give_up_stuck();
  return std::exchange(s.settled, {});
}

int ImageRegistry::settled_fd() const { return state_->settled_event.get(); }

uint32_t ImageRegistry::vdso_image() {
  const std::lock_guard lock(state_->mutex);
  return state_->vdso_image();
}

Result<std::shared_ptr<const elf::ElfFile>> ImageRegistry::elf(uint32_t image) {
  TRY(state_->reopen(image));
  const std::lock_guard lock(state_->mutex);
  ImageEntry& entry = state_->entry(image);
  entry.last_used = ++state_->turn;
  if (entry.elf == nullptr) return make_error(ErrorKind::kLimit, "{}: closed again at once: too few descriptors", entry.job.path);
  return entry.elf;
}

Result<UniqueFd> ImageRegistry::open(uint32_t image) {
  TRY(state_->reopen(image));
  const std::lock_guard lock(state_->mutex);
  ImageEntry& entry = state_->entry(image);
  if (entry.vdso) {
    UniqueFd fd(::memfd_create("vdso", MFD_CLOEXEC));
    const Bytes bytes = entry.elf->bytes();
    if (!fd || ::pwrite(fd.get(), bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
      return errno_error(errno, "memfd for the vDSO");
    }
    return fd;
  }
  // Opened anew, so that readers do not share a file position.
  UniqueFd fd(::open(fmt::format("/proc/self/fd/{}", entry.fd.get()).c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return errno_error(errno, fmt::format("open {}", entry.job.path));
  return fd;
}

std::shared_ptr<const UniqueFd> ImageRegistry::root(uint32_t image) const {
  const std::lock_guard lock(state_->mutex);
  return image == 0 || image > state_->images.size() ? nullptr : state_->images[image - 1].root;
}

std::optional<ImageInfo> ImageRegistry::find(uint32_t image) const {
  const std::lock_guard lock(state_->mutex);
  if (image == 0 || image > state_->images.size()) return std::nullopt;
  const ImageEntry& entry = state_->images[image - 1];
  return ImageInfo{image, entry.job.path, entry.job.build_id, entry.kind, entry.job.deleted};
}

ImageRegistryCounts ImageRegistry::counts() const {
  const std::lock_guard lock(state_->mutex);
  return state_->counts;
}

}  // namespace cicada::process
