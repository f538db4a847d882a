// SPDX-License-Identifier: Apache-2.0
#include "base/parallel.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace cicada {

unsigned few_threads() { return std::clamp(std::thread::hardware_concurrency(), 1U, 4U); }

void for_each_parallel(size_t count, unsigned threads, const std::function<void(size_t)>& run) {
  std::atomic<size_t> next{0};
  std::exception_ptr thrown;
  std::once_flag first;
  const auto loop = [&] {
    for (size_t i = next++; i < count; i = next++) {
      try {
        run(i);
      } catch (...) {
        std::call_once(first, [&] { thrown = std::current_exception(); });
      }
    }
  };
  {
    std::vector<std::jthread> others;
    try {
      for (size_t i = 1; i < std::min<size_t>(threads == 0 ? few_threads() : threads, count); ++i)
        others.emplace_back(loop);
    } catch (const std::system_error&) {  // this one does it all
    }
    loop();
  }
  if (thrown) std::rethrow_exception(thrown);
}

size_t count_parts(size_t items, size_t items_per_part, unsigned threads) {
  return std::clamp<size_t>(items / items_per_part, 1, threads == 0 ? few_threads() : threads);
}

}  // namespace cicada
