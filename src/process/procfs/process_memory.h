// SPDX-License-Identifier: Apache-2.0
// The memory of a process, as it is now. Who reads it may wait for ever: for a page that a silent file system does not bring, or that the
// process itself is to bring (userfaultfd), or for a lock of its address space. So a child reads it (base/disposable_child.h), from the first
// question on.
// Cost: a fork (1 to 3 ms), then two switches to another process for each question. Threads: one at a time.
#pragma once
#include <optional>
#include <span>
#include <stop_token>
#include <utility>

#include "base/address.h"
#include "base/disposable_child.h"
#include "base/process_key.h"

namespace cicada::process {

class ProcessMemory {
 public:
  // `children` outlive it. After `stop` nothing is waited for.
  ProcessMemory(DisposableChildren& children, Pid pid, std::stop_token stop = {}) : children_(&children), pid_(pid), stop_(std::move(stop)) {}
  ~ProcessMemory();
  ProcessMemory(ProcessMemory&& other) noexcept;
  ProcessMemory& operator=(ProcessMemory&&) = delete;

  // As many of the bytes as there are, from the first on. 0: there are none, we may not look, or they do not come in time: then nothing is read any more.
  size_t read(RuntimeAddr address, std::span<uint8_t> bytes);
  // The eight bytes there, the first of them lowest; zeros where no memory follows. Nothing: as above.
  std::optional<uint64_t> read_word(RuntimeAddr address);

 private:
  bool begin();

  DisposableChildren* children_;
  Pid pid_;
  std::stop_token stop_;
  bool begun_ = false;
  uint8_t* shared_ = nullptr;  // with the child, which reads into it
  std::optional<DisposableChildren::Conversation> child_;
};

}  // namespace cicada::process
