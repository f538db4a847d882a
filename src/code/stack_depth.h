// SPDX-License-Identifier: Apache-2.0
// How far the stack pointer is below the CFA at each instruction of code that has no CFI, read from the instructions themselves (what the
// kernel's objtool does to make ORC tables). For code as compilers write it: a function that is not understood gets no rule at all
// (stack_flow.h says when).
//
//   StackDepths depths;
//   depths.add_code(begin, bytes);             // ascending
//   depths.add_function(begin, size);          // in any order; more are found by the calls to them
//   for (const StackRange& range : depths.find()) …
//
// Every byte is hostile. Bounded are code (32 MiB), functions, the bytes of one and the instructions looked at; no recursion.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "code/bits.h"
#include "code/followed_code.h"
#include "code/stack_flow.h"

namespace cicada::code {

class StackDepths {
 public:
  // Borrows the bytes.
  void add_code(uint32_t begin, Bytes bytes);
  // More code of the same kind, which is read another time: nothing is known of it. Ascending; it may be what add_code() has, too.
  void add_unread(uint32_t begin, uint32_t end) { unread_.push_back({begin, end}); }
  void add_function(uint32_t begin, uint32_t size);
  // Data has this address: a function's, or that of a place in one.
  void add_candidate(uint32_t begin) {
    if (candidates_.size() < kMaxCandidates) candidates_.push_back(begin);
  }
  // A function, or a slot with a pointer to one, that never returns; others are found.
  void add_never_returning(uint32_t function) { named_.functions.insert(function); }
  void add_never_returning_slot(uint32_t slot) { named_.slots.insert(slot); }
  // A stub that jumps to where that slot says: the slots come first.
  void add_stub(uint32_t begin, uint32_t slot) {
    if (named_.slots.contains(slot)) named_.functions.insert(begin);
  }
  // Written by hand: functions that nothing here refers to begin where the one before has ended, aligned. Callers may know what their callees leave alone.
  void set_assembly() { is_assembly_ = true; }
  // Immediate operands may be addresses, this one offset 0: the image is not relocated.
  void set_absolute(uint64_t base) { absolute_ = base; }

  // Ascending, disjoint.
  std::vector<StackRange> find();

  // Which code is whose, instead: of functions that could be followed, and of assembly that could not, up to what is known again. Ascending, disjoint.
  struct FunctionCode {
    uint32_t begin, end;
    uint32_t function;  // where it begins
  };
  std::vector<FunctionCode> find_functions();

  struct Functions {
    uint64_t known = 0, found = 0, given_up = 0;  // found: by a call or an address
  };
  const Functions& functions() const { return functions_; }
  const std::vector<uint32_t>& given_up() const { return given_up_; }

 private:
  static constexpr size_t kMaxCandidates = 1 << 20;
  struct Code {
    uint32_t begin, end;
    uint64_t first;  // bytes of code before it
    Bytes bytes;
  };
  struct Entry {
    uint32_t begin, size;  // 0: unknown
    enum Evidence : uint8_t { kCalled, kNamed, kJumpedTo, kTakenByCode, kInData, kBehindAnother } evidence = kCalled;  // of kTakenByCode and kInData: its address
    bool operator<(const Entry& other) const { return begin < other.begin; }
  };
  struct Part {
    uint32_t begin;
    StackState state;
  };
  // Code that jumps to where a register says.
  struct Jumper {
    uint32_t begin;
    StackState state;  // of all its jumps
    bool is_known;     // something refers to it
  };
  struct Known {
    uint32_t begin, end, range;  // in ranges_, unless only_functions_
  };
  using Begins = FlowMemory::Begins;
  // An instruction as the search for unreached blocks sees it. What cannot be decoded has one byte.
  struct Look {
    uint8_t length : 5 = 0;  // 0: not looked at yet
    bool is_padding : 1 = false, ends_block : 1 = false;
  };

  const Code* find_code(uint64_t offset) const;
  bool is_unread(int64_t offset) const;
  const Entry* entry_at(uint64_t offset) const;
  bool lies_in_function(uint32_t offset) const;
  bool is_reached(uint32_t offset) const;
  Look look_at(const Code& code, uint32_t at);
  template <typename Found>
  void find_unreached(Found found);
  void prepare();
  void run_pass(bool is_last);
  void follow_all();
  // A function has to prove that it is one; a block that it belongs to one, by a return or a jump to what is known.
  enum class Role : uint8_t { kFunction, kPart, kBlock };
  bool follow(const Part& part, Role role = Role::kFunction);
  void use_flow(uint32_t begin, bool followed);
  void append_code(int64_t address, std::vector<uint32_t>& to) const;
  void add_range(const StackRange& range, uint32_t function);
  bool is_entry_like(uint32_t offset) const;
  bool is_function(const Entry& entry, Bytes code);
  bool is_function_of_assembly(const Entry& entry);
  bool leads_to_function(const Entry& entry, const StackFlow::Jump& jump) const;
  bool take_leaves(uint32_t begin, bool is_entry);
  void insert_found(std::vector<uint32_t>& found, Entry::Evidence evidence);
  void add_entries(const std::vector<uint32_t>& begins, Entry::Evidence evidence);
  void follow_parts();
  void follow_others();
  void follow_behind_others();
  bool follow_blocks();
  void sort_known();
  const Known* find_known(int64_t offset) const;
  bool may_be_block(uint32_t begin, const Jumper& jumper) const;
  bool follow_block(uint32_t begin, const StackState& state);
  bool is_proved(uint32_t begin, Begins& before);
  bool is_padding(uint32_t begin, uint32_t end) const;
  std::vector<StackRange> merge();

  struct Unread {
    uint32_t begin, end;
  };

  std::vector<Code> code_;
  std::vector<Unread> unread_;
  std::vector<Entry> entries_;
  std::vector<uint32_t> candidates_;
  std::optional<uint64_t> absolute_;
  bool is_assembly_ = false, only_functions_ = false;
  uint64_t code_bytes_ = 0;
  uint64_t steps_ = 0;

  StackFlow flow_;
  Bits reached_;               // by byte of code
  Bits entry_like_, cut_ends_;  // the same, of assembly: with a stack as on a function's entry; the last of a range that is cut
  std::vector<StackRange> flow_ranges_;  // of what it has followed last
  std::vector<uint32_t> flow_calls_, flow_addresses_;
  std::vector<Look> looks_;  // by byte of code, of assembly
  FollowedCode last_;  // what was followed or recalled last
  FlowMemory memory_;
  bool is_last_ = false;  // pass
  std::vector<StackRange> ranges_;
  std::vector<uint32_t> called_, jumped_to_, taken_;  // not entries yet; what other functions jump to is called, too, but in assembly
  std::vector<Part> parts_;               // what functions jump to that lies elsewhere and is none
  std::vector<uint32_t> new_entries_;
  std::vector<uint32_t> part_begins_;    // ascending
  std::vector<Jumper> jumpers_;  // of assembly, also those that have not proved to be functions
  std::vector<Known> known_;     // ascending; what was known when it was sorted
  Begins proved_, proved_blocks_;  // functions, by the blocks that they jump to; both, by other code that they jump to
  NeverReturning named_, never_;          // never_: what the pass before found, too
  Begins found_never_, newly_never_;  // in this pass; in the pass before
  std::vector<uint32_t> given_up_, unproved_;  // the latter could be followed, but nothing shows that they are functions
  std::vector<FunctionCode> owned_;    // if only_functions_
  std::vector<uint32_t> possible_;     // ascending; what may be functions of assembly, but could not be followed
  Functions functions_;
};

}  // namespace cicada::code
