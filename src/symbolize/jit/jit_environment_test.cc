// SPDX-License-Identifier: Apache-2.0
#include "symbolize/jit/jit_environment.h"

#include <gtest/gtest.h>

#include "symbolize/jit/language_runtime.h"
#include "symbolize/symbols/elf_image_for_test.h"

namespace cicada::symbolize {
namespace {

using Strings = std::vector<std::string>;
const Strings kNode{"NODE_OPTIONS=--perf-basic-prof-only-functions --interpreted-frames-native-stack"};
const Strings kPython{"PYTHONPERFSUPPORT=1"};
const Strings kBoth{kPython[0], kNode[0]};

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

TEST(JitEnvironment, ReachesWhatShellsStart) {
  EXPECT_EQ(added({"sh", "-c", "node a.js | python3 b.py"}), kBoth);
  EXPECT_EQ(added({"/bin/bash", "build.sh"}, {"NODE_OPTIONS=--no-warnings"}), kPython);
  EXPECT_EQ(added({"nice", "make", "-j8"}), kBoth);
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
  EXPECT_EQ(added({directory.path("shell")}), kBoth);
  EXPECT_EQ(added({directory.path("missing")}), Strings{});
}

TEST(LanguageRuntime, IsKnownByTheFilesOfItsVersions) {
  EXPECT_EQ(find_language("/usr/bin/python3.11"), Language::kPython);
  EXPECT_EQ(find_language("/usr/lib/x86_64-linux-gnu/libpython3.12.so.1.0"), Language::kPython);
  EXPECT_EQ(find_language("/usr/bin/node (deleted)"), Language::kJavaScript);
  EXPECT_EQ(find_language("libruby-3.1.so.3.1"), Language::kRuby);
  EXPECT_EQ(find_language("/usr/sbin/php-fpm8.2"), Language::kPhp);
  EXPECT_EQ(find_language("/usr/lib/libperl.so.5.36"), Language::kPerl);
  EXPECT_EQ(find_language("/usr/bin/luajit-2.1.0"), Language::kLua);
  for (const char* other : {"/usr/bin/python3-config", "/usr/bin/bash", "/opt/nodejs-helper", "libpythonish.so", "perl-server", "", "3.11"}) EXPECT_FALSE(find_language(other)) << other;
}

TEST(LanguageRuntime, TellsItsInterpreterFromTheRestOfIt) {
  EXPECT_TRUE(interprets(Language::kPython, "_PyEval_EvalFrameDefault.cold"));
  EXPECT_FALSE(interprets(Language::kPython, "PyObject_Malloc"));
  EXPECT_TRUE(interprets(Language::kRuby, "rb_str_new"));
  EXPECT_FALSE(interprets(Language::kJava, "JavaMain"));
}

}  // namespace
}  // namespace cicada::symbolize
