// SPDX-License-Identifier: Apache-2.0
#include "base/caller.h"

#include <gtest/gtest.h>
#include <pwd.h>
#include <unistd.h>

#include <cstdlib>
#include <map>
#include <string>

namespace cicada {
namespace {

// "uid:gid", "": nobody; as root is told.
std::string caller_by(const std::map<std::string, std::string>& variables) {
  for (const char* name : {"SUDO_UID", "SUDO_GID", "DOAS_USER"}) ::unsetenv(name);
  for (const auto& [name, value] : variables) ::setenv(name.c_str(), value.c_str(), 1);
  const auto caller = find_caller();
  for (const auto& [name, value] : variables) ::unsetenv(name.c_str());
  return caller ? std::to_string(caller->uid) + ":" + std::to_string(caller->gid) : "";
}

TEST(Caller, IsWhoCalledThroughSudoOrDoas) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root is told";
  EXPECT_EQ(caller_by({{"SUDO_UID", "12345"}, {"SUDO_GID", "12346"}}), "12345:12346");
  EXPECT_EQ(caller_by({{"SUDO_UID", "12345"}}), "12345:12345");
  EXPECT_EQ(caller_by({{"SUDO_UID", "12345"}, {"SUDO_GID", "x"}}), "12345:12345");
  const passwd* const nobody = ::getpwnam("nobody");
  if (nobody == nullptr) return;
  const std::string ids = std::to_string(nobody->pw_uid) + ":" + std::to_string(nobody->pw_gid);
  EXPECT_EQ(caller_by({{"SUDO_UID", std::to_string(nobody->pw_uid)}}), ids);
  EXPECT_EQ(caller_by({{"DOAS_USER", "nobody"}}), ids);
}

TEST(Caller, IsNobodyWhoIsNotSaidOrIsRoot) {
  EXPECT_EQ(caller_by({}), "");
  for (const char* text : {"", "0", "not a number", "12x", "-1", "4294967296"}) EXPECT_EQ(caller_by({{"SUDO_UID", text}}), "") << text;
  EXPECT_EQ(caller_by({{"DOAS_USER", "no such user"}}), "");
  EXPECT_EQ(caller_by({{"DOAS_USER", "root"}}), "");
}

}  // namespace
}  // namespace cicada
