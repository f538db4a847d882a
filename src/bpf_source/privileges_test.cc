// SPDX-License-Identifier: Apache-2.0
#include "bpf_source/privileges.h"

#include <gtest/gtest.h>
#include <linux/capability.h>

namespace cicada::bpf_source {
namespace {

uint64_t bits(std::initializer_list<int> held) {
  uint64_t set = 0;
  for (const int bit : held) set |= uint64_t{1} << bit;
  return set;
}

std::string missing(std::initializer_list<int> held, bool required) {
  std::string names;
  for (const Privilege& privilege : missing_privileges(bits(held)))
    if (privilege.required == required) names += std::string(privilege.name) + " ";
  return names;
}

TEST(Privileges, AreRequiredOnlyWhereNothingWorksWithoutThem) {
  EXPECT_EQ(missing({CAP_PERFMON, CAP_BPF}, true), "");
  EXPECT_EQ(missing({CAP_SYS_ADMIN}, true), "");
  EXPECT_EQ(missing({CAP_PERFMON}, true), "cap_bpf ");
  EXPECT_EQ(missing({CAP_PERFMON, CAP_BPF, CAP_SYS_PTRACE, CAP_SYS_ADMIN}, false), "cap_dac_read_search ");
  EXPECT_TRUE(missing_privileges(~uint64_t{0}).empty());
}

}  // namespace
}  // namespace cicada::bpf_source
