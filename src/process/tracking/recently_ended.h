// SPDX-License-Identifier: Apache-2.0
// What has ended, remembered for the rest of the collection cycle and the next, for samples that are looked at late. Several may have had
// one key: numbers of processes and threads are used again.
// Threads: one at a time.
#pragma once
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <utility>

namespace cicada::process {

template <typename Key, typename Value>
class RecentlyEnded {
 public:
  static constexpr size_t kMax = 1 << 17;  // in all; later ones are not remembered

  void add(const Key& key, Value value) {
    if (now_.size() + before_.size() < kMax) now_.emplace(key, std::move(value));
  }
  // Of those with this key that fit, the one that began last. Null: none.
  template <typename Fits>
  const Value* find(const Key& key, uint64_t Value::*began_ns, Fits fits) const {
    const Value* newest = nullptr;
    for (const auto* ended : {&before_, &now_}) {
      const auto [first, last] = ended->equal_range(key);
      for (auto at = first; at != last; ++at) {
        const Value& value = at->second;
        if (fits(value) && (newest == nullptr || value.*began_ns >= newest->*began_ns)) newest = &value;
      }
    }
    return newest;
  }
  void end_cycle() { before_ = std::exchange(now_, {}); }
  size_t size() const { return now_.size() + before_.size(); }

 private:
  std::unordered_multimap<Key, Value> now_, before_;  // ended in this cycle, in the one before
};

}  // namespace cicada::process
