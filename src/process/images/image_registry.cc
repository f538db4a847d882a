// SPDX-License-Identifier: Apache-2.0
// Whether an inode that was seen before still holds what it held: device and inode number are compared as the kernel shows them
// in maps; while our descriptor is open the number cannot be given to another file, so only the contents can change. That shows
// in mtime or size (statx with AT_STATX_DONT_SYNC: answered from memory even for a network file system that hangs). The change
// time alone is no sign: unlink and chmod move it, and every package upgrade unlinks running programs.
#include "process/images/image_registry.h"

#include "process/images/image_registry.h"

#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "process/images/image_registry_state.h"

namespace cicada::process {

// Who asks a file system first gives up before the worker that waits for it would be.
ImageRegistry::State::State(const Options& o)
    : options(o),
      ready_event(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      file_systems(std::chrono::milliseconds(o.stuck_after_ms * 3 / 4)) {
  if (options.max_descriptors != 0) return;
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  options.max_descriptors = std::clamp<size_t>(limit.rlim_cur / 2, 16, 2048);
}

ImageRegistry::ImageRegistry(const Options& options) : state_(std::make_shared<State>(options)) {}

ImageRegistry::~ImageRegistry() {
  constexpr auto kFarewell = std::chrono::milliseconds(500);
  std::unique_lock lock(state_->mutex);
  state_->stopping = true;
  state_->work.notify_all();
  state_->idle.wait_for(lock, kFarewell, [&] { return state_->running_threads == 0; });
}

ImageBinding ImageRegistry::resolve(const MappedFile& mapped) {
  State& s = *state_;
  const std::lock_guard lock(s.mutex);
  if (mapped.file.anonymous()) {
    if (mapped.path != "[vdso]") return {BindingState::kJit, 0, 0};
    const uint32_t id = s.vdso_image();
    return id == 0 ? ImageBinding{BindingState::kJit, 0, 0} : s.bind(s.entry(id), mapped.range.begin, mapped.offset, mapped.range.size());
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
    if (id == 0) return {BindingState::kUnknown, 0, 0};
    image = &s.entry(id);
    s.add_hint(*image, mapped);
    s.enqueue(*image);
    return {BindingState::kPending, id, 0};
  }
  s.add_hint(*image, mapped);
  const bool retry = image->state == ImageState::kFailed && image->tries < kMaxTries && s.options.workers > 0;
  // Closed for room: what is there now must be looked at again before its old rows are used.
  const bool closed = image->state == ImageState::kReady && !image->fd && !image->vdso;
  if (retry || closed) s.enqueue(*image);
  return s.bind(*image, mapped.range.begin, mapped.offset, mapped.range.size());
}

ImageBinding ImageRegistry::re_resolve(uint32_t id, Range<RuntimeAddr> range, FileOffset offset) {
  State& s = *state_;
  const std::lock_guard lock(s.mutex);
  if (id == 0 || id > s.images.size()) return {};
  return s.bind(s.entry(id), range.begin, offset, range.size());
}

std::vector<uint32_t> ImageRegistry::take_ready() {
  State& s = *state_;
  uint64_t count = 0;
  [[maybe_unused]] const ssize_t got = ::read(s.ready_event.get(), &count, sizeof count);
  const std::lock_guard lock(s.mutex);
  s.give_up_stuck();
  return std::exchange(s.ready, {});
}

int ImageRegistry::ready_fd() const { return state_->ready_event.get(); }

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
  std::unique_lock lock(state_->mutex);
  if (image == 0 || image > state_->images.size()) return make_error(ErrorKind::kNotFound, "image {}: no such image", image);
  const ImageEntry& entry = state_->entry(image);
  if (entry.vdso) {
    UniqueFd fd(::memfd_create("vdso", MFD_CLOEXEC));
    const Bytes bytes = entry.elf->bytes();
    if (!fd || ::pwrite(fd.get(), bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
      return errno_error(errno, "memfd for the vDSO");
    }
    return fd;
  }
  const bool patiently = entry.may_hang;
  lock.unlock();
  return patiently ? state_->open_patiently(image) : state_->open_again(image);
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
