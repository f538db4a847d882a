// SPDX-License-Identifier: Apache-2.0
#include "process/metadata/metadata_cache.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <future>
#include <sstream>

#include "process/procfs/proc_fs.h"

namespace cicada::process {
namespace {

namespace fs = std::filesystem;

// /bin/sleep with a secret in its arguments and environment; `read` in the shell would change comm only.
class Sleeper {
 public:
  Sleeper() {
    pid_ = ::fork();
    if (pid_ == 0) {
      const char* argv[] = {"sleep", "1000", nullptr};
      const char* envp[] = {"TOKEN=hunter2", "EMPTY=", "TOKENS=no", nullptr};
      if (::chdir("/tmp") != 0) ::_exit(1);
      ::execve("/bin/sleep", const_cast<char**>(argv), const_cast<char**>(envp));
      ::_exit(127);
    }
    for (int i = 0; i < 300'000; ++i) {  // until the exec is done: comm is set before the arguments are there
      const auto cmdline = read_proc_file(fmt::format("/proc/{}/cmdline", pid_), 64);
      if (cmdline && cmdline->starts_with("sleep")) break;
      ::usleep(1000);
    }
  }
  ~Sleeper() { end(); }
  void end() {
    if (pid_ == 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = 0;
  }
  Pid pid() const { return pid_; }

 private:
  Pid pid_ = 0;
};

// A /proc of our own, to stage what cannot be timed with real processes.
class FakeProc {
 public:
  FakeProc() {
    char name[] = "/tmp/cicada-proc-XXXXXX";
    path_ = ::mkdtemp(name);
  }
  ~FakeProc() { fs::remove_all(path_); }
  const std::string& path() const { return path_; }
  void process(Pid pid, uint64_t start, const std::string& cmdline) const {
    fs::create_directories(fmt::format("{}/{}", path_, pid));
    write(pid, "stat", fmt::format("{} (x) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 {} 0 0", pid, start));
    write(pid, "cmdline", cmdline);
    write(pid, "environ", std::string("A=1\0B=2\0", 8));
  }
  void write(Pid pid, const std::string& file, const std::string& text) const {
    std::ofstream(fmt::format("{}/{}/{}", path_, pid, file), std::ios::binary) << text;
  }
  void remove(Pid pid) const { fs::remove_all(fmt::format("{}/{}", path_, pid)); }
  ProcessMetadataCache::Options options() const {
    ProcessMetadataCache::Options options;
    options.proc = path_;
    return options;
  }

