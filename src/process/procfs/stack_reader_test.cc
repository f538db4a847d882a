// SPDX-License-Identifier: Apache-2.0
#include "process/procfs/stack_reader.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <fstream>
#include <string>

namespace cicada::process {
namespace {

constexpr size_t kPage = 4096;

// A process that sleeps, with memory that looks like a stack: full words, and from page kHole on three that nobody has touched.
class Sleeper : public testing::Test {
 protected:
  static constexpr size_t kPages = 24, kHole = 4, kHolePages = 3;

  void start(uint8_t* memory) {
    memory_ = memory;
    pid_ = ::fork();
    if (pid_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      for (size_t page = 0; page < kPages; ++page) {
        if (page >= kHole && page < kHole + kHolePages) continue;
        for (size_t at = 0; at < kPage; at += 8) {
          const uint64_t word = page << 32 | at;
          std::memcpy(memory + page * kPage + at, &word, sizeof word);
        }
      }
      for (;;) ::pause();
    }
    for (char state = 0; state != 'S';) {
      std::ifstream file("/proc/" + std::to_string(pid_) + "/stat");
      std::string word;
      file >> word >> word >> state;
    }
  }
  void TearDown() override {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  uint64_t turns() const {
    uint64_t ran = 0, queued = 0, turns = 0;
    std::ifstream("/proc/" + std::to_string(pid_) + "/schedstat") >> ran >> queued >> turns;
    return turns;
  }
  std::optional<StackReader::Copy> read(uint64_t offset, uint64_t turns) { return reader_.read(pid_, pid_, reinterpret_cast<uint64_t>(memory_) + offset, turns); }

  uint8_t* memory_ = nullptr;
  pid_t pid_ = 0;
  StackReader reader_;
};

uint8_t* map(int flags, int fd = -1) { return static_cast<uint8_t*>(::mmap(nullptr, 256 * kPage, PROT_READ | PROT_WRITE, flags, fd, 0)); }

TEST_F(Sleeper, ItsPagesAreCopiedFromTheStackPointerUp) {
  start(map(MAP_PRIVATE | MAP_ANONYMOUS));
  const auto copy = read(kPage + 0x100, turns());
  ASSERT_TRUE(copy);
  size_t at = 0;
  for (size_t page = 1; at < copy->bytes.size(); ++page) {
    if (page >= kHole && page < kHole + kHolePages) {
      EXPECT_EQ(copy->pages >> (page - 1) & 1, 0U);
      continue;
    }
    ASSERT_EQ(copy->pages >> (page - 1) & 1, 1U);
    for (size_t offset = page == 1 ? 0x100 : 0; offset < kPage && at < copy->bytes.size(); offset += 8, at += 8) {
      uint64_t word = 0;
      std::memcpy(&word, copy->bytes.data() + at, sizeof word);
      ASSERT_EQ(word, page << 32 | offset);
    }
  }
  EXPECT_EQ(at, copy->bytes.size());
  EXPECT_EQ(copy->bytes.size(), size_t{DEFERRED_STACK_BYTES});
}

TEST_F(Sleeper, TheCopyEndsWhereTheMemoryDoes) {
  start(map(MAP_PRIVATE | MAP_ANONYMOUS));
  const auto copy = read((kPages - 2) * kPage + 8, turns());
  ASSERT_TRUE(copy);
  EXPECT_EQ(copy->pages, 3U);
  EXPECT_EQ(copy->bytes.size(), 2 * kPage - 8);
}

TEST_F(Sleeper, NothingIsReadOfOneThatRanMeanwhile) {
  start(map(MAP_PRIVATE | MAP_ANONYMOUS));
  EXPECT_FALSE(read(0, turns() - 1));
  EXPECT_TRUE(read(0, turns()));
}

TEST_F(Sleeper, NothingIsReadOfAFile) {
  const int file = ::memfd_create("stack", MFD_CLOEXEC);
  ASSERT_EQ(::ftruncate(file, 256 * kPage), 0);
  start(map(MAP_SHARED, file));
  EXPECT_FALSE(read(0, turns()));
  ::close(file);
}

TEST_F(Sleeper, NothingIsReadWhereNothingIs) {
  start(map(MAP_PRIVATE | MAP_ANONYMOUS));
  EXPECT_FALSE(reader_.read(pid_, pid_, 0, turns()));
  EXPECT_FALSE(reader_.read(pid_, pid_, ~uint64_t{0} - 100, turns()));
  EXPECT_FALSE(reader_.read(0, 0, 0x1000, 0));
}

}  // namespace
}  // namespace cicada::process
