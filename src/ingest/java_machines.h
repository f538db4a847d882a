// SPDX-License-Identifier: Apache-2.0
// The Java virtual machines that run: each is asked where its code is (unwind/java/java_machine.h), as soon as it has made some.
//
//   note_library ──▶ waiting ──▶ a job reads the process's memory ──▶ publish ──▶ the kernel's walk
//                       ▲            │ not ready yet                  find ─────▶ finished walks
//                       └────────────┘
//
// Until it is known a walk that meets code of its process is left to user space, which waits for it.
// Once a second those that are known are looked at again: a process that has ended is forgotten, and cached rules of code that may have been replaced are
// dropped (refresh). Bounds: kMaxMachines, half of them of one user; users take turns, and nobody has both threads (base/work_queue.h).
//
// Threads: any.
#pragma once
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <unordered_map>

#include "abi/java_code.h"
#include "base/address.h"
#include "base/disposable_child.h"
#include "base/process_key.h"
#include "base/work_queue.h"

namespace cicada::ingest {

class JavaMachines {
 public:
  static constexpr size_t kMaxMachines = 1024;
  static constexpr auto kFirstRetry = std::chrono::milliseconds(5), kRetry = std::chrono::milliseconds(20);
  static constexpr auto kStart = std::chrono::seconds(3), kLateRetry = std::chrono::seconds(1) / 2;  // who takes longer is asked less often
  static constexpr auto kMaxWait = std::chrono::seconds(60);  // for its first code
  static constexpr auto kLookAgain = std::chrono::seconds(1);

  struct Ports {
    std::function<Pid(uint32_t address_space)> find_user;                     // somebody who runs there; 0: nobody
    std::function<void(uint32_t address_space, const java_code*)> publish;    // null: forget it
    std::function<void(uint32_t address_space)> refresh;                      // what was cached of it
  };
  explicit JavaMachines(Ports ports);
  ~JavaMachines();

  // Its libjvm.so begins there. May come again.
  void note_library(uint32_t address_space, RuntimeAddr library);
  // Nothing: none is there, or it does not say. segment_shift is 0: not yet.
  std::optional<java_code> find(uint32_t address_space) const;
  // Nobody waits for the first look at a machine.
  bool is_settled() const;
  // Nothing is published afterwards.
  void stop();

 private:
  struct Shared;
  struct Machine;
  void run(std::stop_token stop);

  const std::unique_ptr<Shared> shared_;
  std::jthread thread_;  // from the first library on
};

}  // namespace cicada::ingest
