// SPDX-License-Identifier: Apache-2.0
// Known by the few bytes that GCC 8 to 14 and clang's links with GCC's start files have in common:
//
//   deregister_tm_clones   lea or mov of a symbol, lea or cmp of the same          no frame
//   register_tm_clones                                                             no frame
//   __do_global_dtors_aux  [endbr64] cmpb $0,completed(%rip); jne ret; push %rbp … pop %rbp; ret … ret
//   frame_dummy            [endbr64] jmp, or (static) mov; test; je; push %rbp … pop %rbp; jmp … jmp
#include "unwind/x86_64/start_code.h"

#include <algorithm>
#include <array>

namespace cicada::unwind {
namespace {

constexpr size_t kMaxFrameBytes = 80;  // between push %rbp and pop %rbp
constexpr size_t kMaxDistance = 0x90;  // from deregister_tm_clones to __do_global_dtors_aux
constexpr std::array<uint8_t, 4> kEndbr64 = {0xf3, 0x0f, 0x1e, 0xfa};

template <size_t N>
bool has(Bytes code, size_t at, const std::array<uint8_t, N>& bytes) {
  return at <= code.size() && code.size() - at >= N && std::equal(bytes.begin(), bytes.end(), code.begin() + static_cast<ptrdiff_t>(at));
}

// Where a `jcc rel8` at `at` goes.
size_t short_jump_target(Bytes code, size_t at) {
  return at + 2 + static_cast<size_t>(static_cast<ptrdiff_t>(static_cast<int8_t>(code[at + 1])));
}

class Crtbegin {
 public:
  Crtbegin(Bytes code, uint64_t misalignment) : code_(code), misalignment_(misalignment) {}

  std::vector<CodeRule> find() {
    for (size_t at = 0; code_.size() >= 16 && at < code_.size() - 16; ++at) {
      // cmpb $0,completed(%rip); jne; push %rbp
      if (code_[at] == 0x80 && code_[at + 1] == 0x3d && code_[at + 6] == 0 && code_[at + 7] == 0x75 && holds_frame(at + 9)) {
        add_all(at);
        break;
      }
    }
    return std::move(rules_);
  }

 private:
  // push %rbp … pop %rbp and then ret or jmp.
  bool holds_frame(size_t push) { return push < code_.size() && code_[push] == 0x55 && end_of_frame(push) != 0; }
  size_t end_of_frame(size_t push) const {
    for (size_t at = push + 1; at + 1 < code_.size() && at < push + kMaxFrameBytes; ++at) {
      if (code_[at] == 0x5d && (code_[at + 1] == 0xc3 || code_[at + 1] == 0xe9 || code_[at + 1] == 0xeb)) return at + 1;
    }
    return 0;
  }
  void add_frameless(size_t begin, size_t end) { add(begin, end, stack_pointer_plus(8)); }
  void add_frame(size_t push) { add(push + 1, end_of_frame(push), stack_pointer_plus(16, -2)); }
  void add(size_t begin, size_t end, const unwind_rule& rule) {
    if (begin < end) rules_.push_back({static_cast<uint32_t>(begin), static_cast<uint32_t>(end), rule});
  }
  size_t align(size_t at) const { return ((at + misalignment_ + 15) & ~size_t{15}) - misalignment_; }

  void add_all(size_t compare) {
    const size_t begin = compare >= 4 && has(code_, compare - 4, kEndbr64) ? compare - 4 : compare;
    const size_t push = compare + 9;
    const size_t last_return = short_jump_target(code_, compare + 7);
    if (last_return < push || last_return >= code_.size() || code_[last_return] != 0xc3) return;
    add_frameless(find_tm_clones(begin), push + 1);
    add_frame(push);
    add_frameless(end_of_frame(push), last_return + 1);
    add_frame_dummy(align(last_return + 1));
  }

  size_t find_tm_clones(size_t dtors) const {
    for (size_t back = std::min(dtors & ~size_t{15}, kMaxDistance); back >= 16; back -= 16) {
      const size_t at = dtors - back;
      const bool pic = has<3>(code_, at, {0x48, 0x8d, 0x3d}) && has<3>(code_, at + 7, {0x48, 0x8d, 0x05});
      const bool absolute = code_[at] == 0xb8 && has<2>(code_, at + 5, {0x48, 0x3d});
      if (pic || absolute) return at;
    }
    return dtors;
  }

  void add_frame_dummy(size_t begin) {
    const size_t at = has(code_, begin, kEndbr64) ? begin + 4 : begin;
    if (at + 5 > code_.size()) return;
    if (code_[at] == 0xe9 || code_[at] == 0xeb) return add_frameless(begin, at + (code_[at] == 0xe9 ? 5 : 2));
    if (code_[at] != 0xb8 || !has<4>(code_, at + 5, {0x48, 0x85, 0xc0, 0x74})) return;
    const size_t push = at + 10;
    if (!holds_frame(push)) return;
    const size_t last_jump = short_jump_target(code_, at + 8);
    if (last_jump < push || last_jump + 5 > code_.size() || code_[last_jump] != 0xe9) return;
    add_frameless(begin, push + 1);
    add_frame(push);
    add_frameless(end_of_frame(push), last_jump + 5);
  }

  Bytes code_;
  uint64_t misalignment_;
  std::vector<CodeRule> rules_;
};

}  // namespace

std::vector<CodeRule> find_init_rules(Bytes section) {
  const size_t begin = has(section, 0, kEndbr64) ? 4 : 0;
  const size_t end = section.size();
  size_t opened = 0, closed = 0;  // behind the instructions that move the stack pointer
  if (has<4>(section, begin, {0x48, 0x83, 0xec, 0x08}) && end >= begin + 9 && has<5>(section, end - 5, {0x48, 0x83, 0xc4, 0x08, 0xc3})) {
    opened = begin + 4, closed = end - 1;
  } else if (has<1>(section, begin, {0x50}) && end >= begin + 3 && has<2>(section, end - 2, {0x58, 0xc3})) {
    opened = begin + 1, closed = end - 1;
  } else {
    return {};
  }
  const auto at = [](size_t offset) { return static_cast<uint32_t>(offset); };
  return {{0, at(opened), stack_pointer_plus(8)}, {at(opened), at(closed), stack_pointer_plus(16)}, {at(closed), at(end), stack_pointer_plus(8)}};
}

std::vector<CodeRule> find_crtbegin_rules(Bytes code, uint64_t misalignment) { return Crtbegin(code, misalignment).find(); }

}  // namespace cicada::unwind
