// SPDX-License-Identifier: Apache-2.0
#include "bpf_source/kernel_places.h"

#include <bpf/btf.h>
#include <gtest/gtest.h>
#include <linux/bpf.h>

namespace cicada::bpf_source {
namespace {

// long f(int count, const small_t letter, struct pair both, unsigned long long rest), void g(void), and a tracepoint of (void *, bool, struct task *, int).
std::vector<uint8_t> types_of_a_kernel() {
  const std::unique_ptr<btf, void (*)(btf*)> types(::btf__new_empty(), &::btf__free);
  btf* const to = types.get();
  const int whole = ::btf__add_int(to, "int", 4, BTF_INT_SIGNED), letter = ::btf__add_int(to, "char", 1, 0), large = ::btf__add_int(to, "unsigned long long", 8, 0),
            signed_large = ::btf__add_int(to, "long", 8, BTF_INT_SIGNED), truth = ::btf__add_int(to, "_Bool", 1, BTF_INT_BOOL);
  const int constant = ::btf__add_const(to, ::btf__add_typedef(to, "small_t", letter));
  const int pair = ::btf__add_struct(to, "pair", 16);
  const int task = ::btf__add_ptr(to, ::btf__add_struct(to, "task", 64)), anything = ::btf__add_ptr(to, 0);
  const int f = ::btf__add_func_proto(to, signed_large);
  ::btf__add_func_param(to, "count", whole);
  ::btf__add_func_param(to, "letter", constant);
  ::btf__add_func_param(to, "both", pair);
  ::btf__add_func_param(to, "rest", large);
  ::btf__add_func(to, "f", BTF_FUNC_GLOBAL, f);
  ::btf__add_func(to, "g", BTF_FUNC_GLOBAL, ::btf__add_func_proto(to, 0));
  const int passed = ::btf__add_func_proto(to, 0);
  ::btf__add_func_param(to, nullptr, anything);
  ::btf__add_func_param(to, nullptr, truth);
  ::btf__add_func_param(to, nullptr, task);
  ::btf__add_func_param(to, nullptr, whole);
  ::btf__add_typedef(to, "btf_trace_passed", ::btf__add_ptr(to, passed));
  const int loop = ::btf__add_typedef(to, "loop", ::btf__type_cnt(to));  // of itself
  const int odd = ::btf__add_func_proto(to, loop);
  ::btf__add_func_param(to, "round", loop);
  ::btf__add_func(to, "odd", BTF_FUNC_GLOBAL, odd);
  uint32_t bytes = 0;
  const auto* raw = static_cast<const uint8_t*>(::btf__raw_data(to, &bytes));
  return {raw, raw + bytes};
}

class KernelPlaces : public testing::Test {
 protected:
  const KernelTypes types_ = *KernelTypes::parse(types_of_a_kernel());
};

TEST_F(KernelPlaces, ArgumentsAreOfTheSizeOfTheirType) {
  const KernelSignature f = *types_.find_function("f");
  ASSERT_EQ(f.arguments.size(), 4U);
  const event_field count = *find_field(f, false, "count"), letter = *find_field(f, false, "letter"), rest = *find_field(f, false, "rest");
  EXPECT_EQ(count.offset, 0);
  EXPECT_EQ(count.bytes, 4);
  EXPECT_TRUE(count.is_signed);
  EXPECT_EQ(letter.offset, 8);
  EXPECT_EQ(letter.bytes, 1);
  EXPECT_FALSE(letter.is_signed);
  EXPECT_EQ(rest.offset, 32) << "behind a structure of sixteen bytes";
  EXPECT_EQ(find_field(f, false, "arg3")->offset, 32);
  EXPECT_EQ(find_field(f, false, "u16(count)")->bytes, 2);
  EXPECT_FALSE(find_field(f, false, "u16(count)")->is_signed);
}

TEST_F(KernelPlaces, WhatAFunctionReturnsIsBehindItsArguments) {
  const KernelSignature f = *types_.find_function("f");
  const event_field result = *find_field(f, true, "retval");
  EXPECT_EQ(result.offset, 40);
  EXPECT_EQ(result.bytes, 8);
  EXPECT_TRUE(result.is_signed);
  EXPECT_FALSE(find_field(f, false, "retval")) << "where it begins";
  EXPECT_FALSE(find_field(*types_.find_function("g"), true, "retval")) << "of a function that returns nothing";
}

TEST_F(KernelPlaces, WhoListensToATracepointIsNoArgument) {
  const KernelSignature passed = *types_.find_tracepoint("passed");
  ASSERT_EQ(passed.arguments.size(), 3U);
  EXPECT_EQ(passed.arguments[0].type, "_Bool");
  EXPECT_EQ(passed.arguments[1].type, "struct task *");
  EXPECT_EQ(find_field(passed, false, "arg1")->bytes, 8);
  EXPECT_EQ(find_field(passed, false, "arg2")->offset, 16);
  EXPECT_EQ(types_.tracepoints(), std::vector<std::string>{"passed"});
  EXPECT_FALSE(types_.find_tracepoint("f"));
}

TEST_F(KernelPlaces, ErrorsSayWhatThereIs) {
  const KernelSignature f = *types_.find_function("f");
  EXPECT_EQ(find_field(f, true, "cuont").error().message(), "it hands over no cuont, but count, letter, both, rest, retval");
  EXPECT_EQ(find_field(f, false, "both").error().message(), "both is no number (struct pair)");
  EXPECT_EQ(find_field(f, false, "u64(count)").error().message(), "u64(count): count has 4 bytes");
  EXPECT_EQ(find_field(*types_.find_tracepoint("passed"), false, "x").error().message(), "it hands over no x, but arg0 (_Bool), arg1 (struct task *), arg2 (int)");
}

TEST_F(KernelPlaces, TypesThatNeverEndAreNoNumbers) {
  const KernelSignature odd = *types_.find_function("odd");
  EXPECT_EQ(find_field(odd, true, "round").error().kind(), ErrorKind::kUnsupported);
  EXPECT_FALSE(KernelTypes::parse(std::vector<uint8_t>(100, 0xff)));
}

// As ring buffers are declared before Linux 6.16, and since then.
TEST(KernelTypes, LocksKnowTheirOwnersByTheirType) {
  for (const char* name : {"raw_spinlock_t", "rqspinlock_t"}) {
    const std::unique_ptr<btf, void (*)(btf*)> types(::btf__new_empty(), &::btf__free);
    btf* const to = types.get();
    const int whole = ::btf__add_int(to, "int", 4, BTF_INT_SIGNED), lock = ::btf__add_typedef(to, name, ::btf__add_struct(to, name, 4));
    ::btf__add_struct(to, "bpf_ringbuf", 8);
    ::btf__add_field(to, "mask", whole, 0, 0);
    ::btf__add_field(to, "spinlock", lock, 32, 0);
    uint32_t bytes = 0;
    const auto* raw = static_cast<const uint8_t*>(::btf__raw_data(to, &bytes));
    EXPECT_EQ(KernelTypes::parse({raw, bytes})->locks_know_their_owners(), name == std::string_view("rqspinlock_t")) << name;
  }
  EXPECT_FALSE(KernelTypes::parse(types_of_a_kernel())->locks_know_their_owners());
}

}  // namespace
}  // namespace cicada::bpf_source
