// SPDX-License-Identifier: Apache-2.0
// Images that are open for their names. They stay open from one batch of addresses to the next: reading the symbol tables is two thirds of
// naming a usual recording, and most batches need the same images.
// Bounds: trim() keeps the most recently used, kMaxKeptBytes of tables in all; of the files it keeps no pages.
// Threads: any; an image is opened by one of them.
#pragma once
#include <map>
#include <memory>
#include <mutex>

#include "symbolize/symbols/image_symbols.h"

namespace cicada::symbolize {

class ImageCache {
 public:
  static constexpr size_t kMaxKeptBytes = 16 << 20;

  explicit ImageCache(const SymbolizeOptions& options);

  // `image`: any number that is always the same file's. `fd`: of the file as it is now. `with_servers`: its companions may come from further away
  // than those of an earlier call. Fails: as ImageSymbols::open.
  Result<std::shared_ptr<const ImageSymbols>> open(uint64_t image, int fd, const std::string& path, std::shared_ptr<CompanionFiles> companions,
                                                   bool with_servers);
  // Leaves images alone that somebody uses.
  void trim(size_t max_bytes = kMaxKeptBytes);
  DemangleCache& demangled() { return demangled_; }

 private:
  struct Kept {
    std::shared_ptr<ImageSymbols> symbols;
    uint64_t last_used = 0;
    bool with_servers = false;
  };

  const SymbolizeOptions options_;
  DemangleCache demangled_;
  std::mutex mutex_;
  std::map<uint64_t, Kept> kept_;
  uint64_t turn_ = 0;
};

}  // namespace cicada::symbolize
