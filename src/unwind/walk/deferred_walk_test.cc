// SPDX-License-Identifier: Apache-2.0
#include "unwind/walk/deferred_walk.h"

#include <gtest/gtest.h>
#include <sys/uio.h>
#include <unistd.h>
#include <unwind.h>

#include <fstream>

#include "abi/mapping.h"
#include "dwarf/cfi_builder_for_test.h"
#include "dwarf/cfi_image_for_test.h"
#include "unwind/row_compiler.h"
#include "unwind/walk/own_space_for_test.h"

namespace cicada::unwind {
namespace {

using dwarf::CfiBuilder;

// An address space with one image of made-up CFI at kBias, JIT code and code without CFI.
constexpr uint64_t kBias = 0x7f0000000000, kCode = kBias + 0x11000;
constexpr uint64_t kJit = 0x7e0000000000, kNoCfi = 0x7d0000000000;
constexpr uint64_t kTrampoline = kJit + 0x500;  // a return address in code without a frame pointer
constexpr uint64_t kStack = 0x7ffc00001000;

class TestSpace final : public AddressSpaceView {
 public:
  // Functions of 0x100 bytes from 0x11000 on, one a program. `code`: of the first.
  explicit TestSpace(const std::vector<CfiBuilder::Program>& functions, Bytes code = {}) {
    CfiBuilder cfi;
    const uint64_t cie = cfi.add_cie();
    for (size_t i = 0; i < functions.size(); ++i) cfi.add_fde(cie, 0x11000 + 0x100 * i, 0x100, functions[i]);
    std::vector<uint8_t> text(0x1000);
    text.insert(text.end(), code.begin(), code.end());
    const auto image = dwarf::wrap_in_elf(cfi.bytes(), {}, text);
    auto parsed = elf::ElfFile::parse_copy(image, "test image");
    EXPECT_TRUE(parsed);
    const auto elf = std::make_shared<const elf::ElfFile>(*std::move(parsed));
    image_ = std::make_unique<ImageUnwinder>(
        "test image", compile_rows(*elf),
        [this, steps = std::make_shared<ImageSteps>(elf)](uint32_t owner, std::span<const StepQuestion> questions) {
          asked.emplace_back(owner, questions.size());
          return Result(steps->take(questions));
        });
  }
  std::vector<std::pair<uint32_t, size_t>> asked;  // owner, and how many steps together
  std::optional<Mapping> find_mapping(RuntimeAddr address) override {
    if (address.value >> 24 == kBias >> 24) return Mapping{{RuntimeAddr(kBias), RuntimeAddr(kBias + 0x100000)}, kBias, 9, 0};
    if (address.value >> 24 == kJit >> 24) return Mapping{{RuntimeAddr(kJit), RuntimeAddr(kJit + 0x100000)}, 0, 0, MAPPING_JIT};
    if (address.value >> 24 == kNoCfi >> 24) {
      return Mapping{{RuntimeAddr(kNoCfi), RuntimeAddr(kNoCfi + 0x100000)}, kNoCfi, 10, MAPPING_NO_CFI};
    }
    return std::nullopt;
  }
  end_reason find_rule_of_code(RuntimeAddr address, unwind_rule& rule) override {
    if (address.value - kJit < 0x800 || address.value - kJit >= 0x900) return END_NO_RULE;
    if (told) rule = *told;
    return told ? END_NONE : END_UNREADABLE;
  }
  std::optional<unwind_rule> told;  // of a part of the JIT code
  const ImageUnwinder* find_image(uint32_t image) override { return image == 9 ? image_.get() : nullptr; }
  std::optional<uint64_t> read_code(RuntimeAddr address) override {
    if (address.value != kTrampoline) return std::nullopt;
    return 0xcccccc'c3'08c48348;  // add $8,%rsp; ret; and what comes behind it
  }