 private:
  std::string path_;
};

TEST(ProcessMetadataCache, ReadsARealProcess) {
  const Sleeper sleeper;
  ProcessMetadataCache cache;
  const ProcessKey key = *cache.find_key(sleeper.pid());
  EXPECT_EQ(cache.cmdline(key), (std::vector<std::string>{"sleep", "1000"}));
  EXPECT_EQ(cache.cwd(key), "/tmp");
  EXPECT_EQ(fs::path(*cache.exe(key)).filename(), fs::canonical("/bin/sleep").filename());
  EXPECT_TRUE(cache.cgroup(key)->starts_with("/"));
  EXPECT_EQ(cache.mount_namespace(key), cache.mount_namespace(*cache.find_key(::getpid())));
  EXPECT_TRUE(cache.pid_namespace(key));
  EXPECT_EQ(cache.environ_var(key, "TOKEN"), "hunter2");
  EXPECT_EQ(cache.environ_var(key, "EMPTY"), "");
  EXPECT_FALSE(cache.environ_var(key, "TOK"));
  EXPECT_FALSE(cache.environ_var(key, ""));
  EXPECT_FALSE(cache.environ_var(key, "TOKEN=h"));
  EXPECT_EQ(cache.environ_var(sleeper.pid(), "TOKENS"), "no");
  EXPECT_GT(cache.stats().hits, 4u);
}

TEST(ProcessMetadataCache, NothingReadIsNoAnswerAndLookedForAgain) {
  const FakeProc proc;
  proc.process(7, 100, "");  // exec under way
  proc.write(7, "environ", "");
  ProcessMetadataCache cache(proc.options());
  const ProcessKey key = *cache.find_key(7);
  EXPECT_FALSE(cache.cmdline(key));
  EXPECT_FALSE(cache.environ_var(key, "A"));
  proc.process(7, 100, std::string("x\0", 2));
  EXPECT_EQ(cache.cmdline(key), std::vector<std::string>{"x"});
  EXPECT_EQ(cache.environ_var(key, "A"), "1");
}

TEST(ProcessMetadataCache, PrintsCountsNeverValues) {
  const Sleeper sleeper;
  ProcessMetadataCache cache;
  const ProcessKey key = *cache.find_key(sleeper.pid());
  ASSERT_TRUE(cache.cmdline(key) && cache.environ(key));
  std::ostringstream out;
  out << *cache.snapshot(key) << cache.stats();
  EXPECT_NE(out.str().find("2 arguments"), std::string::npos);
  EXPECT_NE(out.str().find("3 environment variables"), std::string::npos);
  for (const char* secret : {"hunter2", "TOKEN", "1000"}) EXPECT_EQ(out.str().find(secret), std::string::npos) << secret;
}

TEST(ProcessMetadataCache, VanishedProcessGivesWhatWasReadAndNothingElse) {
  Sleeper sleeper;
  ProcessMetadataCache cache;
  const ProcessKey key = *cache.find_key(sleeper.pid());
  ASSERT_TRUE(cache.cmdline(key));
  sleeper.end();
  cache.on_exit(key);
  EXPECT_TRUE(cache.cmdline(key));
  EXPECT_FALSE(cache.cwd(key));
  cache.end_cycle();  // of the exit: late samples still find it
  EXPECT_TRUE(cache.cmdline(key));
  cache.end_cycle();
  EXPECT_FALSE(cache.cmdline(key));
  EXPECT_EQ(cache.stats().entries, 0u);
  EXPECT_EQ(cache.stats().bytes, 0u);
}

TEST(ProcessMetadataCache, ReusedPidIsAnotherProcessOnEveryAccessor) {
  const FakeProc proc;
  ProcessMetadataCache cache(proc.options());
  proc.process(7, 100, std::string("old\0", 4));
  const ProcessKey old{7, 100}, young{7, 200};
  EXPECT_EQ(cache.cmdline(old)->front(), "old");
  proc.process(7, 200, std::string("young\0", 6));
  EXPECT_FALSE(cache.environ(old));
  EXPECT_FALSE(cache.environ_var(old, "A"));
  EXPECT_FALSE(cache.cwd(old) || cache.exe(old) || cache.cgroup(old) || cache.mount_namespace(old) || cache.pid_namespace(old));
  EXPECT_EQ(cache.cmdline(young)->front(), "young");
  EXPECT_EQ(cache.environ_var(7, "B"), "2");
  cache.on_exit(old);
  cache.end_cycle();
  cache.end_cycle();
  EXPECT_TRUE(cache.snapshot(young));  // evicted by identity, not by pid
  EXPECT_FALSE(cache.snapshot(old));
}

TEST(ProcessMetadataCache, ExecInvalidates) {
  const FakeProc proc;
  ProcessMetadataCache cache(proc.options());
  proc.process(7, 100, std::string("sh\0-c\0", 6));
  EXPECT_EQ(cache.cmdline({7, 100})->size(), 2u);
  proc.write(7, "cmdline", std::string("make\0", 5));
  EXPECT_EQ(cache.cmdline({7, 100})->size(), 2u);
  cache.on_exec({7, 100});
  EXPECT_EQ(cache.cmdline({7, 100}), std::vector<std::string>{"make"});
  EXPECT_EQ(cache.stats().invalidated, 1u);
}

TEST(ProcessMetadataCache, IsBoundedAndPrunesTheDeadFirst) {
  const FakeProc proc;
  auto options = proc.options();
  options.max_entries = 10;
  ProcessMetadataCache cache(options);
  for (Pid pid = 1; pid <= 10; ++pid) {
    proc.process(pid, 1, std::string("x\0", 2));
    ASSERT_TRUE(cache.cmdline({pid, 1}));
  }
  proc.remove(9);  // dead, and nobody said so; 1 is the least recently used
  proc.process(11, 1, std::string("x\0", 2));
  EXPECT_TRUE(cache.cmdline({11, 1}));
  EXPECT_EQ(cache.stats().pruned, 1u);
  EXPECT_TRUE(cache.snapshot({1, 1}));
  EXPECT_FALSE(cache.snapshot({9, 1}));
  proc.process(12, 1, std::string("x\0", 2));
  EXPECT_TRUE(cache.cmdline({12, 1}));
  EXPECT_EQ(cache.stats().entries, 10u);
  EXPECT_FALSE(cache.snapshot({1, 1}));
}

// A file of /proc that takes its time keeps nobody waiting but who asked for it: looking whether a process is still there, and for the dead
// when the cache is full.
TEST(ProcessMetadataCache, NobodyWaitsForWhoReadsProc) {
  for (const Pid slow : {7, 8}) {
    const FakeProc proc;
    proc.process(7, 1, std::string("x\0", 2));
    proc.process(8, 1, std::string("y\0", 2));
    std::promise<void> reading, answer;
    const std::shared_future<void> answered = answer.get_future().share();
    std::atomic<bool> is_slow = false;
    auto options = proc.options();
    options.max_entries = 1;
    options.read_file = [&](const std::string& path, size_t max_bytes) {
      if (path == fmt::format("{}/{}/stat", proc.path(), slow) && is_slow.exchange(false)) {
        reading.set_value();
        answered.wait();
      }
      return read_proc_file(path, max_bytes);
    };
    ProcessMetadataCache cache(options);
    ASSERT_TRUE(cache.cmdline({8, 1}));
    is_slow = true;
    auto reader = std::async(std::launch::async, [&] { return cache.cmdline({7, 1}); });
    reading.get_future().wait();
    auto others = std::async(std::launch::async, [&] {
      EXPECT_TRUE(cache.snapshot({8, 1}));
      EXPECT_TRUE(cache.cmdline({8, 1}));
      cache.on_exec({9, 1});
      cache.on_exit({9, 1});
      cache.end_cycle();
      return cache.stats().entries;
    });
    EXPECT_EQ(others.wait_for(std::chrono::minutes(1)), std::future_status::ready) << "they wait for a file of /proc of process " << slow;
    answer.set_value();
    EXPECT_EQ(others.get(), 1U);
    EXPECT_TRUE(reader.get());
  }
}

TEST(ProcessMetadataCache, ValuesAreCutAndTheirBytesBounded) {
  const FakeProc proc;
  auto options = proc.options();
  options.max_value_bytes = 1000;
  options.max_bytes = 3000;
  ProcessMetadataCache cache(options);
  for (Pid pid = 1; pid <= 20; ++pid) {
    proc.process(pid, 1, std::string("head\0", 5) + std::string(400, 'a') + '\0' + std::string(5000, 'b') + '\0');
    const auto arguments = cache.cmdline({pid, 1});
    ASSERT_TRUE(arguments);
    ASSERT_EQ(arguments->size(), 2u);  // the third does not end within the bound
    EXPECT_LE(cache.stats().bytes, 3000u);
  }
  EXPECT_GT(cache.stats().evicted, 10u);
}

TEST(ProcessMetadataCache, NoSuchProcessLeavesNoEntry) {
  ProcessMetadataCache cache;
  EXPECT_FALSE(cache.cmdline({0x3fffffff, 1}));
  EXPECT_FALSE(cache.environ_var(0x3fffffff, "PATH"));
  EXPECT_EQ(cache.stats().entries, 0u);
}

}  // namespace
}  // namespace cicada::process
