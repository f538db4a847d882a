// SPDX-License-Identifier: Apache-2.0
#include "dwarf/call_frame_section.h"

#include <gtest/gtest.h>

#include "dwarf/cfi_builder_for_test.h"

namespace cicada::dwarf {
namespace {

struct Read {
  std::vector<Fde> fdes;
  std::vector<Cie> cies;
  uint64_t malformed = 0;
};

Read read_all(Bytes bytes, FrameFormat format = FrameFormat::kEhFrame, uint64_t address = 0) {
  CallFrameSection section;
  section.bytes = bytes;
  section.address = LinkAddr(address);
  section.format = format;
  FdeReader reader(section);
  Read read;
  while (auto fde = reader.next()) read.fdes.push_back(*fde);
  read.cies = reader.cies();
  read.malformed = reader.malformed();
  return read;
}

TEST(FdeReader, ReadsBothFormatsInBothWidths) {
  for (const bool debug : {false, true}) {
    for (const bool wide : {false, true}) {
      CfiBuilder cfi(debug, wide);
      const uint64_t cie = cfi.add_cie();
      cfi.add_fde(cie, 0x1000, 0x20);
      cfi.add_fde(cie, 0x2000, 0x30, {0x41});
      const Read read = read_all(cfi.bytes(), debug ? FrameFormat::kDebugFrame : FrameFormat::kEhFrame);
      ASSERT_EQ(read.fdes.size(), 2u) << debug << wide;
      EXPECT_EQ(read.fdes[1].begin, LinkAddr(0x2000));
      EXPECT_EQ(read.fdes[1].size, 0x30u);
      EXPECT_EQ(read.fdes[1].program_end - read.fdes[1].program_begin, 1u);
      EXPECT_EQ(read.cies.size(), 1u);
      EXPECT_EQ(read.malformed, 0u);
    }
  }
}

TEST(FdeReader, ReadsOnBehindATerminator) {
  CfiBuilder cfi;
  cfi.add_fde(cfi.add_cie(), 0x1000, 0x20);
  cfi.add_terminator();
  cfi.add_fde(cfi.add_cie(), 0x3000, 0x20);
  EXPECT_EQ(read_all(cfi.bytes()).fdes.size(), 2u);
}

TEST(FdeReader, KnowsSignalFrames) {
  CfiBuilder cfi;
  cfi.add_fde(cfi.add_cie({}, "zRS"), 0x1000, 0x20);
  const Read read = read_all(cfi.bytes());
  ASSERT_EQ(read.fdes.size(), 1u);
  EXPECT_TRUE(read.cies[0].signal_frame);
}

TEST(FdeReader, FdeThatIsItsOwnCieIsMalformed) {
  CfiBuilder cfi;
  std::vector<uint8_t> body;
  CfiBuilder::put(body, 4, 4);  // back to this very entry
  CfiBuilder::put(body, 0x1000, 8);
  CfiBuilder::put(body, 0x10, 8);
  cfi.add_entry(body);
  const Read read = read_all(cfi.bytes());
  EXPECT_TRUE(read.fdes.empty());
  EXPECT_EQ(read.malformed, 1u);
}

TEST(FdeReader, CieOutOfTheSectionIsMalformed) {
  CfiBuilder cfi;
  std::vector<uint8_t> body;
  CfiBuilder::put(body, 0x7fffffff, 4);
  cfi.add_entry(body);
  EXPECT_EQ(read_all(cfi.bytes()).malformed, 1u);
}

TEST(FdeReader, LengthOutOfTheSectionEndsItOnce) {
  CfiBuilder cfi;
  cfi.add_fde(cfi.add_cie(), 0x1000, 0x20);
  CfiBuilder::put(cfi.bytes(), 0xfffffff0, 4);
  CfiBuilder::put(cfi.bytes(), 1, 4);
  const Read read = read_all(cfi.bytes());
  EXPECT_EQ(read.fdes.size(), 1u);
  EXPECT_EQ(read.malformed, 1u);
}

TEST(FdeReader, UnknownAugmentationIsSkippedOnlyWithALength) {
  CfiBuilder with;
  with.add_fde(with.add_cie({}, "zXR"), 0x1000, 0x20);
  EXPECT_EQ(read_all(with.bytes()).fdes.size(), 1u);
  CfiBuilder without;
  without.add_fde(without.add_cie({}, "X"), 0x1000, 0x20, {}, false);
  EXPECT_EQ(read_all(without.bytes()).malformed, 1u);
}

// 20,000 FDEs, each pointing at another offset of one large entry that parses as a CIE everywhere: every CIE is as long as the rest of
// the section, so reading them all would take 20,000 x 1 MB.
TEST(FdeReader, OverlappingCiesAreBounded) {
  CfiBuilder cfi;
  std::vector<uint8_t>& bytes = cfi.bytes();
  constexpr uint64_t kStep = 16, kCies = 20000, kTail = 1 << 20;
  for (uint64_t i = 0; i < kCies; ++i) {
    std::vector<uint8_t> body;
    CfiBuilder::put(body, 0, 4);
    body.insert(body.end(), {1, 0, 1, 0x78, 16, 0, 0, 0});
    CfiBuilder::put(bytes, (kCies - i) * kStep - 4 + kTail, 4);  // up to the end of the tail
    bytes.insert(bytes.end(), body.begin(), body.end());
  }
  bytes.resize(bytes.size() + kTail, 0);
  // The first entry swallows all others: the FDEs are behind the tail.
  for (uint64_t i = 0; i < kCies; ++i) cfi.add_fde(i * kStep, 0x1000 + i, 1, {}, false);
  const Read read = read_all(bytes);
  EXPECT_LT(read.fdes.size(), 10u);
  EXPECT_GT(read.malformed, kCies - 10);
}

TEST(ReadPointer, FollowsEveryEncoding) {
  const std::vector<uint8_t> bytes = {0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x12};
  PointerBases bases;
  bases.section = LinkAddr(0x1000);
  bases.data = LinkAddr(0x2000);
  const auto read = [&](uint8_t encoding, uint64_t at = 0) {
    ByteCursor cursor{Bytes(bytes), at};
    return read_pointer(cursor, encoding, bases);
  };
  EXPECT_EQ(read(kAbsolute), 0xfffffffffffffffe);
  EXPECT_EQ(read(kUdata2), 0xfffeu);
  EXPECT_EQ(read(kSdata2), 0xfffffffffffffffe);
  EXPECT_EQ(read(kUdata4), 0xfffffffeu);
  EXPECT_EQ(read(kPcRelative | kSdata4), 0xffeu);
  EXPECT_EQ(read(kDataRelative | kSdata4), 0x1ffeu);
  EXPECT_EQ(read(kPcRelative | kUleb128, 8), 0x1008u + 0x12);
  EXPECT_EQ(read(kOmitted), std::nullopt);
  EXPECT_EQ(read(kIndirect), std::nullopt);
  EXPECT_EQ(read(kAbsolute, 5), std::nullopt);
}

}  // namespace
}  // namespace cicada::dwarf
