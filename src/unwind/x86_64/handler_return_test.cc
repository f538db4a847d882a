// SPDX-License-Identifier: Apache-2.0
#include "unwind/x86_64/handler_return.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <functional>
#include <stdexcept>
#include <string_view>

#include "base/unique_fd.h"
#include "dwarf/cfi_builder_for_test.h"
#include "dwarf/cfi_image_for_test.h"
#include "unwind/row_compiler.h"
#include "unwind/row_report.h"
#include "unwind/walk/own_space_for_test.h"

namespace cicada::unwind {
namespace {

using Code = std::vector<uint8_t>;

Code operator+(Code a, const Code& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

// Debian 12's _Unwind_RaiseException, and what other distributions end it with.
const Code kStore = {0x48, 0x89, 0x74, 0x15, 0x08};
const Code kLoads = {0x48, 0x8b, 0x45, 0xc8, 0x48, 0x8d, 0x4c, 0x0d, 0x08, 0x48, 0x8b, 0x55, 0xd0, 0x48, 0x8b, 0x5d, 0xd8, 0x4c, 0x8b,
                     0x65, 0xe0, 0x4c, 0x8b, 0x6d, 0xe8, 0x4c, 0x8b, 0x75, 0xf0, 0x4c, 0x8b, 0x7d, 0xf8, 0x48, 0x8b, 0x6d, 0x00};
const Code kMove = {0x48, 0x89, 0xcc}, kPopAndJump = {0x59, 0xff, 0xe1}, kReturn = {0xc3}, kNops(80, 0x90);

constexpr uint32_t kFunctionBytes = 0x200;

// One function of these bytes, with CFA = rcx + 8 from `row` on.
elf::ElfFile image_of(const Code& code, size_t row) {
  dwarf::CfiBuilder cfi;
  const auto low = static_cast<uint8_t>(row), high = static_cast<uint8_t>(row >> 8);
  cfi.add_fde(cfi.add_cie(), dwarf::kCodeBegin, kFunctionBytes, {0x0c, 6, 16, 0x03, low, high, 0x0c, 2, 8});
  return *elf::ElfFile::parse_copy(dwarf::wrap_in_elf(cfi.bytes(), {}, code), "test image");
}
UnwindRows compile(const Code& code, size_t row) { return *compile_rows(image_of(code, row)); }

std::string rule_at(const UnwindRows& table, uint64_t offset) { return to_text(table.find(LinkAddr(dwarf::kCodeBegin + offset))); }

TEST(MarkHandlerReturns, FromBehindTheStoreToTheEndOfTheJump) {
  for (const Code& end : {kPopAndJump, kReturn}) {
    const Code before = kNops + kStore, all = before + kLoads + kMove + end;
    const size_t row = before.size() + kLoads.size();
    const elf::ElfFile elf = image_of(all + kNops, row);
    const UnwindRows table = *compile_rows(elf);
    for (size_t i = 0; i < before.size(); ++i) EXPECT_EQ(rule_at(table, i), "cfa=rbp+16") << i;
    for (size_t i = before.size(); i < all.size(); ++i) EXPECT_EQ(rule_at(table, i), "unsupported: about to return to an exception's handler") << i;
    for (size_t i = all.size(); i < kFunctionBytes; ++i) EXPECT_EQ(rule_at(table, i), "cfa=rcx+8") << i;
    const size_t marked = all.size() - before.size();
    const UnsupportedCode unsupported = count_unsupported(elf, table);
    EXPECT_EQ(unsupported.all.bytes, marked);
    EXPECT_EQ(unsupported.by_reason[static_cast<size_t>(UnsupportedReason::kHandlerReturn)].bytes, marked);
    EXPECT_EQ(unsupported.by_reason[static_cast<size_t>(UnsupportedReason::kHandlerReturn)].rows, 1u);
  }
}

TEST(MarkHandlerReturns, WhereTheJumpIsTheLastOfTheFile) {
  const Code all = kStore + kLoads + kMove + kReturn;
  EXPECT_TRUE(is_handler_return(compile(all, all.size() - 1).find(LinkAddr(dwarf::kCodeBegin + kStore.size()))));
}

TEST(MarkHandlerReturns, LeavesOtherCodeAlone) {
  const Code call = {0xe8, 0, 0, 0, 0}, other_base = {0x48, 0x89, 0x74, 0x10, 0x08}, no_index = {0x48, 0x89, 0x75, 0x08};
  const size_t row = kStore.size() + kLoads.size();
  const auto expect_as_it_was = [](const Code& code, size_t row_at, const char* what) {
    const elf::ElfFile elf = image_of(code, row_at);
    const UnwindRows table = *compile_rows(elf);
    EXPECT_EQ(rule_at(table, row_at), "cfa=rcx+8") << what;
    EXPECT_EQ(rule_at(table, row_at - 1), "cfa=rbp+16") << what;
    EXPECT_EQ(count_unsupported(elf, table).all.bytes, 0u) << what;
  };
  expect_as_it_was(kNops + kLoads + kMove + kReturn, kNops.size() + kLoads.size(), "no store");
  expect_as_it_was(other_base + kLoads + kMove + kReturn, row, "a store elsewhere");
  expect_as_it_was(no_index + kLoads + kMove + kReturn, row - 1, "a store into the own frame");
  expect_as_it_was(kStore + kLoads + kLoads + kMove + kReturn, row + kLoads.size(), "the store is too far");
  expect_as_it_was(kStore + call + kLoads + kMove + kReturn, row + call.size(), "a call between");
  expect_as_it_was(kStore + kLoads + kMove + call + kReturn, row, "a call before the jump");
  expect_as_it_was(kStore + kLoads + kMove + kReturn, row + 1, "the row begins in an instruction");
  expect_as_it_was(kStore + kLoads + kReturn + kMove + kReturn, row + 1, "the function is over before");
  expect_as_it_was(kStore + kLoads + kMove, row, "the code is cut off");
  expect_as_it_was(kStore, row, "there is no code");
  expect_as_it_was({}, row, "the file has no code");
  Code endless = kStore;
  for (int i = 0; i < 40; ++i) endless = endless + kMove;
  expect_as_it_was(endless + kReturn, kStore.size() + kMove.size(), "no jump for 40 instructions");
}

class Words final : public dwarf::Memory {
 public:
  std::optional<uint64_t> find_word(uint64_t address) const override {
    return address >= 0x1000 && address < 0x2000 ? std::optional(address ^ 0xabcd0000) : std::nullopt;
  }
};

dwarf::Registers made_up() {
  dwarf::Registers registers;
  for (unsigned i = 0; i < 16; ++i) registers.set(i, 0x1100 + 16 * i);
  registers.set(2, 0);  // rcx: from rbp to the handler's stack
  return registers;
}

TEST(FollowHandlerReturn, SaysWhatItCannotFollow) {
  const auto follow = [](const Code& code, dwarf::Registers registers) { return follow_handler_return(code, Words(), registers); };
  const Code add = {0x48, 0x01, 0xc1}, narrow = {0x89, 0xcc}, near_rip = {0x48, 0x8b, 0x05, 0, 0, 0, 0}, through_memory = {0xff, 0x21};
  using dwarf::FrameStep;
  EXPECT_EQ(follow(kLoads + kMove + kReturn, made_up()), FrameStep::kDone);
  EXPECT_EQ(follow({}, made_up()), FrameStep::kMalformed);
  for (const Code& code : {kLoads, add + kReturn, narrow + kReturn, near_rip + kReturn, through_memory, kNops + kReturn}) {
    EXPECT_EQ(follow(code, made_up()), FrameStep::kMalformed);
  }
  dwarf::Registers lost = made_up();
  lost.value[6] = 0x9000;  // rbp
  EXPECT_EQ(follow(kLoads + kMove + kReturn, lost), FrameStep::kUnreadable);
  lost = made_up();
  lost.value[2] = ~uint64_t{0};  // rcx
  EXPECT_EQ(follow(kMove + kReturn, lost), FrameStep::kUnreadable);
  EXPECT_EQ(follow(kMove + kPopAndJump, lost), FrameStep::kUnreadable);
}

// ---- Against the processor: a child is stopped at each instruction of such an end, and has to arrive with what was foretold there. ----

// Returns to its caller in this way.
extern "C" void returns_as_to_handler();
asm(R"(
  .text
  .type returns_as_to_handler,@function
returns_as_to_handler:
  .cfi_startproc
  push %rbp
  .cfi_def_cfa_offset 16
  .cfi_offset 6, -16
  mov %rsp,%rbp
  .cfi_def_cfa_register 6
  push %r15
  push %r14
  push %r13
  push %r12
  push %rbx
  push %rdx
  push %rax
  mov 8(%rbp),%rdi
  xor %esi,%esi
  mov %rsi,%rcx
  mov %rdi,8(%rbp,%rsi,1)
  mov -56(%rbp),%rax
  mov -48(%rbp),%rdx
  mov -40(%rbp),%rbx
  mov -32(%rbp),%r12
  mov -24(%rbp),%r13
  mov -16(%rbp),%r14
  mov -8(%rbp),%r15
  lea 8(%rbp,%rcx,1),%rcx
  mov 0(%rbp),%rbp
  .cfi_def_cfa 2, 8
  mov %rcx,%rsp
  ret
  .cfi_endproc
  .size returns_as_to_handler,.-returns_as_to_handler
)");

class State final : public dwarf::Memory {
 public:
  std::optional<uint64_t> find_word(uint64_t address) const override {
    uint64_t word = 0;
    const uint64_t offset = address - registers.value[7];
    if (offset >= stack.size() || stack.size() - offset < sizeof word) return std::nullopt;
    std::memcpy(&word, stack.data() + offset, sizeof word);
    return word;
  }
  dwarf::Registers registers;
  std::vector<uint8_t> stack;  // from rsp up
};

// Where in the process the first such end within 4 KiB from `function` is.
std::optional<Range<RuntimeAddr>> find_end_of(OwnSpace& space, RuntimeAddr function) {
  const auto mapping = space.find_mapping(function);
  if (!mapping) return std::nullopt;
  const UnwindRows& rows = space.find_image(mapping->image)->rows();
  const auto marked = [&](RuntimeAddr at) { return is_handler_return(rows.find(LinkAddr(at.value - mapping->bias))); };
  RuntimeAddr begin = function;
  while (begin < function + 4096 && !marked(begin)) begin = begin + 1;
  RuntimeAddr end = begin;
  while (marked(end)) end = end + 1;
  return begin < end ? std::optional(Range<RuntimeAddr>{begin, end}) : std::nullopt;
}

State read_state(pid_t child) {
  State state;
  user_regs_struct r{};
  EXPECT_EQ(::ptrace(PTRACE_GETREGS, child, nullptr, &r), 0);
  const uint64_t values[] = {r.rax, r.rdx, r.rcx, r.rbx, r.rsi, r.rdi, r.rbp, r.rsp, r.r8, r.r9, r.r10, r.r11, r.r12, r.r13, r.r14, r.r15, r.rip};
  for (unsigned i = 0; i < std::size(values); ++i) state.registers.set(i, values[i]);
  const UniqueFd memory(::open(("/proc/" + std::to_string(child) + "/mem").c_str(), O_RDONLY | O_CLOEXEC));
  state.stack.resize(256 << 10);
  const ssize_t size = ::pread(memory.get(), state.stack.data(), state.stack.size(), static_cast<off_t>(r.rsp));
  state.stack.resize(size > 0 ? static_cast<size_t>(size) : 0);
  return state;
}

bool wait_for_trap(pid_t child, int signal) {
  int status = 0;
  return ::waitpid(child, &status, 0) == child && WIFSTOPPED(status) && WSTOPSIG(status) == signal;
}

// A child that does `what`, before each instruction of `code` when it comes there first, and behind the last.
void follow_child(const std::function<void()>& what, Range<RuntimeAddr> code, std::vector<State>& states) {
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    if (::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) ::_exit(1);
    ::raise(SIGSTOP);
    what();
    ::_exit(0);
  }
  const auto at = reinterpret_cast<void*>(code.begin.value);
  ASSERT_TRUE(wait_for_trap(child, SIGSTOP));
  const long original = ::ptrace(PTRACE_PEEKTEXT, child, at, nullptr);
  ASSERT_EQ(::ptrace(PTRACE_POKETEXT, child, at, (original & ~0xffL) | 0xcc), 0);
  ASSERT_EQ(::ptrace(PTRACE_CONT, child, nullptr, nullptr), 0);
  ASSERT_TRUE(wait_for_trap(child, SIGTRAP));
  ASSERT_EQ(::ptrace(PTRACE_POKETEXT, child, at, original), 0);
  user_regs_struct r{};
  ASSERT_EQ(::ptrace(PTRACE_GETREGS, child, nullptr, &r), 0);
  ASSERT_EQ(r.rip, code.begin.value + 1);
  r.rip = code.begin.value;
  ASSERT_EQ(::ptrace(PTRACE_SETREGS, child, nullptr, &r), 0);
  do {
    states.push_back(read_state(child));
    ASSERT_EQ(::ptrace(PTRACE_SINGLESTEP, child, nullptr, nullptr), 0);
    ASSERT_TRUE(wait_for_trap(child, SIGTRAP));
    ASSERT_LT(states.size(), 100u);
  } while (code.contains(RuntimeAddr(read_state(child).registers.value[16])));
  states.push_back(read_state(child));
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
}

DeferredStack walk(const State& state, OwnSpace& space) {
  StackCopy from;
  std::copy_n(state.registers.value.begin(), 16, from.gpr);
  from.ip = state.registers.value[16];
  from.exact_ip = from.all_registers = true;
  from.stack = state.stack;
  return finish_walk(from, space);
}

void expect_foretold(const std::function<void()>& what, RuntimeAddr function, size_t instructions) {
  OwnSpace space;
  const auto code = find_end_of(space, function);
  ASSERT_TRUE(code);
  std::vector<State> states;
  ASSERT_NO_FATAL_FAILURE(follow_child(what, *code, states));
  EXPECT_EQ(states.size(), instructions + 1);
  const DeferredStack arrived = walk(states.back(), space);
  EXPECT_EQ(arrived.end, END_DEFERRED);
  EXPECT_GT(arrived.frames.size(), 5u);
  for (size_t i = 0; i + 1 < states.size(); ++i) {
    dwarf::Registers registers = states[i].registers;
    const auto mapping = space.find_mapping(code->begin);
    const Bytes bytes = space.code_at(mapping->image, LinkAddr(registers.value[16] - mapping->bias));
    EXPECT_EQ(follow_handler_return(bytes, states[i], registers), dwarf::FrameStep::kDone) << i;
    EXPECT_EQ(registers.value, states.back().registers.value) << i;
    const DeferredStack result = walk(states[i], space);
    EXPECT_EQ(result.end, END_DEFERRED) << i;
    ASSERT_FALSE(result.frames.empty());
    EXPECT_EQ(std::vector<uint64_t>(result.frames.begin() + 1, result.frames.end()), arrived.frames) << i;
  }
}

TEST(HandlerReturn, IsForetoldAtEachInstructionOfLibgcc) {
  void* const libgcc = ::dlopen("libgcc_s.so.1", RTLD_NOW | RTLD_NOLOAD);
  if (libgcc == nullptr) GTEST_SKIP() << "this program has a libgcc of its own";
  const auto function = reinterpret_cast<uint64_t>(::dlsym(libgcc, "_Unwind_RaiseException"));
  const auto throws = [] {
    try {
      static_cast<void>(std::string_view().at(1));
    } catch (const std::out_of_range&) {
    }
  };
  expect_foretold(throws, RuntimeAddr(function), 12);
}

TEST(HandlerReturn, IsForetoldAtEachInstructionBeforeARet) {
  expect_foretold([] { returns_as_to_handler(); }, RuntimeAddr(reinterpret_cast<uint64_t>(&returns_as_to_handler)), 11);
}

}  // namespace
}  // namespace cicada::unwind
