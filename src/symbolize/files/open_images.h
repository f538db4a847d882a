// SPDX-License-Identifier: Apache-2.0
// Images that were opened for their names, and the shown names of a run. Some stay open from one batch of addresses to the next:
// reading the symbol tables is two thirds of naming a usual recording, and most batches need the same images.
// Bounds: trim() keeps the most recently used, kMaxKeptBytes of tables in all; of the files it keeps no pages.
// Threads: any; an image is opened by one of them.
#pragma once
#include <map>
#include <memory>
#include <mutex>
#include <optional>

#include "symbolize/files/debuginfod_client.h"
#include "symbolize/symbols/image_symbols.h"
#include "symbolize/shown_names.h"
#include "symbolize/symbolizer.h"

namespace cicada::symbolize {

// What an image is asked for by, copied from a profile.
struct ImageToName {
  profile::ImageId id;
  profile::ImageKind kind{};
  std::string path;
  ImageFile file;
};

class OpenImages {
 public:
  static constexpr size_t kMaxKeptBytes = 16 << 20;

  explicit OpenImages(const SymbolizeOptions& options);

  // The file is asked for every time: one that was written over since is refused, as if it had not been open.
  // Fails: what ImageFile::open and ElfFile::parse fail with.
  Result<std::shared_ptr<const ImageSymbols>> open(const ImageToName& image);
  // Between batches.
  void trim(size_t max_bytes = kMaxKeptBytes);
  size_t count() const { return kept_.size(); }  // between batches
  ShownNames& names() { return names_; }

 private:
  struct Kept {
    std::shared_ptr<const ImageSymbols> symbols;
    uint64_t last_used = 0;
  };

  SymbolizeOptions options_;
  ShownNames names_;
  std::optional<DebuginfodClient> debuginfod_;
  std::mutex mutex_;
  std::map<uint32_t, Kept> kept_;  // by image
  uint64_t turn_ = 0;
};

}  // namespace cicada::symbolize
