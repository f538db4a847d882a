// SPDX-License-Identifier: Apache-2.0
#include "unwind/parts.h"

#include <algorithm>
#include <exception>
#include <system_error>
#include <thread>
#include <vector>

namespace cicada::unwind {
namespace {

constexpr size_t kMaxParts = 4;

}  // namespace

size_t count_parts(size_t items, size_t items_per_part) {
  const size_t processors = std::max(1U, std::thread::hardware_concurrency());
  return std::clamp<size_t>(items / items_per_part, 1, std::min(kMaxParts, processors));
}

void run_parts(size_t count, const std::function<void(size_t)>& run) {
  std::vector<std::exception_ptr> thrown(count);
  const auto run_one = [&](size_t i) {
    try {
      run(i);
    } catch (...) {
      thrown[i] = std::current_exception();
    }
  };
  {
    std::vector<std::jthread> threads;
    threads.reserve(count);
    for (size_t i = 1; i < count; ++i) {
      try {
        threads.emplace_back(run_one, i);
      } catch (const std::system_error&) {
        run_one(i);
      }
    }
    run_one(0);
  }
  for (const std::exception_ptr& exception : thrown) {
    if (exception) std::rethrow_exception(exception);
  }
}

}  // namespace cicada::unwind
