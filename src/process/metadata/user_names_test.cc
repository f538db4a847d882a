// SPDX-License-Identifier: Apache-2.0
#include "process/metadata/user_names.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace cicada::process {
namespace {

TEST(UserNames, AreThoseOfTheAccountDatabaseElseNumbers) {
  const std::string path = std::filesystem::temp_directory_path() / ("cicada-passwd-" + std::to_string(::getpid()));
  std::ofstream(path) << "root:x:0:0:root:/root:/bin/sh\nbroken line\nanna:x:1000:1000::/home/anna:/bin/sh\nsecond:x:1000:1000::/:/bin/sh\n";
  const UserNames names(path);
  EXPECT_EQ(names.name_of(0), "root");
  EXPECT_EQ(names.name_of(1000), "anna");
  EXPECT_EQ(names.name_of(4'000'000'000), "4000000000");
  std::filesystem::remove(path);
  EXPECT_EQ(UserNames(path).name_of(0), "0");
}

}  // namespace
}  // namespace cicada::process
