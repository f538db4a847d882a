// SPDX-License-Identifier: Apache-2.0
// Who writes to a FIFO: bytes in one have no sender. Our end asks for a signal at each write, which this process ignores, and a BPF program
// sees in whose thread it is made (bpf/fifo_writers.bpf.c). Nothing else on the machine becomes slower; reading /proc of all that have the
// FIFO open would cost milliseconds a message, and finds only those that already wait for an answer.
#pragma once
#include <cstdint>
#include <memory>

#include "base/result.h"

struct fifo_writers_bpf;

namespace cicada::bpf_source {

class FifoWriters {
 public:
  // `read_end` is kept open by the caller. Fails: as BpfObject::load.
  static Result<std::unique_ptr<FifoWriters>> watch(int read_end);
  ~FifoWriters();

  // The process that wrote last, by the ns since boot at which it began. Of bytes that were just read the kernel may tell a moment later who wrote
  // them: waits up to 20 ms until somebody has written since the last call. 0: nobody has. Threads: one at a time.
  uint64_t last();

 private:
  explicit FifoWriters(fifo_writers_bpf* kernel) : kernel_(kernel) {}
  fifo_writers_bpf* kernel_;
  uint64_t seen_ = 0;  // writes
};

}  // namespace cicada::bpf_source
