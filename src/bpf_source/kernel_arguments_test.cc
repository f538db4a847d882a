// SPDX-License-Identifier: Apache-2.0
// Types are written here, as pahole writes them for the kernel.
#include "bpf_source/kernel_arguments.h"

#include <bpf/btf.h>
#include <gtest/gtest.h>
#include <sys/user.h>

#include <memory>

namespace cicada::bpf_source {
namespace {

using symbolize::ParameterProblem;

class Types {
 public:
  Types() : types_(::btf__new_empty(), &::btf__free) {
    number = ::btf__add_int(types_.get(), "int", 4, BTF_INT_SIGNED);
    wide = ::btf__add_int(types_.get(), "unsigned long", 8, 0);
    named = ::btf__add_typedef(types_.get(), "size_t", ::btf__add_const(types_.get(), wide));
    pointer = ::btf__add_ptr(types_.get(), 0);
    small = ::btf__add_struct(types_.get(), "small", 16);
    large = ::btf__add_struct(types_.get(), "large", 24);
  }
  void add(const char* name, int returned, std::initializer_list<std::pair<const char*, int>> parameters) {
    const int prototype = ::btf__add_func_proto(types_.get(), returned);
    for (const auto& [parameter, type] : parameters) ::btf__add_func_param(types_.get(), parameter, type);
    ::btf__add_func(types_.get(), name, BTF_FUNC_STATIC, prototype);
  }
  KernelTypes get() const {
    uint32_t bytes = 0;
    const auto* raw = static_cast<const uint8_t*>(::btf__raw_data(types_.get(), &bytes));
    return *KernelTypes::parse({raw, bytes});
  }
  int number, wide, named, pointer, small, large;

 private:
  std::unique_ptr<btf, void (*)(btf*)> types_;
};

TEST(KernelArguments, AreInTheRegistersOfTheCallingConvention) {
  Types types;
  types.add("vfs", types.wide, {{"file", types.pointer}, {"count", types.named}, {"flags", types.number}});
  const auto found = describe_kernel_function(types.get(), "vfs");
  ASSERT_TRUE(found.is_described);
  ASSERT_EQ(found.parameters.size(), 3U);
  EXPECT_EQ(found.parameters[0].place.offset, offsetof(user_regs_struct, rdi));
  EXPECT_EQ(found.parameters[1].name, "count");
  EXPECT_EQ(found.parameters[1].place.offset, offsetof(user_regs_struct, rsi));
  EXPECT_EQ(found.parameters[1].place.bytes, 8);
  EXPECT_EQ(found.parameters[1].place.is_signed, 0);
  EXPECT_EQ(found.parameters[2].place.offset, offsetof(user_regs_struct, rdx));
  EXPECT_EQ(found.parameters[2].place.bytes, 4);
  EXPECT_EQ(found.parameters[2].place.is_signed, 1);
  EXPECT_FALSE(describe_kernel_function(types.get(), "vsf").is_described);
  EXPECT_FALSE(describe_kernel_function(types.get(), "size_t").is_described);
}

TEST(KernelArguments, BehindStructsAreKnownWhereTheseTakeNoRegister) {
  Types types;
  types.add("returns", types.large, {{"first", types.number}});
  types.add("takes", 0, {{"all", types.large}, {"first", types.number}});
  types.add("unsure", 0, {{"first", types.number}, {"few", types.small}, {"second", types.number}});
  types.add("returns_small", types.small, {{"first", types.number}});
  types.add("many", 0, {{"a", types.number}, {"b", types.number}, {"c", types.number}, {"d", types.number}, {"e", types.number}, {"f", types.number}, {"g", types.number}, {nullptr, 0}});
  EXPECT_EQ(describe_kernel_function(types.get(), "returns").parameters.at(0).place.offset, offsetof(user_regs_struct, rsi));
  const auto takes = describe_kernel_function(types.get(), "takes").parameters;
  EXPECT_EQ(takes.at(0).problem, ParameterProblem::kNoNumber);
  EXPECT_EQ(takes.at(1).place.offset, offsetof(user_regs_struct, rdi));
  const auto unsure = describe_kernel_function(types.get(), "unsure").parameters;
  EXPECT_EQ(unsure.at(0).problem, ParameterProblem::kNone);
  EXPECT_EQ(unsure.at(2).problem, ParameterProblem::kUncertain);
  EXPECT_EQ(describe_kernel_function(types.get(), "returns_small").parameters.at(0).problem, ParameterProblem::kUncertain);
  const auto many = describe_kernel_function(types.get(), "many").parameters;
  ASSERT_EQ(many.size(), 7U);
  EXPECT_EQ(many[5].place.offset, offsetof(user_regs_struct, r9));
  EXPECT_EQ(many[6].problem, ParameterProblem::kUncertain);
}

}  // namespace
}  // namespace cicada::bpf_source
