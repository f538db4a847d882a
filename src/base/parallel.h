// SPDX-License-Identifier: Apache-2.0
// Work that falls into independent pieces of unequal size: threads take the next piece when they are done with theirs.
#pragma once
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <thread>
#include <vector>

namespace cicada {

// Calls fn(i) for every i below `count`, on up to `threads` threads (0: one per CPU, at most 4); returns when all are done.
template <typename Fn>
void for_each_parallel(size_t count, unsigned threads, Fn fn) {
  if (threads == 0) threads = std::clamp(std::thread::hardware_concurrency(), 1U, 4U);
  std::atomic<size_t> next{0};
  const auto loop = [&] {
    for (size_t i = next++; i < count; i = next++) fn(i);
  };
  std::vector<std::jthread> others;
  for (size_t i = 1; i < std::min<size_t>(threads, count); ++i) others.emplace_back(loop);
  loop();
}

}  // namespace cicada
