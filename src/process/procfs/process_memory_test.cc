// SPDX-License-Identifier: Apache-2.0
#include "process/procfs/process_memory.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <fstream>

namespace cicada::process {
namespace {

RuntimeAddr at(const void* address) { return RuntimeAddr(reinterpret_cast<uint64_t>(address)); }
auto children(std::chrono::milliseconds timeout) { return std::make_shared<DisposableChildren>(timeout); }

TEST(ProcessMemory, ReadsWhatIsThere) {
  ProcessMemory memory(children(std::chrono::minutes(5)), ::getpid());
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
  ProcessMemory memory(children(std::chrono::minutes(5)), ::getpid());
  EXPECT_EQ(memory.read_word(at(bytes + page - 3)), 0xabababU);
  ::munmap(bytes, page);
}

TEST(ProcessMemory, NothingOfNobody) {
  ProcessMemory memory(children(std::chrono::minutes(5)), 0x7fffffff);
  for (int i = 0; i < 2; ++i) EXPECT_EQ(memory.read_word(at(&memory)), std::nullopt);
}

// The child waits for ever, as for a page that a silent file system does not bring.
TEST(ProcessMemory, WhatDoesNotComeIsAwaitedOnce) {
  ProcessMemory memory(children(std::chrono::milliseconds(200)), ::getpid());
  const uint64_t word = 7;
  ASSERT_EQ(memory.read_word(at(&word)), 7U);
  pid_t child = 0;  // the youngest: others may have ended and not been waited for
  std::ifstream children_of_ours(fmt::format("/proc/self/task/{}/children", ::gettid()));
  for (pid_t next = 0; children_of_ours >> next;) child = next;
  ASSERT_NE(child, 0);
  ASSERT_EQ(::kill(child, SIGSTOP), 0);
  EXPECT_EQ(memory.read_word(at(&word)), std::nullopt);
  ::kill(child, SIGCONT);
  EXPECT_EQ(memory.read_word(at(&word)), std::nullopt);
}

}  // namespace
}  // namespace cicada::process
