// SPDX-License-Identifier: Apache-2.0
#include "abi/java_lookup.h"

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <string_view>
#include <vector>

namespace cicada::unwind {
namespace {

// Memory of a process: pieces by address.
struct Memory {
  std::map<uint64_t, std::vector<uint8_t>> pieces;
  void put(uint64_t address, std::string_view bytes) { pieces[address].assign(bytes.begin(), bytes.end()); }
  bool read(uint64_t address, void* to, size_t size) const {
    auto at = pieces.upper_bound(address);
    if (at == pieces.begin()) return false;
    --at;
    if (address - at->first + size > at->second.size()) return false;
    std::memcpy(to, at->second.data() + (address - at->first), size);
    return true;
  }
};

}  // namespace
}  // namespace cicada::unwind

static inline int java_code_read(void* reader, __u64 address, void* to, __u32 bytes) {
  return static_cast<const cicada::unwind::Memory*>(reader)->read(address, to, bytes) ? 0 : 1;
}

namespace cicada::unwind {
namespace {

constexpr uint64_t kHeap = 0x7f0000000000, kSegments = 0x7e0000000000, kNames = 0x7d0000000000;
constexpr uint64_t kHeapBytes = 0x8000, kSegment = 128, kHeader = 16, kCode = 0x100;  // of the blob, from its CodeBlob on

// A heap of blocks, one after the other.
class JavaLookup : public testing::Test {
 protected:
  JavaLookup() {
    code_.heaps[0] = {kHeap, kHeap + kHeapBytes, kSegments};
    code_.segment_shift = 7;
    code_.block_header_bytes = kHeader;
    code_.name = {8, 8, 0};
    code_.frame_size = {16, 4, 1};
    code_.code_begin = {24, 8, 0};
    code_.frame_complete = {20, 4, 1};
    heap_.assign(kHeapBytes, 0xcc);
    segments_.assign(kHeapBytes / kSegment, 0xff);
  }
  // Of so many segments. Its code's address.
  uint64_t add(const char* name, int32_t frame_words, int32_t frame_complete, std::vector<uint8_t> code, size_t segments = 8) {
    const uint64_t begin = used_ * kSegment, blob = begin + kHeader;
    for (size_t i = 0; i < segments; ++i) segments_[used_ + i] = i == 0 ? 0 : static_cast<uint8_t>(i < 5 ? i : 4);  // the far ones hop
    used_ += segments;
    const uint64_t text = kNames + 64 * texts_.size(), code_begin = kHeap + blob + kCode;
    texts_.emplace_back(name).resize(64);
    std::memcpy(&heap_[blob + 8], &text, 8);
    std::memcpy(&heap_[blob + 16], &frame_words, 4);
    std::memcpy(&heap_[blob + 20], &frame_complete, 4);
    std::memcpy(&heap_[blob + 24], &code_begin, 8);
    std::copy(code.begin(), code.end(), &heap_[blob + kCode]);
    return code_begin;
  }
  int find(uint64_t address) {
    Memory memory;
    memory.pieces[kHeap] = heap_;
    memory.pieces[kSegments] = segments_;
    for (size_t i = 0; i < texts_.size(); ++i) memory.put(kNames + 64 * i, texts_[i]);
    std::memset(&rule_, 0xee, sizeof rule_);
    java_reading reading{};
    return java_code_rule(&memory, &code_, address, &reading, &rule_);
  }
  void expect_pushed(uint64_t address, int bytes, bool saves = true) {
    ASSERT_EQ(find(address), END_NONE) << std::hex << address;
    EXPECT_EQ(rule_.cfa_kind, CFA_OFFSET);
    EXPECT_EQ(rule_.cfa_reg, ARCH_SP);
    EXPECT_EQ(rule_.cfa_offset, bytes) << std::hex << address;
    for (int i = 0; i < SAVED_COUNT; ++i) EXPECT_EQ(rule_.saved[i], i == ARCH_SAVED_FP && bytes > 8 && saves ? -2 : 0);
    EXPECT_EQ(rule_.via_base, 0);
  }

