// SPDX-License-Identifier: Apache-2.0
#include "unwind/x86_64/start_code.h"

#include <gtest/gtest.h>

namespace cicada::unwind {
namespace {

using Code = std::vector<uint8_t>;

// CFA − rsp at each byte; 0 where nothing is said. `pushed_rbp`: what 16 bytes hold besides the return address.
std::vector<int> depths(const std::vector<CodeRule>& rules, size_t size, bool pushed_rbp) {
  std::vector<int> depth(size);
  for (const CodeRule& rule : rules) {
    for (size_t i = rule.begin; i < rule.end; ++i) {
      EXPECT_EQ(depth.at(i), 0) << "two rules for byte " << i;
      depth[i] = rule.rule.cfa_offset;
      EXPECT_EQ(rule.rule.saved[SAVED_RBP], pushed_rbp && rule.rule.cfa_offset == 16 ? -2 : 0);
    }
  }
  return depth;
}

TEST(FindInitRules, FollowsGlibcAndMusl) {
  const Code glibc = {0xf3, 0x0f, 0x1e, 0xfa, 0x48, 0x83, 0xec, 8, 0x48, 0x8b, 5, 1, 2, 3, 4, 0x48, 0x83, 0xc4, 8, 0xc3};
  std::vector<int> expected(glibc.size(), 16);
  for (size_t i = 0; i < 8; ++i) expected[i] = 8;
  expected.back() = 8;
  EXPECT_EQ(depths(find_init_rules(glibc), glibc.size(), false), expected);
  const Code musl = {0x50, 0x58, 0xc3};
  EXPECT_EQ(depths(find_init_rules(musl), musl.size(), false), (std::vector<int>{8, 16, 8}));
}

TEST(FindInitRules, SaysNothingOfOtherCode) {
  EXPECT_TRUE(find_init_rules({}).empty());
  EXPECT_TRUE(find_init_rules(Code{0x48, 0x83, 0xec, 8}).empty());
  EXPECT_TRUE(find_init_rules(Code{0x50, 0xc3}).empty());
  EXPECT_TRUE(find_init_rules(Code{0x48, 0x83, 0xec, 24, 0x48, 0x83, 0xc4, 24, 0xc3}).empty());
}

// crtbeginS.o of GCC 12, as linked (objdump -d of a shared library).
Code crtbegin_shared() {
  return {0x48, 0x8d, 0x3d, 0x21, 0x90, 0, 0, 0x48, 0x8d, 5, 0x1a, 0x90, 0, 0, 0x48, 0x39, 0xf8, 0x74, 0x15, 0x48, 0x8b, 5, 0x3e, 0x80, 0, 0,
          0x48, 0x85, 0xc0, 0x74, 9, 0xff, 0xe0, 0xf, 0x1f, 0x80, 0, 0, 0, 0, 0xc3, 0xf, 0x1f, 0x80, 0, 0, 0, 0,
          0x48, 0x8d, 0x3d, 0xf1, 0x8f, 0, 0, 0x48, 0x8d, 0x35, 0xea, 0x8f, 0, 0, 0x48, 0x29, 0xfe, 0x48, 0x89, 0xf0, 0x48, 0xc1, 0xee, 0x3f,
          0x48, 0xc1, 0xf8, 3, 0x48, 1, 0xc6, 0x48, 0xd1, 0xfe, 0x74, 0x14, 0x48, 0x8b, 5, 0xfc, 0x7f, 0, 0, 0x48, 0x85, 0xc0, 0x74, 8,
          0xff, 0xe0, 0x66, 0xf, 0x1f, 0x44, 0, 0, 0xc3, 0xf, 0x1f, 0x80, 0, 0, 0, 0,
          0xf3, 0xf, 0x1e, 0xfa, 0x80, 0x3d, 0xad, 0x8f, 0, 0, 0, 0x75, 0x2b, 0x55, 0x48, 0x83, 0x3d, 0xc2, 0x7f, 0, 0, 0, 0x48, 0x89, 0xe5,
          0x74, 0xc, 0x48, 0x8b, 0x3d, 0x96, 0x8f, 0, 0, 0xe8, 0x59, 0xff, 0xff, 0xff, 0xe8, 0x64, 0xff, 0xff, 0xff, 0xc6, 5, 0x85, 0x8f, 0, 0, 1,
          0x5d, 0xc3, 0xf, 0x1f, 0, 0xc3, 0xf, 0x1f, 0x80, 0, 0, 0, 0,
          0xf3, 0xf, 0x1e, 0xfa, 0xe9, 0x77, 0xff, 0xff, 0xff, 0xf, 0x1f, 0x80, 0, 0, 0, 0};
}

TEST(FindCrtbeginRules, FollowsASharedLibrary) {
  const Code code = crtbegin_shared();
  ASSERT_EQ(code.size(), 192u);
  const std::vector<int> depth = depths(find_crtbegin_rules(code, 0), code.size(), true);
  EXPECT_EQ(depth[0], 8);       // deregister_tm_clones
  EXPECT_EQ(depth[0x30], 8);    // register_tm_clones
  EXPECT_EQ(depth[0x70], 8);    // __do_global_dtors_aux
  EXPECT_EQ(depth[0x7d], 8);    // its push
  EXPECT_EQ(depth[0x7e], 16);
  EXPECT_EQ(depth[0xa3], 16);   // its pop
  EXPECT_EQ(depth[0xa4], 8);    // ret
  EXPECT_EQ(depth[0xa8], 8);    // the other ret
  EXPECT_EQ(depth[0xb0], 8);    // frame_dummy
  EXPECT_EQ(depth[0xb8], 8);
  EXPECT_EQ(depth[0xb9], 0);
}

TEST(FindCrtbeginRules, TheSameBehindOtherCodeWithoutCfi) {
  Code code(37, 0x90);
  const Code start = crtbegin_shared();
  code.insert(code.end(), start.begin(), start.end());
  const std::vector<int> depth = depths(find_crtbegin_rules(code, 16 - 37 % 16), code.size(), true);
  EXPECT_EQ(depth[36], 0);
  EXPECT_EQ(depth[37], 8);
  EXPECT_EQ(depth[37 + 0x7e], 16);
  EXPECT_EQ(depth[37 + 0xb0], 8);
}

TEST(FindCrtbeginRules, NoLengthOfItIsReadBeyondItsEnd) {
  const Code code = crtbegin_shared();
  for (size_t size = 0; size <= code.size(); ++size) {
    const Code part(code.begin(), code.begin() + static_cast<ptrdiff_t>(size));  // exact allocation: ASan sees one byte too many
    depths(find_crtbegin_rules(part, 0), part.size(), true);
  }
}

}  // namespace
}  // namespace cicada::unwind
