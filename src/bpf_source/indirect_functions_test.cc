// SPDX-License-Identifier: Apache-2.0
#include "bpf_source/indirect_functions.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstring>

namespace cicada::bpf_source {
namespace {

TEST(IndirectFunctions, LeadToWhatThisProgramRuns) {
  Dl_info found{};
  void* const address = ::dlsym(RTLD_DEFAULT, "getppid");  // an ordinary one, which is where it is
  ASSERT_NE(::dladdr(address, &found), 0);
  struct stat libc {};
  ASSERT_EQ(::stat(found.dli_fname, &libc), 0);
  ASSERT_TRUE(find_indirect_function(libc, "libc.so.6", "getppid"));
  const auto length = find_indirect_function(libc, "libc.so.6", "strlen");
  ASSERT_TRUE(length);
  EXPECT_LT(length->value, static_cast<uint64_t>(libc.st_size));
  EXPECT_EQ(*length, *find_indirect_function(libc, "libc.so.6", "strlen"));
  EXPECT_FALSE(find_indirect_function(libc, "libc.so.6", "no_such_function"));
  EXPECT_FALSE(find_indirect_function(libc, "libno.so.1", "strlen"));
  struct stat other = libc;
  ++other.st_ino;
  EXPECT_FALSE(find_indirect_function(other, "libc.so.6", "strlen"));
}

}  // namespace
}  // namespace cicada::bpf_source
