// SPDX-License-Identifier: Apache-2.0
// Demangled names of one run, each worked out once for all threads: the same few thousand functions of the standard library are
// inlined into every compilation unit, and demangling was a third of the time.
// Threads: any. References stay valid for the object's life.
#pragma once
#include <array>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

#include "symbolize/demangle.h"

namespace cicada::symbolize {

class ShownNames {
 public:
  explicit ShownNames(const SymbolizeOptions& options) : style_(options.demangle), fold_(options.fold_clones) {}
  const std::string& find(std::string_view linkage_name) {
    const size_t hash = std::hash<std::string_view>{}(linkage_name);
    Shard& shard = shards_[hash % shards_.size()];
    {
      const std::lock_guard lock(shard.mutex);
      const auto found = shard.names.find(linkage_name);
      if (found != shard.names.end()) return found->second;
    }
    std::string shown = demangle(fold_ ? fold_clone(linkage_name) : linkage_name, style_);
    const std::lock_guard lock(shard.mutex);
    return shard.names.try_emplace(std::string(linkage_name), std::move(shown)).first->second;
  }

 private:
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
  };
  struct Shard {
    std::mutex mutex;
    std::unordered_map<std::string, std::string, Hash, std::equal_to<>> names;
  };
  Demangle style_;
  bool fold_;
  std::array<Shard, 16> shards_;
};

}  // namespace cicada::symbolize
