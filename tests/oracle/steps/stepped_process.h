// SPDX-License-Identifier: Apache-2.0
// A program that is run to a marker, and from there instruction by instruction: its first thread; others run as they like.
//
// Source: ptrace(2). Owns the process: it ends with this. Threads: the one that started it.
#pragma once
#include <sys/types.h>
#include <sys/user.h>

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "shadow_stack.h"

namespace cicada::oracle {

class SteppedProcess {
 public:
  // Stopped at its first instruction.
  static Result<SteppedProcess> start(const std::vector<std::string>& command);
  SteppedProcess(SteppedProcess&& other) noexcept : pid_(std::exchange(other.pid_, -1)), registers_(other.registers_) {}
  SteppedProcess& operator=(SteppedProcess&&) = delete;
  ~SteppedProcess();

  pid_t pid() const { return pid_; }
  const user_regs_struct& registers() const { return registers_; }

  // Each of these: false: it has ended.
  bool run_to(uint64_t address);
  bool run_for(uint64_t ns);
  struct Step {
    bool ended = false;
    std::optional<Watched> watched;  // nothing: a signal was delivered, and its handler begins
    bool returned_from_handler = false, changed_mappings = false;
    uint64_t interrupted_ip = 0, interrupted_sp = 0;
  };
  Step step();

  // From `address` up, as much as there is.
  size_t read(uint64_t address, std::span<uint8_t> to) const;
  std::optional<uint64_t> read_word(uint64_t address) const;

 private:
  explicit SteppedProcess(pid_t pid) : pid_(pid) {}
  struct Decoded {
    Kind kind;
    uint8_t length;
  };
  Decoded decode(uint64_t ip);
  bool wait(int& status);
  bool take_registers();

  pid_t pid_;
  int signal_ = 0;  // to be delivered with the next step
  user_regs_struct registers_{};
  std::unordered_map<uint64_t, Decoded> decoded_;
};

}  // namespace cicada::oracle
