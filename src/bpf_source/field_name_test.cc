// SPDX-License-Identifier: Apache-2.0
#include "bpf_source/field_name.h"

#include <gtest/gtest.h>

namespace cicada::bpf_source {
namespace {

TEST(FieldNames, AreNamesOrTheirLowBits) {
  EXPECT_EQ(parse_field_name("count")->name, "count");
  EXPECT_EQ(parse_field_name("count")->bytes, 0);
  EXPECT_EQ(parse_field_name("s32(arg0)")->name, "arg0");
  EXPECT_EQ(parse_field_name("s32(arg0)")->bytes, 4);
  EXPECT_TRUE(parse_field_name("s32(arg0)")->is_signed);
  EXPECT_FALSE(parse_field_name("u8(arg0)")->is_signed);
  for (const char* text : {"", "(", "s32", "s32()", "s33(x)", "f32(x)", "s32(x", "s32((x))", "u8)", "a-b"})
    EXPECT_EQ(parse_field_name(text).has_value(), std::string_view(text) == "s32") << text;
}

TEST(FieldNames, OfAFunctionAreRegisters) {
  const auto offset = [](std::string_view name, bool at_return) -> int {
    const auto found = find_register(*parse_field_name(name), at_return);
    return found ? found->offset : -1;
  };
  // struct pt_regs: fifteen registers of eight bytes, from r15 on.
  EXPECT_EQ(offset("arg0", false), 14 * 8);
  EXPECT_EQ(offset("arg1", false), 13 * 8);
  EXPECT_EQ(offset("arg2", false), 12 * 8);
  EXPECT_EQ(offset("arg3", false), 11 * 8);
  EXPECT_EQ(offset("arg4", false), 9 * 8);
  EXPECT_EQ(offset("arg5", false), 8 * 8);
  EXPECT_EQ(offset("retval", true), 10 * 8);
  EXPECT_EQ(offset("retval", false), -1);
  EXPECT_EQ(offset("arg0", true), -1);
  EXPECT_EQ(offset("arg6", false), -1);
  EXPECT_EQ(find_register(*parse_field_name("s32(retval)"), true)->bytes, 4);
  EXPECT_FALSE(low_part({0, 4, 1}, *parse_field_name("u64(x)")));
}

}  // namespace
}  // namespace cicada::bpf_source
