// SPDX-License-Identifier: Apache-2.0
#include "process/procfs/process_memory.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <fstream>
#include <thread>

namespace cicada::process {
namespace {

RuntimeAddr at(const void* address) { return RuntimeAddr(reinterpret_cast<uint64_t>(address)); }
// Of this thread. Others may have ended and not been waited for.
pid_t youngest_child() {
  pid_t child = 0;
  std::ifstream children(fmt::format("/proc/self/task/{}/children", ::gettid()));
  for (pid_t next = 0; children >> next;) child = next;
  return child;
}

TEST(ProcessMemory, ReadsWhatIsThere) {
  DisposableChildren children(std::chrono::minutes(5));
  ProcessMemory memory(children, ::getpid());
  for (uint64_t i = 0; i < 3; ++i) {
    const uint64_t word = 0x0102030405060708 + i;  // also after the child began
    EXPECT_EQ(memory.read_word(at(&word)), word);
  }
  EXPECT_EQ(memory.read_word(RuntimeAddr(0)), std::nullopt);
  EXPECT_EQ(memory.read_word(RuntimeAddr(~uint64_t{0} - 3)), std::nullopt);
}

TEST(ProcessMemory, EndsWithTheLastByte) {
  const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  auto* const bytes = static_cast<uint8_t*>(::mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(bytes, MAP_FAILED);
  ASSERT_EQ(::munmap(bytes + page, page), 0);
  std::memset(bytes + page - 3, 0xab, 3);
  DisposableChildren children(std::chrono::minutes(5));
  ProcessMemory memory(children, ::getpid());
  EXPECT_EQ(memory.read_word(at(bytes + page - 3)), 0xabababU);
  ::munmap(bytes, page);
}

TEST(ProcessMemory, NothingOfNobody) {
  DisposableChildren children(std::chrono::minutes(5));
  ProcessMemory memory(children, 0x7fffffff);
  for (int i = 0; i < 2; ++i) EXPECT_EQ(memory.read_word(at(&memory)), std::nullopt);
}

// The child waits for ever, as for a page that a silent file system does not bring.
TEST(ProcessMemory, WhatDoesNotComeIsAwaitedOnce) {
  DisposableChildren children(std::chrono::milliseconds(200));
  ProcessMemory memory(children, ::getpid());
  const uint64_t word = 7;
  ASSERT_EQ(memory.read_word(at(&word)), 7U);
  const pid_t child = youngest_child();
  ASSERT_NE(child, 0);
  ASSERT_EQ(::kill(child, SIGSTOP), 0);
  EXPECT_EQ(memory.read_word(at(&word)), std::nullopt);
  ::kill(child, SIGCONT);
  EXPECT_EQ(memory.read_word(at(&word)), std::nullopt);
}

TEST(ProcessMemory, WhoeverStopsItWaitsForNothing) {
  DisposableChildren children(std::chrono::hours(1));
  std::stop_source stop;
  ProcessMemory memory(children, ::getpid(), stop.get_token());
  const uint64_t word = 7;
  ASSERT_EQ(memory.read_word(at(&word)), 7U);
  ASSERT_EQ(::kill(youngest_child(), SIGSTOP), 0);
  const std::jthread later([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    stop.request_stop();
  });
  EXPECT_EQ(memory.read_word(at(&word)), std::nullopt);
  EXPECT_EQ(memory.read_word(at(&word)), std::nullopt);
}

}  // namespace
}  // namespace cicada::process
