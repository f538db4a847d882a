// SPDX-License-Identifier: Apache-2.0
#include "ingest/java_machines.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <map>
#include <new>

namespace cicada::ingest {
namespace {

// What was published, and who runs.
struct Kernel {
  std::mutex mutex;
  std::condition_variable changed;
  std::map<uint32_t, java_code> codes;
  size_t forgotten = 0;
  std::atomic<Pid> user{::getpid()};

  JavaMachines::Ports ports() {
    return {[this](uint32_t) { return user.load(); },
            [this](uint32_t space, const java_code* code) {
              const std::lock_guard lock(mutex);
              if (code != nullptr)
                codes[space] = *code;
              else
                forgotten += codes.erase(space);
              changed.notify_all();
            },
            [](uint32_t) {}};
  }
  void wait_for_forgotten(size_t count) {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return forgotten >= count; });
  }
};

TEST(JavaMachines, AreThereAtOnceAndSayLaterWhereTheirCodeIs) {
  Kernel kernel;
  JavaMachines machines(kernel.ports());
  EXPECT_TRUE(machines.is_settled());
  EXPECT_FALSE(machines.find(7));
  machines.note_library(7, RuntimeAddr(reinterpret_cast<uint64_t>(&kernel)));
  ASSERT_TRUE(kernel.codes.contains(7));
  EXPECT_EQ(kernel.codes[7].segment_shift, 0u);
  ASSERT_TRUE(machines.find(7));
  EXPECT_EQ(machines.find(7)->segment_shift, 0u);
}

TEST(JavaMachines, AreForgottenWithTheirProcess) {
  Kernel kernel;
  kernel.user = 0;
  JavaMachines machines(kernel.ports());
  machines.note_library(7, RuntimeAddr(0x1000));
  machines.note_library(8, RuntimeAddr(0x1000));
  kernel.wait_for_forgotten(2);
  while (machines.find(7) || machines.find(8)) ::usleep(1000);
  EXPECT_TRUE(machines.is_settled());
}

// What calls itself libjvm.so and is none is walked by frame pointer like all others' code.
TEST(JavaMachines, AreRefusedIfTheyAreNone) {
  Kernel kernel;
  JavaMachines machines(kernel.ports());
  static const uint8_t none[4096 * 2] = {};
  machines.note_library(9, RuntimeAddr(reinterpret_cast<uint64_t>(none)));
  kernel.wait_for_forgotten(1);
  while (machines.find(9)) ::usleep(1000);
  EXPECT_TRUE(machines.is_settled());
}

// Nobody waits for what nobody looks for.
TEST(JavaMachines, AreGivenUpWhenLookingFails) {
  Kernel kernel;
  JavaMachines::Ports ports = kernel.ports();
  ports.find_user = [](uint32_t) -> Pid { throw std::bad_alloc(); };
  JavaMachines machines(std::move(ports));
  machines.note_library(7, RuntimeAddr(0x1000));
  kernel.wait_for_forgotten(1);
  while (machines.find(7)) ::usleep(1000);
  EXPECT_TRUE(machines.is_settled());
  machines.note_library(8, RuntimeAddr(0x1000));
  EXPECT_FALSE(machines.find(8));
}

TEST(JavaMachines, SayNothingOnceStopped) {
  Kernel kernel;
  JavaMachines machines(kernel.ports());
  machines.stop();
  machines.note_library(7, RuntimeAddr(0x1000));
  EXPECT_TRUE(kernel.codes.empty());
}

}  // namespace
}  // namespace cicada::ingest
