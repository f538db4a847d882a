// SPDX-License-Identifier: Apache-2.0
#include "process/metadata/arguments.h"

#include <gtest/gtest.h>

#include <vector>

namespace cicada::process {
namespace {

std::string all(std::vector<std::string> argv) { return shown_arguments(argv, Arguments::kAll); }

TEST(Arguments, AreNotKeptWithoutBeingAskedFor) {
  EXPECT_EQ(shown_arguments(std::vector<std::string>{"/usr/bin/x", "--flag", "secret"}, Arguments::kProgram), "/usr/bin/x");
  EXPECT_EQ(shown_arguments(std::vector<std::string>{"postgres: me secret"}, Arguments::kProgram), "postgres:");
  EXPECT_EQ(shown_arguments({}, Arguments::kAll), "");
}

TEST(Arguments, ThatAreSecretsAreMasked) {
  EXPECT_EQ(all({"x", "--password=a b"}), "x --password=***");
  EXPECT_EQ(all({"x", "--db-password", "abc", "file"}), "x --db-password *** file");
  EXPECT_EQ(all({"env", "API_KEY=abc", "AWS_SECRET_ACCESS_KEY=abc", "x"}), "env API_KEY=*** AWS_SECRET_ACCESS_KEY=*** x");
  EXPECT_EQ(all({"curl", "-H", "Authorization: Bearer abc", "-u", "me:abc", "https://me:abc@host/a@b:c"}),
            "curl -H Authorization:*** -u me:*** https://me:***@host/a@b:c");
  EXPECT_EQ(all({"mysql", "-pabc", "-h", "host"}), "mysql -p*** -h host");
  EXPECT_EQ(all({"java", "-Djavax.net.ssl.keyStorePassword=abc", "-Dtoken=abc"}), "java -Djavax.net.ssl.keyStorePassword=*** -Dtoken=***");
}

TEST(Arguments, ThatAreNoneAreShown) {
  const std::vector<std::string> argv{"ssh", "-p22", "--key-file=/a", "--keyboard", "us", "monkey=1", "sort", "-k2", "a:b", "https://host:80/"};
  EXPECT_EQ(shown_arguments(argv, Arguments::kAll), "ssh -p22 --key-file=/a --keyboard us monkey=1 sort -k2 a:b https://host:80/");
}

TEST(Arguments, AreBounded) {
  EXPECT_EQ(all({"x", std::string(2000, 'a')}).size(), 512 + std::string_view("…").size());
}

}  // namespace
}  // namespace cicada::process
