// SPDX-License-Identifier: Apache-2.0
// Copies of the user stacks of threads that do not run. Who reads another process' memory may wait for ever (process_memory.h), so a child does.
// It reads what is there, private and not a file's: nothing is brought in, and no file system asked, but for what was swapped out.
// Cost: a fork (1 to 3 ms), then 10 to 30 us a stack. Threads: one at a time.
#pragma once
#include <cstdint>
#include <optional>
#include <span>

#include "abi/records.h"
#include "base/disposable_child.h"
#include "base/process_key.h"

namespace cicada::process {

class StackReader {
 public:
  // As unwind_request has it; valid until the next read().
  struct Copy {
    uint64_t pages = 0;
    std::span<const uint8_t> bytes;
  };

  static constexpr int kMostSilent = 4;

  StackReader();
  ~StackReader();
  StackReader(const StackReader&) = delete;
  StackReader& operator=(const StackReader&) = delete;

  // From `begin` up. Nothing: there is none, we may not look, it does not come in time, or the thread has come to a CPU more than `turns`
  // times (the third number in its schedstat): then the stack may be of anything. Where kMostSilent did not come in time, no other does.
  std::optional<Copy> read(Pid pid, Tid tid, uint64_t begin, uint64_t turns);

 private:
  struct Shared;
  static void serve(ChildEnd end, Shared& shared);

  void map_shared();
  void unmap_shared();

  DisposableChildren children_;
  Shared* shared_ = nullptr;  // with the child
  int silent_ = 0;
  std::optional<DisposableChildren::Conversation> child_;
};

}  // namespace cicada::process
