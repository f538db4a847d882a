// SPDX-License-Identifier: Apache-2.0
#include "symbolize/image_cache.h"

#include <algorithm>

namespace cicada::symbolize {

ImageCache::ImageCache(const SymbolizeOptions& options) : options_(options), demangled_(options.demangle, options.fold_clones) {}

Result<std::shared_ptr<const ImageSymbols>> ImageCache::open(uint64_t image, int fd, const std::string& path, std::shared_ptr<CompanionFiles> companions,
                                                             bool with_servers) {
  {
    const std::lock_guard lock(mutex_);
    const auto kept = kept_.find(image);
    if (kept != kept_.end() && (kept->second.with_servers || !with_servers)) {
      kept->second.last_used = ++turn_;
      return std::shared_ptr<const ImageSymbols>(kept->second.symbols);
    }
  }
  std::shared_ptr<ImageSymbols> symbols = TRY(ImageSymbols::open(fd, path, std::move(companions), options_));
  const std::lock_guard lock(mutex_);
  kept_[image] = {symbols, ++turn_, with_servers};
  return std::shared_ptr<const ImageSymbols>(std::move(symbols));
}

void ImageCache::trim(size_t max_bytes) {
  const std::lock_guard lock(mutex_);
  std::vector<std::pair<uint64_t, uint64_t>> latest;  // turn, image
  for (const auto& [image, kept] : kept_) {
    if (kept.symbols.use_count() == 1) latest.emplace_back(kept.last_used, image);
  }
  std::sort(latest.rbegin(), latest.rend());
  size_t left = max_bytes;
  for (const auto& [turn, image] : latest) {
    const size_t bytes = kept_[image].symbols->shrink(left);
    if (bytes > left) kept_.erase(image);
    left -= std::min(left, bytes);
  }
}

}  // namespace cicada::symbolize
