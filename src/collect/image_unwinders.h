// SPDX-License-Identifier: Apache-2.0
// Compiled images, shared by the table loader (which writes them into the kernel) and the rescuer (which walks with them): a cold image
// is usually wanted by both at the same moment and compiled once.
//
// Bounded: beyond kMaxRows (8 bytes each) the cache starts over; who holds an image keeps it. Threads: any.
#pragma once
#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "process/image_registry.h"
#include "unwind/image_unwinder.h"

namespace cicada::collect {

class ImageUnwinders {
 public:
  static constexpr size_t kMaxRows = 1'500'000;

  explicit ImageUnwinders(process::ImageRegistry& images) : images_(images) {}

  // Compiles at first use; whoever else asks meanwhile waits for it. Fails: the file cannot be read any more.
  Result<std::shared_ptr<const unwind::ImageUnwinder>> get(uint32_t image);

 private:
  struct Entry {
    std::once_flag once;
    std::optional<Result<std::shared_ptr<const unwind::ImageUnwinder>>> result;
  };
  process::ImageRegistry& images_;
  std::mutex mutex_;
  size_t rows_ = 0;
  std::unordered_map<uint32_t, std::shared_ptr<Entry>> entries_;
};

}  // namespace cicada::collect
