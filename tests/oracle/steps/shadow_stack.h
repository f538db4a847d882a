// SPDX-License-Identifier: Apache-2.0
// Who called whom, by watching: of each call the return address and where it lies. It knows nothing of tables, names or conventions.
//
//   call            what lies at the new stack pointer is a return address
//   anything        what lies below the stack pointer is gone: a return, longjmp, an exception, a pop
//   a signal        the kernel's frame: the handler returns to a trampoline, and that to what was interrupted
//   another stack   a coroutine, sigaltstack: its own calls, until somebody comes back
//
// What was called before watching began is not known: frames() has only what is above that. Threads: one.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

namespace cicada::oracle {

enum class Kind : uint8_t {
  kOther,
  kCall,
  kSetsStack,  // the stack pointer from a register or memory: another stack, or far up this one
  kSystemCall,
};

// One instruction of the thread.
struct Watched {
  Kind kind = Kind::kOther;
  uint64_t next = 0;  // behind it
  uint64_t sp_before = 0, ip_after = 0, sp_after = 0;
};

class ShadowStack {
 public:
  struct Call {
    uint64_t slot = 0;            // where the return address lies
    uint64_t return_address = 0;
    bool exact = false;           // what a signal interrupted
  };

  explicit ShadowStack(uint64_t sp) : current_{{}, sp} {}

  void watch(const Watched& step);
  // A handler begins at `sp`, where the address of its trampoline lies.
  void begin_handler(uint64_t sp, uint64_t trampoline, uint64_t interrupted_ip, uint64_t interrupted_sp);
  // rt_sigreturn() has brought back what the latest handler interrupted.
  void end_handler(uint64_t sp);

  // Innermost call first.
  std::vector<Call> frames() const;
  size_t depth() const { return current_.calls.size(); }
  // The highest stack pointer that is known of; what is above it began before.
  uint64_t top() const { return current_.top; }

 private:
  struct Stack {
    std::vector<Call> calls;  // outermost first
    uint64_t top = 0;
    uint64_t sp = 0;          // when it was left
  };
  struct Handler {
    Stack interrupted;
    size_t calls;  // of that stack
  };
  void prune(uint64_t sp);
  void change_stack(uint64_t sp_before, uint64_t sp);

  Stack current_;
  std::vector<Stack> others_;
  std::vector<Handler> handlers_;
};

}  // namespace cicada::oracle
