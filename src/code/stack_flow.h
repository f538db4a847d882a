// SPDX-License-Identifier: Apache-2.0
// The stack's states in one function, followed along its control flow.
//
// A function is given up where two ways to an instruction contradict each other, where it returns at another depth than it began with (one that is not known may be
// right), and where it cannot be decoded. Where nothing leads to the CFA any more it is not followed further. But what directly follows a call may contradict a
// jump to there: then the call does not return.
// Code reached only through a jump table has the state of the jump, if all indirect jumps of the function have the same.
//
// Reused from function to function for its memory (about 100 MB at most, of a hostile function). One thread.
#pragma once
#include <cstdint>
#include <deque>
#include <optional>
#include <unordered_set>
#include <vector>

#include "base/seeded_hash.h"
#include "code/arch.h"

namespace cicada::code {

// What never returns: callees, and slots that hold a pointer to one. Offsets of the image.
struct NeverReturning {
  std::unordered_set<uint32_t, SeededHash> functions, slots;
};

// Offsets from where its user says.
struct StackRange {
  uint32_t begin, end;
  StackState state;
  bool is_cut = false;  // control goes on behind it, but nothing leads to the CFA any more
};

class StackFlow {
 public:
  static constexpr uint32_t kMaxFunctionBytes = 1 << 20;

  // Offsets are of the function's begin, those of places elsewhere may be outside.
  struct Jump {
    int64_t target;
    StackState state;
  };
  struct Function {
    Bytes code;             // from its begin on
    uint32_t size = 0;      // where it ends at the latest; at most kMaxFunctionBytes are looked at
    bool size_known = false;  // all of it is this function's
    StackState state;       // at its begin
    int64_t helpers_begin = 0, helpers_end = 0;  // of assembly: what is called there may leave alone a register that its caller needs
    bool is_assembly() const { return helpers_begin != helpers_end; }
  };

  // `steps`: instructions that may be looked at; counted down. `origin`: the function's begin in the image. False: given up.
  bool follow(const Function& function, uint32_t origin, const NeverReturning& never, uint64_t& steps);

  // Of the last function.
  const std::vector<StackRange>& ranges() const { return ranges_; }  // ascending, disjoint
  const std::vector<int64_t>& calls() const { return calls_; }
  const std::vector<int64_t>& addresses() const { return addresses_; }  // lea …(%rip)
  const std::vector<int64_t>& immediates() const { return immediates_; }  // as they are in the code
  const std::vector<Jump>& leaves() const { return leaves_; }  // jumps and falls to outside
  bool returns() const { return returns_; }                    // or leaves
  bool says_all() const { return says_all_; }                  // nothing was tried and undone, or left out: calls() and leaves() are all that was looked at
  bool has_return() const { return has_return_; }              // an instruction, and it found the stack as it should
  bool has_tail_jump() const { return has_tail_jump_; }        // the same of an indirect jump
  bool reads_callers_frame() const { return reads_callers_frame_; }  // by rbp, before it has saved that or made it its own
  // Of its indirect jumps, which all have it. Null: it has none, or they differ.
  const StackState* jump_state() const { return indirect_.size() == 1 ? &indirect_.front() : nullptr; }

 private:
  enum class Outcome : uint8_t { kDone, kFailed, kAgain };
  struct Record {
    StackState state;
    uint32_t behind_call = 0;  // reached from that call (offset + 1) with nothing but no-ops in between; 0: otherwise
    uint8_t length = 0;
    bool doubtful = false;  // guessed, and nothing spoke for it
    bool is_cut = false;    // as of ranges
  };
  struct Deferred {
    uint32_t at, call;
    StackState state;
  };

  // What had been found before a guess.
  struct Evidence {
    size_t calls, leaves, addresses, immediates;
    bool has_return, has_tail_jump;
    StackState jump;
  };

  std::optional<Instruction> decode(uint32_t at) const;
  Outcome attempt();
  Outcome drain();
  Outcome run(uint32_t at);
  Outcome join(int64_t target, const StackState& state, uint32_t behind_call, bool& changed);
  Outcome guess_rest();
  bool guess(uint32_t at);
  void forget_since(const Evidence& before);
  bool begins_function(int64_t at) const;
  void note_indirect(const StackState& state);
  bool never_returns(const Instruction& insn, int64_t next) const;
  void forget();
  void forget_index();
  void sort_records();
  void write_ranges();

  Function function_;
  uint32_t size_ = 0, origin_ = 0;
  const NeverReturning* never_ = nullptr;
  uint64_t* steps_ = nullptr;
  uint64_t visits_ = 0;
  std::vector<uint32_t> index_;    // by offset, into records_; 0: not reached
  std::vector<Record> records_;
  std::vector<uint32_t> reached_;  // offsets, parallel to records_
  std::vector<uint32_t> work_;
  std::deque<Deferred> deferred_;
  std::unordered_set<uint32_t, SeededHash> dead_calls_;
  std::vector<StackState> indirect_;  // distinct states of indirect jumps, two at most
  uint32_t fixed_ = 0;  // while guessing: the stack and what is saved of the records before it must not change
  std::vector<uint32_t> runs_, order_;  // while ranges are written
  std::vector<StackRange> ranges_;
  std::vector<int64_t> calls_, addresses_, immediates_;
  std::vector<Jump> leaves_;
  bool returns_ = false, has_return_ = false, has_tail_jump_ = false;
  bool reads_callers_frame_ = false;
  bool says_all_ = true;
  bool joined_ = false;  // while guessing: what was known before
};

}  // namespace cicada::code
