// SPDX-License-Identifier: Apache-2.0
// Demangled names of one run, each worked out once for all threads: the same few thousand functions of the standard library are
// inlined into every compilation unit, and demangling was a third of the time.
// Threads: any. References stay valid for the object's life.
#pragma once
#include <array>
#include <deque>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/seeded_hash.h"
#include "names/demangle.h"

namespace cicada::symbolize {

struct ShownName {
  size_t hash;
  std::string linkage, shown;
};

class ShownNames {
 public:
  explicit ShownNames(const SymbolizeOptions& options) : style_(options.demangle), fold_(options.fold_clones) {}
  const ShownName& find(std::string_view linkage_name) {
    const size_t hash = hash_text(linkage_name);
    Shard& shard = shards_[hash % kShards];
    {
      const std::lock_guard lock(shard.mutex);
      if (const ShownName* found = shard.find(hash, linkage_name)) return *found;
    }
    std::string shown = names::demangle(fold_ ? names::fold_clone(linkage_name) : linkage_name, style_);
    const std::lock_guard lock(shard.mutex);
    if (const ShownName* found = shard.find(hash, linkage_name)) return *found;  // another thread was faster
    return shard.add(hash, linkage_name, std::move(shown));
  }

 private:
  // Open addressing over the names' places, a power of two of slots, at most three quarters full. The hash is worked out once; the
  // standard map's second hashing, division and node were a third of what a look-up cost.
  struct Shard {
    std::mutex mutex;
    std::deque<ShownName> names;
    std::vector<uint32_t> slots = std::vector<uint32_t>(64);  // index into names + 1; 0: empty

    const ShownName* find(size_t hash, std::string_view linkage) const {
      for (size_t at = start(hash);; at = (at + 1) & (slots.size() - 1)) {
        if (slots[at] == 0) return nullptr;
        const ShownName& name = names[slots[at] - 1];
        if (name.hash == hash && name.linkage == linkage) return &name;
      }
    }
    const ShownName& add(size_t hash, std::string_view linkage, std::string shown) {
      if (names.size() * 4 >= slots.size() * 3) grow();
      names.push_back({hash, std::string(linkage), std::move(shown)});
      place(hash, static_cast<uint32_t>(names.size()));
      return names.back();
    }

   private:
    size_t start(size_t hash) const { return (hash / kShards) & (slots.size() - 1); }
    void place(size_t hash, uint32_t index) {
      size_t at = start(hash);
      while (slots[at] != 0) at = (at + 1) & (slots.size() - 1);
      slots[at] = index;
    }
    void grow() {
      slots.assign(slots.size() * 2, 0);
      for (uint32_t i = 0; i < names.size(); ++i) place(names[i].hash, i + 1);
    }
  };
  static constexpr size_t kShards = 16;

  Demangle style_;
  bool fold_;
  std::array<Shard, kShards> shards_;
};

}  // namespace cicada::symbolize
