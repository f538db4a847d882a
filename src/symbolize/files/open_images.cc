// SPDX-License-Identifier: Apache-2.0
#include "symbolize/files/open_images.h"

#include <algorithm>

#include "symbolize/kernel/vdso_image.h"

namespace cicada::symbolize {
namespace {

Result<elf::ElfFile> parse(const UniqueFd& fd, const std::string& path) {
  return elf::ElfFile::parse(TRY(FileMapping::map(fd.get(), path)), path);
}

}  // namespace

OpenImages::OpenImages(const SymbolizeOptions& options) : options_(options), names_(options) {
  if (options.debuginfod) debuginfod_.emplace(std::chrono::seconds(options.debuginfod_seconds));
}

Result<std::shared_ptr<const ImageSymbols>> OpenImages::open(const ImageToName& image) {
  const bool vdso = image.kind == profile::ImageKind::kVdso || image.path == "[vdso]";
  UniqueFd fd;
  if (!vdso) fd = TRY(image.file.open());
  {
    const std::lock_guard lock(mutex_);
    const auto kept = kept_.find(image.id.value);
    if (kept != kept_.end()) {
      kept->second.last_used = ++turn_;
      return kept->second.symbols;
    }
  }
  Result<elf::ElfFile> elf = vdso ? load_vdso() : parse(fd, image.path);
  if (!elf) return elf.error();
  std::shared_ptr<const ImageSymbols> symbols =
      ImageSymbols::open(std::move(*elf), image.path, options_, debuginfod_ ? &*debuginfod_ : nullptr, image.file.root);
  const std::lock_guard lock(mutex_);
  kept_[image.id.value] = {symbols, ++turn_};
  return symbols;
}

void OpenImages::trim(size_t max_bytes) {
  const std::lock_guard lock(mutex_);
  std::vector<std::pair<uint64_t, uint32_t>> latest;  // turn, image
  for (const auto& [image, kept] : kept_) latest.emplace_back(kept.last_used, image);
  std::sort(latest.rbegin(), latest.rend());
  size_t left = max_bytes;
  for (const auto& [turn, image] : latest) {
    const auto kept = kept_.find(image);
    const size_t bytes = kept->second.symbols->memory_bytes();
    if (bytes > left) {
      kept_.erase(kept);
    } else {
      left -= bytes;
      kept->second.symbols->drop_pages();
    }
  }
}

}  // namespace cicada::symbolize