  java_code code_{};
  std::vector<uint8_t> heap_, segments_;
  std::vector<std::string> texts_;
  size_t used_ = 0;
  unwind_rule rule_{};
};

// mov %eax,-0x14000(%rsp); push %rbp; sub $0x20,%rsp; nop; call; nop; add $0x20,%rsp; pop %rbp; cmp 0x348(%r15),%rsp; ja; ret
const std::vector<uint8_t> kMethod = {0x89, 0x84, 0x24, 0x00, 0xc0, 0xfe, 0xff, 0x55, 0x48, 0x83, 0xec, 0x20, 0x90, 0xe8, 0x01, 0x02, 0x03, 0x04, 0x90, 0x48,
                                      0x83, 0xc4, 0x20, 0x5d, 0x49, 0x3b, 0xa7, 0x48, 0x03, 0x00, 0x00, 0x0f, 0x87, 0x01, 0x00, 0x00, 0x00, 0xc3};

TEST_F(JavaLookup, FollowsAMethodFromItsFirstInstructionToItsLast) {
  add("nmethod", 9, 0, {});
  const uint64_t method = add("nmethod", 6, 12, kMethod);
  expect_pushed(method, 8);
  expect_pushed(method + 7, 8);    // before push
  expect_pushed(method + 8, 16);   // after it
  expect_pushed(method + 12, 48);  // the frame is complete
  expect_pushed(method + 17, 48);  // in its call: a return address - 1
  expect_pushed(method + 19, 48);
  expect_pushed(method + 23, 16);  // pop
  expect_pushed(method + 24, 8);   // looks whether to stop
  expect_pushed(method + 31, 8);
  expect_pushed(method + 37, 8);   // ret
  expect_pushed(method - 0x300, 72);
}

// The machine calls a frame complete only behind a barrier, which calls.
TEST_F(JavaLookup, HasTheWholeFrameInABarrier) {
  // push %rbp; sub $0x80,%rsp; cmpl $1,0x20(%r15); je; call
  const std::vector<uint8_t> code = {0x55, 0x48, 0x81, 0xec, 0x80, 0x00, 0x00, 0x00, 0x41, 0x81, 0x7f, 0x20, 0x01, 0x00, 0x00, 0x00, 0x74, 0x05, 0xe8, 0x00, 0x01, 0x02, 0x03};
  const uint64_t method = add("nmethod", 18, 23, code);
  expect_pushed(method, 8);
  expect_pushed(method + 1, 16);
  expect_pushed(method + 8, 144);
  expect_pushed(method + 16, 144);
  expect_pushed(method + 22, 144);
}

TEST_F(JavaLookup, KnowsOtherPrologues) {
  // push %rbp; mov %rsp,%rbp; sub $0x20,%rsp
  const uint64_t pointer = add("native nmethod", 6, 8, {0x55, 0x48, 0x8b, 0xec, 0x48, 0x83, 0xec, 0x20, 0x90});
  expect_pushed(pointer, 8);
  expect_pushed(pointer + 1, 16);
  expect_pushed(pointer + 4, 16);
  expect_pushed(pointer + 8, 48);
  // sub $0x28,%rsp; mov %rbp,0x20(%rsp)
  const uint64_t leaf = add("nmethod", 6, 12, {0x48, 0x81, 0xec, 0x28, 0x00, 0x00, 0x00, 0x48, 0x89, 0x6c, 0x24, 0x20, 0x90});
  expect_pushed(leaf, 8);
  expect_pushed(leaf + 7, 48, false);  // there is room for the frame pointer, and it is not in it
  expect_pushed(leaf + 12, 48);
}

TEST_F(JavaLookup, KnowsEpiloguesOfOlderMachines) {
  // mov n(%r15),%r10; test %eax,(%r10); ret
  const uint64_t eleven = add("nmethod", 6, 0, {0x4d, 0x8b, 0x97, 0x08, 0x01, 0x00, 0x00, 0x41, 0x85, 0x02, 0xc3});
  for (const uint64_t at : {0, 7, 10}) expect_pushed(eleven + at, 8);
  // The same in a loop.
  expect_pushed(add("nmethod", 6, 0, {0x4d, 0x8b, 0x97, 0x08, 0x01, 0x00, 0x00, 0x41, 0x85, 0x02, 0x90}), 48);
  const uint64_t eight = add("nmethod", 6, 0, {0x85, 0x05, 0x01, 0x02, 0x03, 0x04, 0xc3});
  for (const uint64_t at : {0, 6}) expect_pushed(eight + at, 8);
}

TEST_F(JavaLookup, KnowsWhatHasNoFrameOfOneSizeByItsName) {
  const uint64_t interpreter = add("Interpreter", 0, -1, {}, 40);
  for (const uint64_t at : {interpreter, interpreter + 39 * kSegment - kCode - kHeader}) {
    ASSERT_EQ(find(at), END_NONE);
    EXPECT_EQ(rule_.cfa_kind, CFA_FRAME_POINTER);
    EXPECT_EQ(rule_.cfa_reg, UNWIND_INTERPRETED_JAVA);
  }
  expect_pushed(add("I2C/C2I adapters", 0, -1, {}), 8);
  expect_pushed(add("vtable chunks", 0, -1, {}), 8);
  expect_pushed(add("MethodHandles adapters", 0, -1, {}), 8);
  expect_pushed(add("nmethod", 0, 0, {}), 8);
  expect_pushed(add("native nmethod", -1, 0, {}), 8);
  const uint64_t stub = add("StubRoutines (1)", 0, -1, {0x55, 0x48, 0x8b, 0xec, 0x90, 0xc9, 0xc5, 0xf8, 0x77, 0xc3});
  expect_pushed(stub, 8);
  expect_pushed(stub + 1, 16);
  EXPECT_EQ(find(stub + 4), END_NO_RULE);  // by its frame pointer
  EXPECT_EQ(find(stub + 5), END_NO_RULE);
  expect_pushed(stub + 6, 8);
  expect_pushed(stub + 9, 8);
}

// Runtime stubs do not say where their frame is complete.
TEST_F(JavaLookup, TakesAFrameForCompleteWhereNobodySaysWhereItIs) { expect_pushed(add("SafepointBlob", 34, -1, {0x90}), 272); }

TEST_F(JavaLookup, ReadsNumbersOfEachWidth) {
  const uint64_t method = add("nmethod", 6, 0, {0x90});
  code_.code_begin = {28, 4, 1};  // 25: an offset from the blob
  const uint64_t blob = method - kCode - kHeap;
  const int32_t offset = kCode;
  std::memcpy(&heap_[blob + 28], &offset, 4);
  const int16_t complete = -1;  // 25: of 16 bits
  std::memcpy(&heap_[blob + 20], &complete, 2);
  code_.frame_complete = {20, 2, 1};
  expect_pushed(method, 48);
  const int16_t later = 1;
  std::memcpy(&heap_[blob + 20], &later, 2);
  expect_pushed(method, 8);
}

TEST_F(JavaLookup, SaysNothingOfWhatIsNotThere) {
  const uint64_t method = add("nmethod", 6, 0, {0x90});
  EXPECT_EQ(find(kHeap - 1), END_NO_RULE);
  EXPECT_EQ(find(kHeap + kHeapBytes), END_NO_RULE);
  EXPECT_EQ(find(kHeap + kHeapBytes - 1), END_NO_RULE);  // a free segment
  segments_[1] = 2;                                     // before the heap
  EXPECT_EQ(find(kHeap + kSegment), END_NO_RULE);
  segments_.resize(1);
  EXPECT_EQ(find(kHeap + 5 * kSegment), END_UNREADABLE);
  EXPECT_EQ(find(method), END_UNREADABLE);
  code_.heaps[0] = {};
  EXPECT_EQ(find(method), END_NO_RULE);
  code_ = {};
  EXPECT_EQ(find(method), END_UNREADABLE);  // a machine that has not said it yet
}

// A chain of single steps as long as the map is followed, and not for ever.
TEST_F(JavaLookup, FollowsASegmentMapOfSingleSteps) {
  add("nmethod", 6, 0, {0x90}, 200);
  for (size_t i = 1; i < 200; ++i) segments_[i] = 1;
  EXPECT_EQ(find(kHeap + (JAVA_SEGMENT_HOPS - 1) * kSegment), END_NONE);
  EXPECT_EQ(find(kHeap + JAVA_SEGMENT_HOPS * kSegment), END_UNREADABLE);
}

// "sub $n,%rsp", wherever it is before the instruction, by a search that may branch. `length` bytes of the method are before it.
uint32_t pushed_in_prologue(const std::vector<uint8_t>& code, uint64_t length) {
  const uint8_t* const at = &code[ARCH_JAVA_CODE_BEFORE];
  const bool saves_next = at[0] == 0x48 && at[1] == 0x89 && (at[2] == 0x6c || at[2] == 0xac) && at[3] == 0x24;
  for (uint32_t i = 0; i < ARCH_JAVA_CODE_BEFORE; ++i) {
    const uint32_t bytes = code[i + 1] == 0x83 ? 4 : code[i + 1] == 0x81 ? 7 : 0;
    if (bytes == 0 || code[i] != 0x48 || code[i + 2] != 0xec || i + bytes > ARCH_JAVA_CODE_BEFORE || i + length < ARCH_JAVA_CODE_BEFORE) continue;
    return saves_next && i + bytes == ARCH_JAVA_CODE_BEFORE ? ARCH_JAVA_ROOM : ARCH_JAVA_WHOLE;
  }
  if (length >= 1 && at[-1] == 0x55) return ARCH_JAVA_POINTER;
  if (length >= 4 && at[-4] == 0x55 && at[-3] == 0x48 && at[-2] == 0x8b && at[-1] == 0xec) return ARCH_JAVA_POINTER;
  return ARCH_JAVA_RETURN;
}

TEST(JavaPrologue, IsFoundWhereverItIs) {
  const std::vector<uint8_t> bytes = {0x48, 0x83, 0xec, 0x81, 0x55, 0x8b, 0x89, 0x6c, 0xac, 0x24, 0x00};
  std::map<uint32_t, int> seen;
  uint32_t random = 1;
  const auto next = [&](uint32_t below) { return ((random = random * 1664525 + 1013904223) >> 8) % below; };
  for (int round = 0; round < 200'000; ++round) {
    std::vector<uint8_t> code(ARCH_JAVA_CODE_BEFORE + ARCH_JAVA_CODE_BYTES);
    for (uint8_t& byte : code) byte = bytes[next(static_cast<uint32_t>(bytes.size()))];
    const uint32_t place = next(ARCH_JAVA_CODE_BEFORE - 2);
    if (round % 4 != 0) code[place] = 0x48, code[place + 1] = round % 2 == 0 ? 0x83 : 0x81, code[place + 2] = 0xec;
    if (round % 3 == 0) code[ARCH_JAVA_CODE_BEFORE] = 0x48, code[ARCH_JAVA_CODE_BEFORE + 1] = 0x89, code[ARCH_JAVA_CODE_BEFORE + 2] = 0x6c, code[ARCH_JAVA_CODE_BEFORE + 3] = 0x24;
    const uint64_t length = round % 5 == 0 ? 1'000 : next(36);
    const uint32_t expected = pushed_in_prologue(code, length);
    ASSERT_EQ(arch_java_pushed_in_prologue(code.data(), length), expected) << "round " << round << ", length " << length;
    ++seen[expected];
  }
  for (const uint32_t each : {ARCH_JAVA_WHOLE, ARCH_JAVA_ROOM, ARCH_JAVA_RETURN, ARCH_JAVA_POINTER}) EXPECT_GT(seen[each], 1'000) << each;
}

}  // namespace
}  // namespace cicada::unwind
