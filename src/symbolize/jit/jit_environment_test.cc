// SPDX-License-Identifier: Apache-2.0
#include "symbolize/jit/jit_environment.h"

#include <gtest/gtest.h>

#include "symbolize/symbols/elf_image_for_test.h"

namespace cicada::symbolize {
namespace {

using Strings = std::vector<std::string>;
const Strings kNode{"NODE_OPTIONS=--perf-basic-prof-only-functions --interpreted-frames-native-stack"};
const Strings kPython{"PYTHONPERFSUPPORT=1"};

Strings added(const Strings& argv, const Strings& environment = {}, std::string_view path = "/nowhere") { return jit_environment(argv, environment, path); }

TEST(JitEnvironment, SwitchesMapsOnForNodeAndPython) {
  EXPECT_EQ(added({"node", "app.js"}), kNode);
  EXPECT_EQ(added({"/opt/bin/nodejs"}), kNode);
  EXPECT_EQ(added({"python3.12", "a.py"}), kPython);
  EXPECT_EQ(added({"python3"}), kPython);
  EXPECT_EQ(added({"ls", "node"}), Strings{});
  EXPECT_EQ(added({"nodejs-helper"}), Strings{});
  EXPECT_EQ(added({"python-config"}), Strings{});
  EXPECT_EQ(added({"java", "-jar", "a.jar"}), Strings{});
  EXPECT_EQ(added({}), Strings{});
}

TEST(JitEnvironment, NeverOverridesTheUser) {
  EXPECT_EQ(added({"node"}, {"PATH=/bin", "NODE_OPTIONS=--max-old-space-size=100"}), Strings{});
  EXPECT_EQ(added({"node"}, {"NODE_OPTIONS="}), Strings{});
  EXPECT_EQ(added({"env", "NODE_OPTIONS=--trace", "node"}), Strings{});
  EXPECT_EQ(added({"node"}, {"NODE_OPTIONS_OTHER=1"}), kNode);
}

TEST(JitEnvironment, LooksThroughWrappersAndScripts) {
  EXPECT_EQ(added({"nice", "-n", "5", "node", "a.js"}), kNode);
  EXPECT_EQ(added({"env", "A=1", "nohup", "node"}), kNode);
  EXPECT_EQ(added({"timeout", "-k", "5", "2.5m", "node"}), kNode);
  TestDirectory directory;
  directory.write("tool", "#!/usr/bin/env -S node --no-warnings\nconsole.log(1)\n");
  directory.write("shell", "#!/bin/sh\nnode\n");
  EXPECT_EQ(added({directory.path("tool")}), kNode);
  EXPECT_EQ(added({"tool"}, {}, "/nowhere:" + directory.path()), kNode);
  EXPECT_EQ(added({directory.path("shell")}), Strings{});
  EXPECT_EQ(added({directory.path("missing")}), Strings{});
}

TEST(JitHint, SaysHowToRestartWhatHasAJit) {
  EXPECT_NE(jit_hint("/usr/bin/node (deleted)")->find("--perf-basic-prof"), std::string::npos);
  EXPECT_NE(jit_hint("/usr/lib/jvm/bin/java")->find("-XX:+PreserveFramePointer"), std::string::npos);  // names without whole stacks are half
  EXPECT_EQ(jit_hint("/usr/bin/python3.12"), "`python3 -X perf` (3.12 or newer)");
  EXPECT_FALSE(jit_hint("/usr/bin/bash"));
}

}  // namespace
}  // namespace cicada::symbolize
