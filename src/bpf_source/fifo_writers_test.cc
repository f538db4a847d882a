// SPDX-License-Identifier: Apache-2.0
#include "bpf_source/fifo_writers.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "base/unique_fd.h"
#include "process/procfs/proc_fs.h"

namespace cicada::bpf_source {
namespace {

constexpr uint64_t kNsPerTick = 10'000'000;

// Writes a byte into the FIFO for each that it is given, until there are no more.
class Writer {
 public:
  explicit Writer(const std::string& fifo) {
    int ends[2];
    EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    const UniqueFd taken(ends[0]);
    given_.reset(ends[1]);
    child_ = ::fork();
    if (child_ != 0) return;
    given_.reset();
    const int fifo_fd = ::open(fifo.c_str(), O_WRONLY);
    for (char byte = 0; ::read(taken.get(), &byte, 1) == 1;)
      if (::write(fifo_fd, &byte, 1) != 1) ::_exit(1);
    ::_exit(0);
  }
  ~Writer() {
    given_.reset();
    int status = 0;
    EXPECT_EQ(::waitpid(child_, &status, 0), child_);
    EXPECT_EQ(status, 0);
  }
  void write() const { EXPECT_EQ(::write(given_.get(), "x", 1), 1); }
  uint64_t born_tick() const {
    const auto stat = process::read_stat(child_);
    EXPECT_TRUE(stat);
    return stat ? stat->start_ticks : 0;
  }

 private:
  UniqueFd given_;
  pid_t child_ = -1;
};

TEST(FifoWriters, KnowsWhoWrote) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root: BPF";
  char name[] = "/tmp/cicada-fifo-XXXXXX";
  const std::string directory = ::mkdtemp(name), fifo = directory + "/fifo";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  const UniqueFd read_end(::open(fifo.c_str(), O_RDONLY | O_NONBLOCK));
  auto watched = FifoWriters::watch(read_end.get());
  ASSERT_TRUE(watched) << watched.error().message();
  EXPECT_EQ((*watched)->last(), 0U);
  {
    const Writer first(fifo);
    ::usleep(30'000);  // not in the same tick
    const Writer second(fifo);
    ASSERT_NE(first.born_tick(), second.born_tick());
    const Writer* const turns[] = {&first, &second, &second, &first, &second};
    for (const Writer* turn : turns) {
      turn->write();
      char byte = 0;
      while (::read(read_end.get(), &byte, 1) != 1) ::usleep(100);
      EXPECT_EQ((*watched)->last() / kNsPerTick, turn->born_tick());
    }
    EXPECT_EQ((*watched)->last(), 0U);  // nobody has written since
  }
  std::filesystem::remove_all(directory);
}

}  // namespace
}  // namespace cicada::bpf_source
