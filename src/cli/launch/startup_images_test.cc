// SPDX-License-Identifier: Apache-2.0
#include "cli/launch/startup_images.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <set>

namespace cicada::cli {
namespace {

std::set<std::string> names_of(const std::vector<StartupImage>& images) {
  std::set<std::string> names;
  for (const StartupImage& image : images) {
    names.insert(std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(image.file.get())).filename());
  }
  return names;
}

TEST(FindStartupImages, TheProgramItsLoaderAndItsLibraries) {
  const auto images = find_startup_images("/bin/ls", {});
  const std::set<std::string> names = names_of(images);
  EXPECT_TRUE(names.contains("ls"));
  EXPECT_TRUE(names.contains("libc.so.6"));
  EXPECT_TRUE(names.contains("ld-linux-x86-64.so.2"));
  for (const StartupImage& image : images) {
    EXPECT_EQ(image.offset % 4096, 0u);
    EXPECT_GT(image.size, 0u);
  }
}

TEST(FindStartupImages, TheInterpreterOfAScript) {
  const std::string script = testing::TempDir() + "startup_images_script";
  std::ofstream(script) << "#! /bin/ls -l\n";
  EXPECT_TRUE(names_of(find_startup_images(script, {})).contains("ls"));
  std::ofstream(script) << "#!" << script << "\n";  // refers to itself
  EXPECT_TRUE(find_startup_images(script, {}).empty());
  std::remove(script.c_str());
}

TEST(FindStartupImages, WhatCannotBeReadIsLeftOut) {
  EXPECT_TRUE(find_startup_images("/nowhere", {}).empty());
  EXPECT_TRUE(find_startup_images("/dev/null", {}).empty());
  EXPECT_TRUE(find_startup_images("/etc/passwd", {}).empty());
  const std::string fifo = testing::TempDir() + "startup_images_fifo";
  std::remove(fifo.c_str());
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  EXPECT_TRUE(find_startup_images(fifo, {}).empty());  // at once
  std::remove(fifo.c_str());
}

}  // namespace
}  // namespace cicada::cli
