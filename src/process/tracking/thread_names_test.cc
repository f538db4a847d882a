// SPDX-License-Identifier: Apache-2.0
#include "process/tracking/thread_names.h"

#include <gtest/gtest.h>

namespace cicada::process {
namespace {

TEST(ThreadNames, NumberGivenToANewThreadKeepsBothNames) {
  ThreadNames names;
  names.set(100, 100, "first");
  names.end(100);
  names.set(7, 7, "parent");
  names.inherit(100, 100, 7, 5000);
  EXPECT_EQ(names.find(100, 5000), "parent");
  names.set(100, 100, "second");
  EXPECT_EQ(names.find(100, 4999), "first");
  EXPECT_EQ(names.find(100, 6000), "second");
  names.end(100);
  names.inherit(100, 100, 7, 7000);
  EXPECT_EQ(names.find(100, 4999), "first");
  EXPECT_EQ(names.find(100, 6999), "second");
  EXPECT_EQ(names.find(100, 7000), "parent");
}

TEST(ThreadNames, NameOutlivesItsThreadByACycle) {
  ThreadNames names;
  names.set(1, 1, "short");
  names.end(1);
  names.end_cycle();
  EXPECT_EQ(names.find(1, 0), "short");
  names.end_cycle();
  EXPECT_FALSE(names.find(1, 0));
  EXPECT_EQ(names.size(), 0U);
}

TEST(ThreadNames, ForgetsReusedNumbersToo) {
  ThreadNames names;
  names.set(1, 1, "old");
  names.end(1);
  names.inherit(1, 1, 99, 1000);  // of a parent nobody knows
  EXPECT_EQ(names.find(1, 999), "old");
  EXPECT_FALSE(names.find(1, 1000));
  names.end_cycle();
  names.end_cycle();
  EXPECT_FALSE(names.find(1, 999));
}

}  // namespace
}  // namespace cicada::process
