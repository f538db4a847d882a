// SPDX-License-Identifier: Apache-2.0
// Demangled names, each worked out once for all images and threads: the same few thousand functions of the standard library are inlined into
// every compilation unit, and demangling was a third of the time.
// Bounds: kMaxBytes; a part that is full is emptied. Threads: any.
#pragma once
#include <array>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/seeded_hash.h"
#include "names/demangle.h"

namespace cicada::symbolize {

class DemangleCache {
 public:
  static constexpr size_t kMaxBytes = 64 << 20;

  // `fold_clones`: "f.cold" is shown as "f".
  DemangleCache(names::Demangle style, bool fold_clones) : style_(style), fold_(fold_clones) {}

  // Appends what is shown for a linkage name.
  void append_shown(std::string_view linkage_name, std::string& out) {
    const size_t hash = hash_text(linkage_name);
    Shard& shard = shards_[hash % kShards];
    {
      const std::lock_guard lock(shard.mutex);
      if (shard.append_shown(hash, linkage_name, out)) return;
    }
    const std::string shown = names::demangle(fold_ ? names::fold_clone(linkage_name) : linkage_name, style_);
    out += shown;
    const std::lock_guard lock(shard.mutex);
    shard.add(hash, linkage_name, shown);
  }

 private:
  // Open addressing over the names' places, a power of two of slots, at most three quarters full. The hash is worked out once; the
  // standard map's second hashing, division and node were a third of what a look-up cost.
  struct Shard {
    struct Name {
      size_t hash;
      uint32_t begin, linkage_size, shown_size;  // in `texts`, one behind the other
    };
    std::mutex mutex;
    std::string texts;
    std::vector<Name> names;
    std::vector<uint32_t> slots = std::vector<uint32_t>(64);  // index into names + 1; 0: empty

    bool append_shown(size_t hash, std::string_view linkage, std::string& out) const {
      for (size_t at = first_slot(hash);; at = (at + 1) & (slots.size() - 1)) {
        if (slots[at] == 0) return false;
        const Name& name = names[slots[at] - 1];
        if (name.hash != hash || std::string_view(texts).substr(name.begin, name.linkage_size) != linkage) continue;
        out.append(texts, name.begin + name.linkage_size, name.shown_size);
        return true;
      }
    }
    // Another thread may have been faster: then it is there twice, until the shard is emptied.
    void add(size_t hash, std::string_view linkage, std::string_view shown) {
      if (texts.size() + linkage.size() + shown.size() > kMaxBytes / kShards) {
        texts.clear();
        names.clear();
        slots.assign(slots.size(), 0);
      }
      if (names.size() * 4 >= slots.size() * 3) {
        slots.assign(slots.size() * 2, 0);
        for (uint32_t i = 0; i < names.size(); ++i) enter(names[i].hash, i + 1);
      }
      names.push_back({hash, static_cast<uint32_t>(texts.size()), static_cast<uint32_t>(linkage.size()), static_cast<uint32_t>(shown.size())});
      texts.append(linkage).append(shown);
      enter(hash, static_cast<uint32_t>(names.size()));
    }

   private:
    size_t first_slot(size_t hash) const { return (hash / kShards) & (slots.size() - 1); }
    void enter(size_t hash, uint32_t index) {
      size_t at = first_slot(hash);
      while (slots[at] != 0) at = (at + 1) & (slots.size() - 1);
      slots[at] = index;
    }
  };
  static constexpr size_t kShards = 16;

  names::Demangle style_;
  bool fold_;
  std::array<Shard, kShards> shards_;
};

}  // namespace cicada::symbolize
