// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "symbolize/image_cache.h"
#include "symbolize/namer.h"

namespace cicada::symbolize {

// Names of one image's link addresses. Borrows the cache.
class ImageNamer final : public Namer {
 public:
  ImageNamer(ImageCache& cache, ImageToName image) : cache_(cache), image_(std::move(image)) {}
  Result<NamedAddresses> name(std::span<const uint64_t> addresses, NameDepth depth, const std::stop_token& stop) override;
  Result<std::vector<std::vector<uint32_t>>> open_parts(std::span<const uint64_t> addresses) override;
  void release() override { open_.reset(); }

 private:
  ImageCache& cache_;
  ImageToName image_;
  std::shared_ptr<const ImageSymbols> open_;  // between open_parts() and release()
};

}  // namespace cicada::symbolize
