// SPDX-License-Identifier: Apache-2.0
#include "process/tracking/mapping_events.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <thread>

#include "base/cpu_list.h"
#include "process/procfs/maps_file.h"

namespace cicada::process {
namespace {

uint64_t now_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

struct Seen {
  MappingEvent event;
  std::string name;
};

std::vector<Seen> drain(MappingEvents& events, const MappingEvents::Wants& wants) {
  std::vector<Seen> seen;
  events.drain(now_ns(), wants, [&](const MappingEvent& event) { seen.push_back({event, std::string(event.name)}); });
  return seen;
}

#define OPEN_OR_SKIP(name)                                                             \
  auto opened_ = MappingEvents::open({});                                              \
  if (!opened_ && opened_.error().kind() == ErrorKind::kPermission) GTEST_SKIP() << opened_.error().message(); \
  ASSERT_TRUE(opened_) << opened_.error().message();                                   \
  MappingEvents name = *std::move(opened_)

TEST(MappingEvents, TellAboutExecutableMappingsWithTheNumbersOfMaps) {
  OPEN_OR_SKIP(events);
  const auto ours = [](const MappingEvent& event) { return event.pid == ::getpid(); };
  drain(events, ours);
  const UniqueFd fd(::open("/bin/true", O_RDONLY | O_CLOEXEC));
  const uint64_t before = now_ns();
  void* file = ::mmap(nullptr, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd.get(), 4096);
  void* anonymous = ::mmap(nullptr, 8192, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  void* data = ::mmap(nullptr, 8192, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  const uint64_t after = now_ns();
  pollfd poll_fd{events.poll_fd(), POLLIN, 0};
  EXPECT_EQ(::poll(&poll_fd, 1, 1000), 1);
  const auto seen = drain(events, ours);
  ASSERT_EQ(seen.size(), 2u);  // not the one without PROT_EXEC
  EXPECT_EQ(seen[0].event.kind, MappingEventKind::kMap);
  EXPECT_EQ(seen[0].event.range.begin.value, reinterpret_cast<uint64_t>(file));
  EXPECT_EQ(seen[0].event.range.size(), 4096u);
  EXPECT_EQ(seen[0].event.offset.value, 4096u);
  EXPECT_TRUE(before <= seen[0].event.time_ns && seen[0].event.time_ns <= seen[1].event.time_ns && seen[1].event.time_ns <= after);
  EXPECT_EQ(seen[1].name, "//anon");
  EXPECT_TRUE(seen[1].event.file.anonymous());
  const auto maps = read_maps(::getpid(), MapsFilter::kExecutable);
  bool found = false;
  for (const MapsEntry& entry : maps->entries) {
    if (entry.range != seen[0].event.range) continue;
    found = true;
    EXPECT_TRUE(entry.file.same_inode(seen[0].event.file));
    EXPECT_EQ(entry.path, seen[0].name);
  }
  EXPECT_TRUE(found);
  ::munmap(file, 4096);
  ::munmap(anonymous, 8192);
  ::munmap(data, 8192);
}

TEST(MappingEvents, TellExecRenamesAndThreads) {
  OPEN_OR_SKIP(events);
  const Pid child = ::fork();
  if (child == 0) {
    ::execl("/bin/true", "true", nullptr);
    ::_exit(127);
  }
  ::waitpid(child, nullptr, 0);
  const auto seen = drain(events, [&](const MappingEvent& event) { return event.pid == child; });
  ASSERT_GE(seen.size(), 5u);
  EXPECT_EQ(seen.front().event.kind, MappingEventKind::kThreadFork);
  EXPECT_EQ(seen.front().event.parent_pid, ::getpid());
  EXPECT_EQ(seen.back().event.kind, MappingEventKind::kThreadExit);
  size_t exec = 0;
  while (exec < seen.size() && seen[exec].event.kind != MappingEventKind::kExec) ++exec;
  ASSERT_LT(exec, seen.size());
  EXPECT_EQ(seen[exec].name, "true");
  for (size_t i = 0; i < seen.size(); ++i) {  // mappings of the new program come after, not before
    EXPECT_TRUE(seen[i].event.kind != MappingEventKind::kMap || i > exec);
    EXPECT_TRUE(i == 0 || seen[i - 1].event.time_ns <= seen[i].event.time_ns);
  }

  std::thread([] { ::prctl(PR_SET_NAME, "a worker"); }).join();
  bool renamed = false, forked = false;
  for (const Seen& one : drain(events, [](const MappingEvent& event) { return event.pid == ::getpid(); })) {
    if (one.event.kind == MappingEventKind::kComm) renamed = one.name == "a worker" && one.event.tid != ::getpid();
    if (one.event.kind == MappingEventKind::kThreadFork) forked = one.event.parent_tid == ::getpid();
  }
  EXPECT_TRUE(renamed);
  EXPECT_TRUE(forked);
}

TEST(MappingEvents, AreOrderedAcrossCpusAndNothingIsLostSilently) {
  OPEN_OR_SKIP(events);
  const auto cpus = *online_cpus();
  std::vector<std::thread> threads;
  constexpr int kRounds = 3000;  // more than a ring holds
  for (const int cpu : cpus) {
    threads.emplace_back([cpu] {
      cpu_set_t set;
      CPU_ZERO(&set);
      CPU_SET(cpu, &set);
      ::sched_setaffinity(0, sizeof set, &set);
      for (int i = 0; i < kRounds; ++i) {
        void* at = ::mmap(nullptr, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        ::munmap(at, 4096);
      }
    });
  }
  for (auto& thread : threads) thread.join();
  uint64_t maps = 0, last = 0, unordered = 0;
  uint64_t lost = 0;
  const auto count = [&](const MappingEvent& event) {
    if (event.time_ns < last) ++unordered;
    last = event.time_ns;
    if (event.kind == MappingEventKind::kMap) ++maps;
  };
  const auto ours = [](const MappingEvent& event) { return event.pid == ::getpid(); };
  lost += events.drain(now_ns(), ours, count);
  // The kernel tells what it dropped with the next record that fits.
  for (const int cpu : cpus) {
    std::thread([cpu] {
      cpu_set_t set;
      CPU_ZERO(&set);
      CPU_SET(cpu, &set);
      ::sched_setaffinity(0, sizeof set, &set);
      void* at = ::mmap(nullptr, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      ::munmap(at, 4096);
    }).join();
  }
  lost += events.drain(now_ns(), ours, count);
  EXPECT_EQ(unordered, 0u);
  EXPECT_GT(maps, 1000u);
  EXPECT_GT(lost, 0u);
  EXPECT_GE(maps + lost, (kRounds + 1) * cpus.size());
  EXPECT_EQ(events.counts().lost, lost);
  EXPECT_EQ(events.counts().malformed, 0u);
}

TEST(MappingEvents, HorizonHoldsBackWhatIsLater) {
  OPEN_OR_SKIP(events);
  const uint64_t before = now_ns();
  void* at = ::mmap(nullptr, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  size_t seen = 0;
  const auto ours = [](const MappingEvent& event) { return event.pid == ::getpid() && event.kind == MappingEventKind::kMap; };
  events.drain(before, ours, [&](const MappingEvent&) { ++seen; });
  EXPECT_EQ(seen, 0u);
  events.drain(now_ns(), ours, [&](const MappingEvent&) { ++seen; });
  EXPECT_EQ(seen, 1u);
  ::munmap(at, 4096);
}

}  // namespace
}  // namespace cicada::process
