// SPDX-License-Identifier: Apache-2.0
// Open files by id, at most so many: the least recently used is closed for another.
// Threads: one at a time.
#pragma once
#include <cstddef>
#include <cstdint>
#include <list>
#include <unordered_map>
#include <utility>

#include "base/unique_fd.h"

namespace cicada::process {

class DescriptorCache {
 public:
  explicit DescriptorCache(size_t capacity) : capacity_(capacity) {}

  // -1: not open. Counts as use.
  int find(uint32_t id) {
    const auto at = by_id_.find(id);
    if (at == by_id_.end()) return -1;
    by_use_.splice(by_use_.begin(), by_use_, at->second);
    return at->second->second.get();
  }
  // In place of one that it may have.
  void insert(uint32_t id, UniqueFd fd) {
    erase(id);
    while (by_use_.size() >= capacity_ && !by_use_.empty()) {
      erase(by_use_.back().first);
      ++closed_;
    }
    by_use_.emplace_front(id, std::move(fd));
    by_id_[id] = by_use_.begin();
  }
  void erase(uint32_t id) {
    const auto at = by_id_.find(id);
    if (at == by_id_.end()) return;
    by_use_.erase(at->second);
    by_id_.erase(at);
  }
  uint64_t closed() const { return closed_; }  // for room

 private:
  using Open = std::pair<uint32_t, UniqueFd>;
  size_t capacity_;
  std::list<Open> by_use_;  // the latest first
  std::unordered_map<uint32_t, std::list<Open>::iterator> by_id_;
  uint64_t closed_ = 0;
};

}  // namespace cicada::process
