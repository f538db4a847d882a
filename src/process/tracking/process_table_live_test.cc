// SPDX-License-Identifier: Apache-2.0
#include "process/tracking/process_table.h"

#include <fcntl.h>
#include <gnu/libc-version.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <chrono>

#include "process/images/image_registry.h"
#include "process/tracking/mapping_events.h"
#include "process/procfs/proc_fs.h"
#include "process/tracking/process_fixture_for_test.h"

namespace cicada::process {
namespace {

// The same machine with real events, real files and real children; only the BPF maps are containers.
class Live : public testing::Test {
 protected:
  void SetUp() override {
    auto opened = MappingEvents::open({});
    if (!opened) GTEST_SKIP() << opened.error().message();
    events_.emplace(*std::move(opened));
  }
  void turn() {
    pollfd fds[] = {{events_->poll_fd(), POLLIN, 0}, {images.ready_fd(), POLLIN, 0}};
    ::poll(fds, 2, 5);
    timespec time{};
    ::clock_gettime(CLOCK_MONOTONIC, &time);
    const uint64_t now = static_cast<uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(time.tv_nsec);
    const uint64_t lost = events_->drain(now, [this](const MappingEvent& e) { return table.wants(e); }, [this](const MappingEvent& e) { table.apply(e); });
    if (lost > 0) table.report_lost();
    table.advance(now);
  }
  // Until the kernel side names this address as a file called `name`.
  bool wait_for(Pid pid, uint64_t address, std::string_view name) {
    // By time, not by turns: where others map much, turns do not wait, and a rescan comes once a second.
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(5);
    while (std::chrono::steady_clock::now() < deadline) {
      turn();
      const uint32_t image = kernel.image(pid, address);
      const auto info = images.find(image);
      if (info && info->path.ends_with(name)) return true;
    }
    return false;
  }
  FakeKernel kernel;
  ImageRegistry images{{}};
  ThreadNames names;
  ProcessTable table{kernel, images, names, {}};
  std::optional<MappingEvents> events_;
};

TEST_F(Live, AdoptedProcessHasEveryExecutableMappingOfItsMapsFile) {
  ASSERT_TRUE(table.adopt(::getpid()));
  ASSERT_TRUE(wait_for(::getpid(), reinterpret_cast<uint64_t>(&::gnu_get_libc_version), "libc.so.6"));  // sanitizers leave it alone
  EXPECT_TRUE(wait_for(::getpid(), reinterpret_cast<uint64_t>(&parse_maps), "process_tests"));
  const auto maps = read_maps(::getpid(), MapsFilter::kExecutable);
  for (int i = 0; i < 50; ++i) turn();
  for (const MapsEntry& entry : maps->entries) {
    if (entry.path == "[vsyscall]") continue;
    const uint32_t image = kernel.image(::getpid(), entry.range.begin.value);
    ASSERT_NE(image, 0u) << entry.path;
    EXPECT_TRUE(image == 9999 || images.find(image)->path == entry.path) << entry.path;
  }
  EXPECT_EQ(names.find(::getpid(), ~uint64_t{0}), "process_tests");
}

TEST_F(Live, LibraryLoadedLaterAndReplacedAtItsAddress) {
  ASSERT_TRUE(table.adopt(::getpid()));
  const UniqueFd a(::open("/bin/true", O_RDONLY | O_CLOEXEC)), b(::open("/bin/false", O_RDONLY | O_CLOEXEC));
  // Ours, so that no other thread's memory is replaced.
  auto* const room = static_cast<char*>(::mmap(nullptr, 32768, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(room, MAP_FAILED);
  void* at = ::mmap(room + 16384, 16384, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, a.get(), 0);
  EXPECT_TRUE(wait_for(::getpid(), reinterpret_cast<uint64_t>(at), "/true"));
  ::mmap(at, 16384, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  void* again = ::mmap(at, 16384, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, b.get(), 0);
  ASSERT_EQ(again, at);
  EXPECT_TRUE(wait_for(::getpid(), reinterpret_cast<uint64_t>(at), "/false"));
  // mremap tells nobody; a miss makes a rescan.
  void* moved = ::mremap(at, 16384, 16384, MREMAP_MAYMOVE | MREMAP_FIXED, room);
  ASSERT_NE(moved, MAP_FAILED);
  turn();
  EXPECT_EQ(kernel.image(::getpid(), reinterpret_cast<uint64_t>(moved)), 0u);
  table.request_rescan(::getpid());
  EXPECT_TRUE(wait_for(::getpid(), reinterpret_cast<uint64_t>(moved), "/false"));
  EXPECT_EQ(kernel.image(::getpid(), reinterpret_cast<uint64_t>(at)), 0u);
  ::munmap(moved, 16384);
}

TEST_F(Live, ProgramThatRanAndWentIsKnownByFile) {
  // The id comes from the test, as a BPF program would give it; mappings and images are the machine's.
  char path[] = "/tmp/cicada process table test XXXXXX";
  ::close(::mkstemp(path));
  ASSERT_EQ(::system(fmt::format("cp /bin/sleep '{0}' && chmod 755 '{0}'", path).c_str()), 0);
  const Pid child = ::fork();
  if (child == 0) {
    ::execl(path, "x", "1000", nullptr);
    ::_exit(127);
  }
  for (int i = 0; i < 300'000; ++i) {
    const auto text = read_proc_file(fmt::format("/proc/{}/maps", child), 1 << 20);
    if (text && text->find("libc.so.6") != std::string::npos && text->find(path) != std::string::npos) break;
    ::usleep(1000);
  }
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  ::unlink(path);  // deleted while it runs
  const auto maps = read_maps(child, MapsFilter::kExecutable);
  lifecycle_record exec{};
  exec.kind = RECORD_EXEC;
  exec.pid = child;
  exec.start_ns = 1;
  exec.time_ns = static_cast<uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(time.tv_nsec);
  exec.address_space = kernel.next_id++;
  kernel.processes[child] = {1, 0, exec.address_space, 0, 0};
  table.apply(exec);
  EXPECT_TRUE(wait_for(child, maps->entries.front().range.begin.value, path));
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  const uint32_t image = kernel.image(child, maps->entries.front().range.begin.value);
  EXPECT_TRUE(images.open(image));  // pinned: the file has no name and no process any more
  EXPECT_TRUE(images.open(image));
}

}  // namespace
}  // namespace cicada::process
