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
  event_field four{};
  four.bytes = 4;
  EXPECT_FALSE(low_part(four, *parse_field_name("u64(x)")));
}

TEST(FieldNames, OfAUsdtProbeAreArguments) {
  EXPECT_EQ(find_argument(*parse_field_name("arg0"))->bytes, WHOLE_ARGUMENT);
  EXPECT_EQ(find_argument(*parse_field_name("arg11"))->offset, 11);
  EXPECT_EQ(find_argument(*parse_field_name("s32(arg3)"))->bytes, 4);
  EXPECT_TRUE(find_argument(*parse_field_name("s32(arg3)"))->is_signed);
  for (const char* name : {"arg12", "arg", "arg01", "retval", "arg-1"}) EXPECT_FALSE(find_argument({name})) << name;
}

TEST(FieldNames, AreBoundToWhereAPlaceHasThem) {
  event_field in_register{}, constant{}, unreadable{};
  in_register.offset = 112;
  in_register.bytes = 4;
  in_register.is_signed = 1;
  constant.kind = FIELD_CONSTANT;
  constant.bytes = 8;
  constant.number = 7;
  const event_field arguments[] = {in_register, constant, unreadable};
  const auto bind = [&](const char* name) {
    event_fields fields{};
    fields.value = *find_argument(*parse_field_name(name));
    fields.filters = 1;
    fields.filter[0].field = fields.value;
    EXPECT_EQ(bind_arguments(fields, arguments), ArgumentProblem::kNone) << name;
    EXPECT_EQ(fields.filter[0].field.bytes, fields.value.bytes);
    return fields.value;
  };
  EXPECT_EQ(bind("arg0").offset, 112);
  EXPECT_EQ(bind("arg0").bytes, 4);
  EXPECT_TRUE(bind("arg0").is_signed);
  EXPECT_EQ(bind("u8(arg0)").bytes, 1);
  EXPECT_FALSE(bind("u8(arg0)").is_signed);
  EXPECT_FALSE(bind("u32(arg0)").is_signed);
  EXPECT_EQ(bind("s64(arg0)").bytes, 4) << "no more than there is";
  EXPECT_TRUE(bind("s64(arg0)").is_signed);
  EXPECT_EQ(bind("arg1").kind, FIELD_CONSTANT);
  EXPECT_EQ(bind("arg1").number, 7);
  event_fields fields{};
  EXPECT_EQ(bind_arguments(fields, {}), ArgumentProblem::kNone) << "nothing is asked";
  fields.group = *find_argument(*parse_field_name("arg2"));
  EXPECT_EQ(bind_arguments(fields, arguments), ArgumentProblem::kUnreadable);
  fields.group = *find_argument(*parse_field_name("arg3"));
  EXPECT_EQ(bind_arguments(fields, arguments), ArgumentProblem::kMissing);
}

}  // namespace
}  // namespace cicada::bpf_source
