// SPDX-License-Identifier: Apache-2.0
// Port: who has unwind tables loaded for the walk in the kernel. Threads: any.
#pragma once
#include <cstdint>

namespace cicada::ingest {

class TableRequests {
 public:
  virtual ~TableRequests() = default;
  // A sample missed the table of this image: it has not been loaded yet, or was evicted.
  virtual void request_again(uint32_t image) = 0;
  // A sample was left to user space where rows of that version (ImageUnwinder::version()) have a rule.
  virtual void request_newer(uint32_t image, uint64_t version) = 0;
};

}  // namespace cicada::ingest
