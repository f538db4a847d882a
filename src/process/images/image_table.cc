// SPDX-License-Identifier: Apache-2.0
#include "process/images/image_table.h"

#include <elf.h>

#include <algorithm>

#include "process/procfs/proc_fs.h"

namespace cicada::process {
namespace {

constexpr size_t kMaxHints = 4;

profile::ImageKind kind_of(const std::string& path, const elf::ImageHeader& header) {
  if (path == "[vdso]") return profile::ImageKind::kVdso;
  if (header.type == ET_EXEC) return profile::ImageKind::kExecutable;
  // Both have PT_INTERP at times (libc.so.6 runs), so the name decides.
  const std::string_view base = std::string_view(path).substr(path.rfind('/') + 1);
  return base.find(".so") != std::string_view::npos ? profile::ImageKind::kLibrary : profile::ImageKind::kExecutable;
}

}  // namespace

void ImageEntry::add_hint(const ImageHint& hint) {
  auto& hints = job.hints;
  has_new_hints |= std::none_of(hints.begin(), hints.end(), [&](const ImageHint& known) { return known.pid == hint.pid && known.range.begin == hint.range.begin; });
  std::erase_if(hints, [&](const ImageHint& known) { return known.pid == hint.pid; });
  hints.insert(hints.begin(), hint);
  if (hints.size() > kMaxHints) hints.pop_back();
}

ImageBinding ImageEntry::bind(RuntimeAddr begin, FileOffset offset, uint64_t size) const {
  switch (state) {
    case ImageState::kOpening: return {BindingState::kPending, job.id, 0};
    case ImageState::kNotElf: return {BindingState::kJit, 0, 0};
    case ImageState::kFailed: return {BindingState::kUnknown, 0, 0};
    case ImageState::kReady: break;
  }
  // Executable bytes of the file that belong to no segment: no rows, no symbols.
  const auto bias = elf::find_bias(loaded, begin, offset, size);
  return bias ? ImageBinding{BindingState::kImage, job.id, *bias} : ImageBinding{BindingState::kJit, 0, 0};
}

ImageEntry* ImageTable::create(const MappedFile& mapped) {
  if (images_.size() >= max_images_) return nullptr;
  ImageEntry& image = images_.emplace_back();
  const auto id = static_cast<uint32_t>(images_.size());
  image.job.id = id;
  if (mapped.pid != 0) image.job.owner = owner_of(mapped.pid);
  image.job.file = mapped.file;
  image.job.path = mapped.path;
  image.job.deleted = mapped.deleted;
  by_inode_[inode_key(mapped.file)].push_back(id);
  return &image;
}

ImageEntry* ImageTable::find(const MappedFile& mapped) {
  const auto at = by_inode_.find(inode_key(mapped.file));
  if (at == by_inode_.end()) return nullptr;
  for (auto id = at->second.rbegin(); id != at->second.rend(); ++id) {
    ImageEntry& image = *find(*id);
    const uint64_t generation = image.job.file.generation;
    if (generation != 0 && mapped.file.generation != 0 && generation != mapped.file.generation) continue;
    if (image.path_matters && image.job.path != mapped.path) continue;
    if (generation == 0) image.job.file.generation = mapped.file.generation;
    return &image;
  }
  return nullptr;
}

bool ImageTable::accept(ImageEntry& image, OpenedImage& opened) {
  if (!is_same_image(image.job, opened)) {
    image.state = ImageState::kFailed;
    std::erase(by_inode_[inode_key(image.job.file)], image.job.id);
    return false;
  }
  image.job.contents = opened.contents;
  image.path_matters = opened.path_matters;
  image.remote = opened.remote;
  image.job.owner = opened.owner;
  image.state = opened.header ? ImageState::kReady : ImageState::kNotElf;
  if (!opened.header) return true;
  image.kind = kind_of(image.job.path, *opened.header);
  image.job.build_id = std::move(opened.header->build_id);
  image.loaded = std::move(opened.header->loaded);
  if (opened.root != nullptr) image.root = std::move(opened.root);
  return true;
}

}  // namespace cicada::process
