// SPDX-License-Identifier: Apache-2.0
// Whether an inode that was seen before still holds what it held: device and inode number are compared as the kernel shows them
// in maps; while our descriptor is open the number cannot be given to another file, so only the contents can change. That shows
// in mtime or size (statx with AT_STATX_DONT_SYNC: answered from memory even for a network file system that hangs). The change
// time alone is no sign: unlink and chmod move it, and every package upgrade unlinks running programs.
#include "process/images/image_registry.h"

#include <fcntl.h>
#include <sys/resource.h>

#include <algorithm>
#include <utility>

#include "base/diagnostics.h"
#include "elf/vdso_image.h"

namespace cicada::process {
namespace {

constexpr uint8_t kMaxTries = 8;  // to open a file that could not be opened

size_t default_descriptors() {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  return std::clamp<size_t>(limit.rlim_cur / 4, 16, 2048);
}

ImageOpener::Options with_room(ImageOpener::Options options, size_t descriptors) {
  options.max_untaken = std::min(options.max_untaken, descriptors / 2);
  return options;
}

UniqueFd duplicate(int fd) { return UniqueFd(fd < 0 ? -1 : ::fcntl(fd, F_DUPFD_CLOEXEC, 0)); }

Error no_such_image(uint32_t image) { return make_error(ErrorKind::kNotFound, "image {}: no such image", image); }

}  // namespace

ImageRegistry::ImageRegistry(const Options& options)
    : check_every_(options.check_every_ms),
      max_descriptors_(options.max_descriptors != 0 ? options.max_descriptors : default_descriptors()),
      opener_(with_room(options.opener, max_descriptors_)),
      table_(options.max_images),
      descriptors_(max_descriptors_) {}

ImageBinding ImageRegistry::resolve(const MappedFile& mapped) {
  const std::lock_guard lock(mutex_);
  if (mapped.file.anonymous()) {
    const ImageEntry* vdso = mapped.path == "[vdso]" ? find_vdso() : nullptr;
    return vdso == nullptr ? ImageBinding{BindingState::kJit, 0, 0} : vdso->bind(mapped.range.begin, mapped.offset, mapped.range.size());
  }
  ImageEntry* image = table_.find(mapped);
  if (image != nullptr && has_changed(*image)) image = nullptr;
  const bool is_new = image == nullptr;
  if (is_new) image = table_.create(mapped);
  if (image == nullptr) {
    diagnostics().warn("images", "too many files are mapped: further ones stay unknown");
    return {};
  }
  counts_.images += is_new;
  image->add_hint({mapped.pid, mapped.range});
  const bool retry = image->state == ImageState::kFailed && image->tries < kMaxTries;
  // Closed for room: what is there now must be looked at again before its old rows are used.
  const bool closed = image->state == ImageState::kReady && descriptors_.find(image->job.id) < 0;
  if (is_new || retry || closed) request(*image);
  return image->bind(mapped.range.begin, mapped.offset, mapped.range.size());
}

bool ImageRegistry::has_changed(ImageEntry& image) {
  if (image.state != ImageState::kReady) return false;
  const int fd = descriptors_.find(image.job.id);
  const auto now = std::chrono::steady_clock::now();
  if (fd < 0 || now - image.checked < check_every_) return false;
  image.checked = now;
  const auto contents = contents_of(fd);
  if (!contents || *contents == image.job.contents) return false;
  ++counts_.replaced;
  return true;
}

void ImageRegistry::request(ImageEntry& image) {
  image.state = ImageState::kOpening;
  ++image.tries;
  image.has_new_hints = false;
  opener_.request(image.job);
}

ImageBinding ImageRegistry::re_resolve(uint32_t id, Range<RuntimeAddr> range, FileOffset offset) {
  const std::lock_guard lock(mutex_);
  const ImageEntry* image = table_.find(id);
  return image == nullptr ? ImageBinding{} : image->bind(range.begin, offset, range.size());
}

std::vector<uint32_t> ImageRegistry::take_ready() {
  auto outcomes = opener_.take_opened();
  std::vector<uint32_t> ready;
  const std::lock_guard lock(mutex_);
  for (ImageOpener::Outcome& outcome : outcomes) {
    ImageEntry& image = *table_.find(outcome.id);
    ready.push_back(outcome.id);
    if (outcome.opened) {
      ++counts_.opened;
      accept(image, *std::move(outcome.opened));
      continue;
    }
    const Error& error = outcome.opened.error();
    // Who maps it by now was not asked: meanwhile the process has begun the program (the file was mapped before that, too), or another came.
    if (image.has_new_hints && image.tries < kMaxTries && error.kind() != ErrorKind::kUnsupported) {
      ready.pop_back();
      request(image);
      continue;
    }
    // A device or FIFO stays what it is. Else the next process that maps the file gives another chance.
    image.state = error.kind() == ErrorKind::kUnsupported ? ImageState::kNotElf : ImageState::kFailed;
    ++counts_.open_failed;
    counts_.unreadable += error.kind() == ErrorKind::kIo;
    if (error.kind() != ErrorKind::kGone && error.kind() != ErrorKind::kNotFound) diagnostics().warn(image.job.path, "cannot symbolize: {}", error.message());
  }
  return ready;
}

void ImageRegistry::accept(ImageEntry& image, OpenedImage opened) {
  const bool accepted = table_.accept(image, opened);
  counts_.replaced += !accepted;
  counts_.not_elf += accepted && image.state == ImageState::kNotElf;
  counts_.closed_for_room += accepted && !opened.fd;
  if (accepted && image.state == ImageState::kReady && opened.fd) {
    descriptors_.insert(image.job.id, std::move(opened.fd));
  } else {
    descriptors_.erase(image.job.id);
  }
}

int ImageRegistry::ready_fd() const { return opener_.ready_fd(); }

uint32_t ImageRegistry::vdso_image() {
  const std::lock_guard lock(mutex_);
  const ImageEntry* image = find_vdso();
  return image == nullptr ? 0 : image->job.id;
}

ImageEntry* ImageRegistry::find_vdso() {
  if (vdso_) return table_.find(*vdso_);
  vdso_ = 0;
  auto fd = elf::open_vdso();
  if (!fd) return nullptr;
  auto header = elf::read_image_header(elf::by_pread(fd->get()));
  if (!header) {
    diagnostics().warn("[vdso]", "{}", header.error().message());
    return nullptr;
  }
  MappedFile mapped;
  mapped.path = "[vdso]";
  ImageEntry* image = table_.create(mapped);
  if (image == nullptr) return nullptr;
  OpenedImage opened;
  opened.contents = contents_of(fd->get()).value_or(FileContents{});
  opened.header = *std::move(header);
  table_.accept(*image, opened);
  ++counts_.images;
  vdso_ = image->job.id;
  vdso_fd_ = *std::move(fd);
  return image;
}

Result<UniqueFd> ImageRegistry::open(uint32_t id, const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  const ImageEntry* image = table_.find(id);
  if (image == nullptr) return no_such_image(id);
  if (image->state != ImageState::kReady) return make_error(ErrorKind::kGone, "{}: not open", image->job.path);
  const ImageJob job = image->job;
  const bool remote = image->remote;
  const UniqueFd held = duplicate(id == vdso_ ? vdso_fd_.get() : descriptors_.find(id));
  lock.unlock();
  ImageOpener::Reread reread = TRY(opener_.reread(job, held, remote, stop));
  if (reread.image) {
    lock.lock();
    ++counts_.reopened;
    accept(*table_.find(id), *std::move(reread.image));
  }
  return std::move(reread.fd);
}

std::shared_ptr<const UniqueFd> ImageRegistry::root(uint32_t id) const {
  const std::lock_guard lock(mutex_);
  const ImageEntry* image = table_.find(id);
  return image == nullptr ? nullptr : image->root;
}

std::optional<ImageInfo> ImageRegistry::find(uint32_t id) const {
  const std::lock_guard lock(mutex_);
  const ImageEntry* image = table_.find(id);
  if (image == nullptr) return std::nullopt;
  return ImageInfo{id, image->job.path, image->job.build_id, image->job.owner, image->kind, image->job.deleted, image->job.contents.size};
}

bool ImageRegistry::is_opening(uint32_t id) const {
  const std::lock_guard lock(mutex_);
  const ImageEntry* image = table_.find(id);
  return image != nullptr && image->state == ImageState::kOpening;
}

ImageRegistryCounts ImageRegistry::counts() const {
  const std::lock_guard lock(mutex_);
  ImageRegistryCounts counts = counts_;
  counts.closed_for_room += descriptors_.closed();
  return counts;
}

}  // namespace cicada::process