 private:
  std::unique_ptr<ImageUnwinder> image_;
};

struct Stack {
  std::vector<uint64_t> words = std::vector<uint64_t>(64);
  StackCopy from;
  Stack() {
    from.gpr[7] = kStack;
    from.exact_ip = from.all_registers = true;
  }
  DeferredStack finish(TestSpace& space) {
    from.stack = Bytes(reinterpret_cast<const uint8_t*>(words.data()), words.size() * 8);
    return finish_walk(from, space);
  }
};

const CfiBuilder::Program kPlain = {};               // cfa = rsp + 8
const CfiBuilder::Program kOutermost = {0x07, 16};
// cfa = **(rsp + 8): two dereferences fit no row.
const CfiBuilder::Program kTwice = {0x0f, 4, 0x77, 8, 0x06, 0x06};

TEST(FinishWalks, AskAnImageOnceForAllThatWaitForIt) {
  TestSpace space({kTwice, kOutermost});
  std::array<Stack, 4> stacks;
  std::vector<DeferredWalk> walks;
  for (size_t i = 0; i < stacks.size(); ++i) {
    Stack& stack = stacks[i];
    stack.from.ip = i == 3 ? kCode + 0x120 : kCode + 0x10;
    stack.words[1] = kStack + 0x80;
    stack.words[16] = kStack + 0x100;
    stack.words[31] = i == 2 ? kCode + 0x50 : kCode + 0x120;  // the third goes through such a frame twice
    stack.words[33] = kStack + 0x180;
    stack.words[48] = kStack + 0x1c0;
    stack.words[55] = kCode + 0x120;
    stack.from.stack = Bytes(reinterpret_cast<const uint8_t*>(stack.words.data()), stack.words.size() * 8);
    walks.emplace_back(stack.from, space);
  }
  finish_walks(walks, 1000);
  EXPECT_EQ(space.asked, (std::vector<std::pair<uint32_t, size_t>>{{1000, 3}, {1000, 1}}));
  for (size_t i = 0; i < walks.size(); ++i) {
    const DeferredStack finished = walks[i].take();
    EXPECT_EQ(finished.end, END_DEFERRED) << i;
    EXPECT_EQ(finished.frames.size(), i == 2 ? 3u : i == 3 ? 1u : 2u) << i;
    EXPECT_EQ(finished.frames.back(), frame_in_image(9, i == 3 ? 0x11120 : 0x1111f)) << i;
  }
}

TEST(FinishWalks, AskNobodyWhenTheyAreNotToGoOn) {
  TestSpace space({kTwice});
  Stack stack;
  stack.from.ip = kCode + 0x10;
  stack.from.stack = Bytes(reinterpret_cast<const uint8_t*>(stack.words.data()), stack.words.size() * 8);
  DeferredWalk walk(stack.from, space);
  finish_walks({&walk, 1}, 0, [] { return false; });
  EXPECT_TRUE(space.asked.empty());
  EXPECT_EQ(walk.take().end, END_DEFERRED_FAILED);
}

// Where a run time says how large a frame is, that is followed, whatever is in the frame pointer.
TEST(FinishWalk, FollowsWhatARunTimeSaysOfItsCode) {
  TestSpace space({kPlain, kOutermost});
  space.told = unwind_rule{.cfa_kind = CFA_OFFSET, .cfa_reg = ARCH_SP, .via_base = 0, .via_align = 0, .cfa_offset = 32, .saved = {}, .cfa_addend = 0};
  space.told->saved[ARCH_SAVED_FP] = -2;
  Stack stack;
  stack.from.ip = kJit + 0x810;
  stack.from.gpr[ARCH_FP] = 0x1234;
  stack.words[2] = 0;
  stack.words[3] = kCode + 0x110;
  const DeferredStack ended = stack.finish(space);
  EXPECT_EQ(ended.end, END_DEFERRED);
  EXPECT_EQ(ended.frames, (std::vector<uint64_t>{frame_at(FRAME_JIT, kJit + 0x810), frame_in_image(9, 0x1110f)}));
  stack.from.ip = kJit + 0x910;  // nobody says it here
  EXPECT_EQ(stack.finish(space).end, END_BAD_FRAME_POINTER);
  stack.from.ip = kJit + 0x810;  // what says it cannot be read: a frame pointer that leads somewhere is not followed
  stack.from.gpr[ARCH_FP] = kStack + 16;
  space.told.reset();
  EXPECT_EQ(stack.finish(space).end, END_UNREADABLE);
  EXPECT_EQ(stack.finish(space).frames.size(), 1u);
}

// An interpreted method of Java: the caller's stack pointer is in its frame.
TEST(FinishWalk, TakesTheCallersStackPointerFromAnInterpretedFrame) {
  TestSpace space({{0x0e, 24}, kOutermost});  // cfa = rsp + 24
  space.told = unwind_rule{.cfa_kind = CFA_FRAME_POINTER, .cfa_reg = UNWIND_INTERPRETED_JAVA, .via_base = 0, .via_align = 0, .cfa_offset = 0, .saved = {}, .cfa_addend = 0};
  Stack stack;
  stack.from.ip = kJit + 0x810;
  stack.from.gpr[ARCH_FP] = kStack + 8 * 10;
  stack.words[9] = kStack + 8 * 20;
  stack.words[10] = kStack + 8 * 30;
  stack.words[11] = kCode + 0x10;
  stack.words[22] = kCode + 0x110;
  EXPECT_EQ(stack.finish(space).end, END_DEFERRED);
  EXPECT_EQ(stack.finish(space).frames.size(), 3u);
  stack.words[9] = kStack + (2 << 20);  // nowhere near: it stays where the frame ends
  stack.words[22] = 0;
  stack.words[14] = kCode + 0x110;
  EXPECT_EQ(stack.finish(space).end, END_DEFERRED);
  stack.from.gpr[ARCH_FP] = 0;
  EXPECT_EQ(stack.finish(space).end, END_BAD_FRAME_POINTER);
}

// A child of clone() on a stack of its own, before its first instruction: nothing is above clone.
TEST(FinishWalk, NewTaskHasNoCaller) {
  TestSpace space({kPlain, kPlain});
  Stack stack;
  stack.from.ip = kCode + 0x20;
  stack.words[0] = 0x1234;  // what happens to be there
  EXPECT_EQ(stack.finish(space).end, END_UNMAPPED_PC);
  EXPECT_EQ(stack.finish(space).frames.size(), 2u);
  stack.from.new_task = true;
  DeferredStack ended = stack.finish(space);
  EXPECT_EQ(ended.end, END_DEFERRED);
  EXPECT_EQ(ended.frames, std::vector<uint64_t>{frame_in_image(9, 0x11020)});
  stack.words.clear();  // the end of the mapping
  ended = stack.finish(space);
  EXPECT_EQ(ended.end, END_DEFERRED);
  EXPECT_EQ(ended.frames.size(), 1u);
  // fork() gives none: the parent's callers are on it.
  stack.words = {kCode + 0x140, 0x1234};
  EXPECT_EQ(stack.finish(space).frames.size(), 3u);
  EXPECT_EQ(stack.finish(space).end, END_UNMAPPED_PC);
  // clone() keeps the function to be called there, which looks like a caller.
  stack.from.new_stack = true;
  EXPECT_EQ(stack.finish(space).frames.size(), 1u);
  EXPECT_EQ(stack.finish(space).end, END_DEFERRED);
}

// Large frames have pages that nobody has touched: the copy leaves them out.
TEST(FinishWalk, TheCopyMayHaveHoles) {
  TestSpace space({{0x0e, 0x88, 0x40}, kOutermost});  // cfa = rsp + 0x2008
  constexpr size_t kLastInPage = 0xff0 / 8;
  Stack stack;
  stack.from.ip = kCode + 5;
  stack.from.gpr[7] = kStack + 0xff0;  // the return address is at the same place, two pages up
  stack.words.assign(2 + 512, 1);
  stack.words[2 + kLastInPage] = kCode + 0x100 + 1;
  stack.from.pages = 0b101;
  EXPECT_EQ(stack.finish(space).end, END_DEFERRED);
  stack.from.pages = 0b11;
  EXPECT_EQ(stack.finish(space).end, END_UNREADABLE);
  stack.words.assign(512, 1);
  stack.words[kLastInPage] = kCode + 0x100 + 1;
  stack.from.pages = 0b100;
  EXPECT_EQ(stack.finish(space).end, END_DEFERRED);
}

// A leaf may keep things below the stack pointer.
TEST(FinishWalk, TheCopyMayHaveTheRedZone) {
  TestSpace space({{0x0f, 5, 0x77, 0x70, 0x06, 0x23, 8}, kOutermost});  // cfa = *(rsp - 16) + 8
  Stack stack;
  stack.from.ip = kCode + 0x10;
  stack.from.below = ARCH_RED_ZONE;
  const auto at = [&](int64_t address) -> uint64_t& { return stack.words[static_cast<size_t>((ARCH_RED_ZONE + address) / 8)]; };
  at(-16) = kStack + 0x40;
  at(0x40) = kCode + 0x120;
  EXPECT_EQ(stack.finish(space).end, END_DEFERRED);
  EXPECT_EQ(stack.finish(space).frames.size(), 2u);
  stack.from.below = 0;
  EXPECT_EQ(stack.finish(space).end, END_UNREADABLE);
}

TEST(FinishWalk, GoesToTheOutermostFrame) {
  TestSpace space({kPlain, kOutermost});
  Stack stack;
  stack.from.ip = kCode + 5;
  stack.words[0] = kCode + 0x100 + 1;  // return address into the second function, just behind its first byte
  const DeferredStack result = stack.finish(space);
  EXPECT_EQ(result.end, END_DEFERRED);
  ASSERT_EQ(result.frames.size(), 2u);
  EXPECT_EQ(result.frames[0], frame_in_image(9, 0x11005));
  EXPECT_EQ(result.frames[1], frame_in_image(9, 0x11100));
}

TEST(FinishWalk, ReturnAddressBelongsToTheCallBeforeIt) {
  TestSpace space({kPlain, kOutermost, kPlain});
  Stack stack;
  stack.from.ip = kCode;
  stack.words[0] = kCode + 0x200;  // a noreturn call is the last instruction of the outermost function
  const DeferredStack result = stack.finish(space);
  EXPECT_EQ(result.end, END_DEFERRED);
  EXPECT_EQ(result.frames.back(), frame_in_image(9, 0x111ff));
}

TEST(FinishWalk, FollowsWhatFitsNoRow) {
  TestSpace space({kTwice, kOutermost});
  Stack stack;
  stack.from.ip = kCode;
  stack.words[1] = kStack + 16;
  stack.words[2] = kStack + 64;
  stack.words[7] = kCode + 0x101;  // at cfa - 8
  const DeferredStack result = stack.finish(space);
  EXPECT_EQ(result.end, END_DEFERRED);
  EXPECT_EQ(result.frames.size(), 2u);
}

TEST(FinishWalk, KeepsRegistersThatOnlyFullCfiTracks) {
  // The callee saves rcx in memory, the caller's CFA is rcx + 16: no row can say that, the complete rules can.
  CfiBuilder::Program saves_rcx = {0x0f, 4, 0x77, 8, 0x06, 0x06, 0x82, 2};
  TestSpace space({saves_rcx, {0x0c, 2, 16}, kOutermost});
  Stack stack;
  stack.from.ip = kCode;
  stack.words[1] = kStack + 16;
  stack.words[2] = kStack + 64;
  stack.words[7] = kCode + 0x101;
  stack.words[6] = kStack + 128;         // rcx of the caller
  stack.words[16 + 1] = kCode + 0x201;  // at rcx + 16 - 8
  const DeferredStack result = stack.finish(space);
  EXPECT_EQ(result.end, END_DEFERRED);
  EXPECT_EQ(result.frames.size(), 3u);
}

TEST(FinishWalk, ACfaInRaxAcrossACallIsBelievedWherePlausible) {
  TestSpace space({kPlain, {0x0c, 0, 8}, kOutermost});  // the second function: cfa = rax + 8
  Stack stack;
  stack.from.ip = kCode;
  stack.words[0] = kCode + 0x101;
  stack.from.gpr[0] = kStack + 64;
  stack.words[8] = kCode + 0x201;
  EXPECT_EQ(stack.finish(space).end, END_DEFERRED);
  EXPECT_EQ(stack.finish(space).frames.size(), 3u);
  stack.words[8] = 0x1000;  // no return address
  EXPECT_EQ(stack.finish(space).end, END_UNSUPPORTED_RULE);
  stack.from.gpr[0] = kStack - 64;
  EXPECT_EQ(stack.finish(space).end, END_UNSUPPORTED_RULE);
}

TEST(FinishWalk, ThroughATrampolineWithoutFramePointer) {
  TestSpace space({{0x0e, 16}, {0x07, 16}});  // cfa = rsp + 16; outermost
  Stack stack;
  stack.from.ip = kCode + 0x10;
  stack.from.gpr[6] = 0;            // of no use
  stack.words[1] = kTrampoline;     // the leaf's return address
  stack.words[3] = kCode + 0x110;   // behind eight bytes, the trampoline's
  const DeferredStack result = stack.finish(space);
  EXPECT_EQ(result.end, END_DEFERRED);
  ASSERT_EQ(result.frames.size(), 3u);
  EXPECT_EQ(result.frames[1], frame_at(FRAME_JIT, kTrampoline - 1));
  stack.words[1] = kJit + 0x600;  // other code: no frame pointer, no way on
  EXPECT_EQ(stack.finish(space).end, END_BAD_FRAME_POINTER);
}

// An exception is about to arrive in its handler, the first byte of a function: nothing called it.
TEST(FinishWalk, ReturnsToAHandler) {
  const std::vector<uint8_t> code = {0x48, 0x89, 0x74, 0x15, 0x08,  // mov %rsi,8(%rbp,%rdx)
                                     0x48, 0x8d, 0x4c, 0x0d, 0x08,  // lea 8(%rbp,%rcx),%rcx
                                     0x48, 0x8b, 0x6d, 0x00,        // mov (%rbp),%rbp
                                     0x48, 0x89, 0xcc, 0xc3};       // mov %rcx,%rsp; ret
  TestSpace space({{0x0c, 6, 16, 0x4e, 0x0c, 2, 8}, {0x0c, 6, 16}, kOutermost}, code);
  Stack stack;
  stack.from.ip = kCode + 5;
  stack.from.gpr[6] = kStack + 64;
  stack.from.gpr[2] = 80;                // rcx: from here to the handler's stack pointer
  stack.words[8] = kStack + 256;         // its rbp
  stack.words[8 + 11] = kCode + 0x100;   // the handler
  stack.words[32 + 1] = kCode + 0x201;   // the handler's frame: the return address
  const DeferredStack result = stack.finish(space);
  EXPECT_EQ(result.end, END_DEFERRED);
  EXPECT_EQ(result.frames, (std::vector<uint64_t>{frame_in_image(9, 0x11005), frame_in_image(9, 0x11100), frame_in_image(9, 0x11200)}));
  stack.words[8 + 11] = 0x1000;
  EXPECT_EQ(stack.finish(space).end, END_UNMAPPED_PC);
  EXPECT_EQ(stack.finish(space).frames.size(), 2u);
  for (const uint64_t nowhere : {uint64_t{0}, ~uint64_t{0}}) {
    stack.words[8 + 11] = nowhere;
    EXPECT_EQ(stack.finish(space).end, END_DEFERRED_FAILED) << nowhere;
  }
  stack.words[8 + 11] = kCode + 5;  // an endless loop
  EXPECT_NE(stack.finish(space).end, END_DEFERRED);
  stack.from.gpr[2] = 1 << 20;
  EXPECT_EQ(stack.finish(space).end, END_UNREADABLE);
  stack.from.all_registers = false;  // rcx is not known
  EXPECT_EQ(stack.finish(space).end, END_DEFERRED_FAILED);
}

TEST(FinishWalk, NativeToJitToNativeAndTableLess) {
  TestSpace space({kPlain, {0x0e, 16, 0x86, 2}, kOutermost});
  Stack stack;
  stack.from.ip = kCode;
  stack.from.gpr[6] = kStack + 32;    // the JIT frame's rbp
  stack.words[0] = kJit + 0x10;       // the leaf was called by JIT code
  stack.words[4] = kStack + 80;       // JIT frame: saved rbp, return address into code without CFI
  stack.words[5] = kNoCfi + 0x20;
  stack.words[10] = 0x1234;           // its frame: saved rbp, back to native
  stack.words[11] = kCode + 0x110;
  stack.words[12] = 0;                // native: rbp at cfa - 16, return address at cfa - 8
  stack.words[13] = kCode + 0x201;
  const DeferredStack result = stack.finish(space);
  EXPECT_EQ(result.end, END_DEFERRED);
  ASSERT_EQ(result.frames.size(), 5u);
  EXPECT_EQ(result.frames[1], frame_at(FRAME_JIT, kJit + 0xf));
  EXPECT_EQ(result.frames[2], frame_in_image(10, 0x1f));

  stack.from.mode = UNWIND_TABLE;
  const DeferredStack by_table = stack.finish(space);
  EXPECT_EQ(by_table.end, END_NO_RULE);
  EXPECT_EQ(by_table.frames.size(), 2u);
  stack.from.mode = UNWIND_FRAME_POINTER;
  const DeferredStack by_frame_pointer = stack.finish(space);  // the leaf's rule is not asked: on to what rbp tells
  ASSERT_GE(by_frame_pointer.frames.size(), 2u);
  EXPECT_EQ(by_frame_pointer.frames[1], frame_in_image(10, 0x1f));
}

TEST(FinishWalk, EndsSayWhy) {
  TestSpace space({kPlain});
  Stack nowhere;
  nowhere.from.ip = 0x1000;
  EXPECT_EQ(nowhere.finish(space).end, END_DEFERRED_FAILED);
  Stack left;
  left.from.ip = kCode;
  left.words[0] = 0x1000;
  EXPECT_EQ(left.finish(space).end, END_UNMAPPED_PC);
  Stack zero;
  zero.from.ip = kCode;
  EXPECT_EQ(zero.finish(space).end, END_DEFERRED);  // a zero return address
  Stack endless;
  endless.from.ip = kCode;
  for (auto& word : endless.words) word = kCode + 1;
  const DeferredStack result = endless.finish(space);
  EXPECT_EQ(result.end, END_UNREADABLE);  // the copy is over
  EXPECT_EQ(result.frames.size(), 65u);
  endless.words.assign(4096, kCode + 1);
  EXPECT_EQ(endless.finish(space).end, END_DEPTH_LIMIT);
}

TEST(FinishWalk, ThirtyTwoBitByFramePointer) {
  TestSpace space({});
  Stack stack;
  stack.from.is_32_bit = true;
  stack.from.gpr[7] = 0xffff1000;
  stack.from.gpr[6] = 0xffff1008;
  stack.from.ip = 0x08049000;
  stack.words[1] = uint64_t{0x08049100} << 32 | 0xffff1010;
  const DeferredStack result = stack.finish(space);
  EXPECT_EQ(result.end, END_DEFERRED);
  ASSERT_EQ(result.frames.size(), 2u);
  EXPECT_EQ(result.frames[1], frame_at(FRAME_USER_32, 0x080490ff));
}

// By hand, so that no function stands between these registers and this frame.
[[gnu::noinline]] void walk_here(int depth, std::vector<uint64_t>& ours, end_reason& end, std::vector<uint64_t>& theirs) {
  if (depth > 0) {
    walk_here(depth - 1, ours, end, theirs);
    asm volatile("" ::: "memory");  // no tail call
    return;
  }
  OwnSpace space;
  static uint8_t stack[1 << 20];  // AddressSanitizer makes frames of 5 KiB
  StackCopy from;
  asm volatile(
      "movq %%rbx, 24(%0)\n movq %%rbp, 48(%0)\n movq %%rsp, 56(%0)\n movq %%r12, 96(%0)\n movq %%r13, 104(%0)\n"
      "movq %%r14, 112(%0)\n movq %%r15, 120(%0)\n leaq (%%rip), %%rax\n movq %%rax, %1\n"
      :
      : "r"(from.gpr), "m"(from.ip)
      : "rax", "memory");
  from.exact_ip = true;
  uint64_t size = 0;
  {  // to the end of the stack's mapping
    std::ifstream maps("/proc/self/maps");
    for (std::string line; std::getline(maps, line);) {
      const uint64_t begin = std::stoull(line, nullptr, 16), to = std::stoull(line.substr(line.find('-') + 1), nullptr, 16);
      if (begin <= from.gpr[7] && from.gpr[7] < to) size = std::min<uint64_t>(sizeof stack, to - from.gpr[7]);
    }
  }
  {  // through the kernel: sanitizers object to a look between variables
    iovec to{stack, size}, of{reinterpret_cast<void*>(from.gpr[7]), size};
    ASSERT_EQ(::process_vm_readv(::getpid(), &to, 1, &of, 1, 0), static_cast<ssize_t>(size));
  }
  from.stack = Bytes(stack, size);
  const DeferredStack result = finish_walk(from, space);
  end = result.end;
  for (const uint64_t frame : result.frames) ours.push_back(space.bias_of(frame_image_of(frame)) + frame_link_address_of(frame));
  // What backtrace() does; between it and this frame sanitizers put one of their own.
  _Unwind_Backtrace(
      [](_Unwind_Context* context, void* to) {
        if (const uintptr_t ip = _Unwind_GetIP(context); ip != 0) static_cast<std::vector<uint64_t>*>(to)->push_back(ip);
        return _URC_NO_REASON;
      },
      &theirs);
}

TEST(FinishWalk, OwnStackEqualsBacktrace) {
  std::vector<uint64_t> ours, theirs;
  end_reason end = END_NONE;
  walk_here(100, ours, end, theirs);
  EXPECT_EQ(end, END_DEFERRED);
  ASSERT_EQ(ours.size(), theirs.size());
  EXPECT_GT(ours.size(), 100u);
  for (size_t i = 1; i < ours.size(); ++i) EXPECT_EQ(ours[i] + 1, theirs[i]) << i;
}

}  // namespace
}  // namespace cicada::unwind
