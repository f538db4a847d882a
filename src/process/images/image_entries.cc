// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <algorithm>

#include "base/diagnostics.h"
#include "process/images/image_registry_state.h"
#include "process/procfs/maps_file.h"

namespace cicada::process {
namespace {

constexpr size_t kMaxHints = 4;
constexpr size_t kMaxBiases = 64;

profile::ImageKind kind_of(const std::string& path, const elf::ElfFile& elf) {
  const std::string_view base = std::string_view(path).substr(path.rfind('/') + 1);
  if (elf.type() == ET_EXEC) return profile::ImageKind::kExecutable;
  // Both have PT_INTERP at times (libc.so.6 runs), so the name decides.
  return base.find(".so") != std::string_view::npos ? profile::ImageKind::kLibrary : profile::ImageKind::kExecutable;
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

}  // namespace

uint32_t ImageRegistry::State::create(const MappedFile& mapped) {
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

void ImageRegistry::State::add_hint(ImageEntry& image, const MappedFile& mapped) {
  auto& hints = image.job.hints;
  std::erase_if(hints, [&](const ImageHint& hint) { return hint.pid == mapped.pid; });
  hints.insert(hints.begin(), {mapped.pid, mapped.range});
  if (hints.size() > kMaxHints) hints.pop_back();
}

void ImageRegistry::State::fill(ImageEntry& image, OpenedImage opened) {
  // OpenedImage a second time, after it was closed for room: the id stands for what it was, so other contents need another id.
  if (image.contents != FileContents{} && image.contents != opened.contents &&
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
  image.may_hang = opened.may_hang;
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

void ImageRegistry::State::make_room() {
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

ImageBinding ImageRegistry::State::bind(ImageEntry& image, RuntimeAddr begin, FileOffset offset, uint64_t size) {
  switch (image.state) {
    case ImageState::kOpening: return {BindingState::kPending, image.job.id, 0};
    case ImageState::kNotElf: return {BindingState::kJit, 0, 0};
    case ImageState::kFailed: return {BindingState::kUnknown, 0, 0};
    case ImageState::kReady: break;
  }
  image.last_used = ++turn;
  auto known = std::find_if(image.biases.begin(), image.biases.end(),
                            [&](const KnownBias& bias) { return bias.offset == offset && bias.size == size; });
  if (known == image.biases.end()) {
    if (image.elf == nullptr) return {BindingState::kUnknown, 0, 0};
    const auto bias = image.elf->find_bias(begin, offset, size);
    KnownBias found{offset, size, std::nullopt};
    if (bias) found.delta = begin.value - *bias;
    if (image.biases.size() >= kMaxBiases) image.biases.erase(image.biases.begin());
    known = image.biases.insert(image.biases.end(), found);
  }
  // Executable bytes of the file that belong to no segment: no rows, no symbols.
  if (!known->delta) return {BindingState::kJit, 0, 0};
  return {BindingState::kImage, image.job.id, begin.value - *known->delta};
}

ImageEntry* ImageRegistry::State::find(const MappedFile& mapped) {
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

uint32_t ImageRegistry::State::vdso_image() {
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

Result<UniqueFd> ImageRegistry::State::open_again(uint32_t id) {
  TRY(reopen(id));
  std::unique_lock lock(mutex);
  const ImageEntry& image = entry(id);
  const std::string path = image.job.path;
  const UniqueFd held(::fcntl(image.fd.get(), F_DUPFD_CLOEXEC, 0));
  lock.unlock();
  // Anew, so that readers do not share a file position.
  UniqueFd fd(::open(fmt::format("/proc/self/fd/{}", held.get()).c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return errno_error(errno, fmt::format("open {}", path));
  return fd;
}

Result<void> ImageRegistry::State::reopen(uint32_t id) {
  std::unique_lock lock(mutex);
  if (id == 0 || id > images.size()) return make_error(ErrorKind::kNotFound, "image {}: no such image", id);
  ImageEntry& image = entry(id);
  if (image.vdso) return {};
  if (image.elf != nullptr && image.fd) {
    // The descriptor keeps the inode, not what is in it: written over in place, it would give the names of another program.
    const auto now = contents_of(image.fd.get());
    if (!now || *now == image.contents) return {};
    const ImageJob job = image.job;
    const UniqueFd fd(::fcntl(image.fd.get(), F_DUPFD_CLOEXEC, 0));
    lock.unlock();
    if (!holds_build(fd.get(), job)) return make_error(ErrorKind::kGone, "{}: written over since it was mapped", job.path);
    lock.lock();
    image.contents = *now;  // touched, no more
    return {};
  }
  if (image.state != ImageState::kReady) return make_error(ErrorKind::kGone, "{}: not open", image.job.path);
  const ImageJob job = image.job;
  const FileContents contents = image.contents;
  lock.unlock();
  OpenedImage opened = TRY(open_image(job, file_systems));
  if (opened.elf == nullptr || (opened.contents != contents && (job.build_id.empty() || opened.elf->build_id() != job.build_id))) {
    return make_error(ErrorKind::kGone, "{}: replaced by another file", job.path);
  }
  lock.lock();
  ++counts.reopened;
  if (!image.fd) fill(image, std::move(opened));
  return {};
}

}  // namespace cicada::process
