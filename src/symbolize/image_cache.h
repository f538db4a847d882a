// SPDX-License-Identifier: Apache-2.0
// Images that are open for their names. They stay open from one batch of addresses to the next: reading the symbol tables is two thirds of
// naming a usual recording, and most batches need the same images.
// Bounds: trim() keeps the most recently used, kMaxKeptBytes of tables in all; of the files it keeps no pages.
// Threads: any; an image is opened by one of them.
#pragma once
#include <map>
#include <memory>
#include <mutex>

#include "symbolize/files/debuginfod_client.h"
#include "symbolize/files/image_files.h"
#include "symbolize/symbols/image_symbols.h"

namespace cicada::symbolize {

// What an image is asked for by, copied from a profile.
struct ImageToName {
  profile::ImageId id;
  std::string path;
  ImageFile file;
};

class ImageCache {
 public:
  static constexpr size_t kMaxKeptBytes = 16 << 20;

  explicit ImageCache(const SymbolizeOptions& options);

  // The file is asked for every time: one that was written over since is refused, as if it had not been open.
  // `ask_servers`: debuginfod, if the options want it. Fails: what ImageFile::open and ImageSymbols::open fail with.
  Result<std::shared_ptr<const ImageSymbols>> open(const ImageToName& image, bool ask_servers);
  // Leaves images alone that somebody uses.
  void trim(size_t max_bytes = kMaxKeptBytes);
  bool has_servers() const { return debuginfod_ != nullptr; }
  DemangleCache& demangled() { return demangled_; }

 private:
  struct Kept {
    std::shared_ptr<ImageSymbols> symbols;
    uint64_t last_used = 0;
    bool asked_servers = false;
  };

  const SymbolizeOptions options_;
  DemangleCache demangled_;
  std::shared_ptr<DebuginfodClient> debuginfod_;
  std::mutex mutex_;
  std::map<profile::ImageId, Kept> kept_;
  uint64_t turn_ = 0;
};

}  // namespace cicada::symbolize
