// SPDX-License-Identifier: Apache-2.0
// Names of images' link addresses. Who reads the files is a choice: this process (local_image_namers), or one that can do nothing else
// (parser/remote_namer.h).
#pragma once
#include <memory>
#include <string>

#include "symbolize/files/companion_files.h"
#include "symbolize/files/image_files.h"
#include "symbolize/image_cache.h"
#include "symbolize/namer.h"

namespace cicada::symbolize {

// What an image is asked for by.
struct ImageToName {
  uint64_t number = 0;  // always the same file's
  std::string path;
  ImageFile file;
};

class ImageNamers {
 public:
  virtual ~ImageNamers() = default;
  // Namers keep it.
  virtual std::unique_ptr<Namer> make(ImageToName image) = 0;
  // What is not used any more may be given back.
  virtual void trim() {}
};

std::shared_ptr<ImageNamers> local_image_namers(const SymbolizeOptions& options, std::shared_ptr<ImageCache> cache);

}  // namespace cicada::symbolize
