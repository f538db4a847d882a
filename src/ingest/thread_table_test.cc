// SPDX-License-Identifier: Apache-2.0
#include "ingest/thread_table.h"

#include <filesystem>
#include <fstream>

#include "ingest/metadata_reader.h"
#include "process/metadata/metadata_cache.h"
#include "process/tracking/process_fixture_for_test.h"
#include "profile/compaction.h"

namespace cicada::ingest {
namespace {

using process::kMs;

// Programs of an invented machine; what /proc says of them is in files.
class ThreadTableTest : public process::ProcessTableFixture {
 protected:
  sample_record sample(Pid pid, Tid tid, uint64_t start_ns) {
    sample_record s{};
    s.pid = pid;
    s.tid = tid;
    s.time_ns = now;
    const SampledStart start = SampledStart::of(start_ns);
    s.start_ticks_low = start.ticks_low;
    s.start_in_tick = start.in_tick;
    return s;
  }
  sample_record sample(Pid pid, Tid tid) { return sample(pid, tid, kernel.processes[pid].start_ns); }
  void refresh(uint64_t known_until_ns) { threads.refresh(*table, names, *metadata, known_until_ns); }
  std::string_view name(profile::ThreadId id) const { return profile.text(profile.threads()[id.value].name); }
  const profile::Process& process(profile::ThreadId id) const { return profile.processes()[profile.threads()[id.value].process.value]; }

  static std::string temporary_directory() {
    std::string pattern = (std::filesystem::temp_directory_path() / "cicada-threads-XXXXXX").string();
    CHECK(::mkdtemp(pattern.data()) != nullptr);
    return pattern;
  }
  ~ThreadTableTest() override { std::filesystem::remove_all(proc); }

  const std::string proc = temporary_directory();
  profile::Profile profile;
  std::shared_ptr<process::ProcessMetadataCache> metadata =
      std::make_shared<process::ProcessMetadataCache>(process::ProcessMetadataCache::Options{.proc = proc});
  MetadataReader reader{metadata, false};
  ThreadTable threads{profile, reader};
};

TEST_F(ThreadTableTest, AThreadIsFoundAgain) {
  run_program(5, 7);
  const auto main = threads.find_or_add(sample(5, 5)), second = threads.find_or_add(sample(5, 6));
  EXPECT_NE(main, second);
  EXPECT_EQ(threads.find_or_add(sample(5, 5)), main);
  EXPECT_EQ(threads.find_or_add(sample(5, 6)), second);
  EXPECT_EQ(profile.processes().size(), 1u);
  EXPECT_TRUE(profile.threads()[main.value].main);
  EXPECT_FALSE(profile.threads()[second.value].main);
}

TEST_F(ThreadTableTest, APidUsedAgainIsAnotherProcess) {
  const auto first = threads.find_or_add(sample(5, 5, 1'000'000'000));
  const auto same_tick = threads.find_or_add(sample(5, 5, 1'000'000'000 + kNsPerTick / 2));
  const auto later = threads.find_or_add(sample(5, 5, 2'000'000'000));
  EXPECT_NE(first, same_tick);
  EXPECT_NE(first, later);
  EXPECT_EQ(threads.find_or_add(sample(5, 5, 1'000'000'000)), first);
  EXPECT_EQ(profile.processes().size(), 3u);
}

TEST_F(ThreadTableTest, ProcessesAndThreadsAreCalledWhatTheTrackerSays) {
  run_program(5, 7);
  const auto main = threads.find_or_add(sample(5, 5));
  EXPECT_FALSE(profile.threads()[main.value].name.valid());
  refresh(0);
  EXPECT_EQ(profile.text(process(main).name), table->find_process(5)->comm);
  EXPECT_EQ(name(main), table->find_process(5)->comm);
  names.set(5, 5, "renamed");
  now += kMs;
  const auto again = threads.find_or_add(sample(5, 5));
  EXPECT_EQ(again, main);
  refresh(0);
  EXPECT_EQ(name(main), "renamed") << "asked again for renames";
}

TEST_F(ThreadTableTest, WhoHasNoSamplesIsForgottenAndFoundAgain) {
  for (Pid pid : {5, 6, 7}) run_program(pid, static_cast<uint32_t>(pid));
  const auto gone = threads.find_or_add(sample(5, 5));
  threads.find_or_add(sample(6, 60));
  const auto kept = threads.find_or_add(sample(6, 61));
  const auto waiting = threads.find_or_add(sample(7, 7));
  refresh(0);
  EXPECT_EQ(gone.value, 0u);
  profile.append_sample({.thread = kept});
  profile::Compaction compaction(profile);
  compaction.copy({});
  compaction.finish(profile, [&](profile::RowCopier& ids) {
    ids.thread(waiting);  // of a sample that is not stored yet
    threads.rebase(ids);
  });
  EXPECT_EQ(profile.threads().size(), 2u);
  EXPECT_EQ(profile.threads()[threads.find_or_add(sample(6, 61)).value].tid, 61);
  EXPECT_EQ(process(threads.find_or_add(sample(7, 7))).pid, 7);
  EXPECT_EQ(profile.threads().size(), 2u) << "those were known";
  names.set(6, 61, "renamed");
  now += kMs;
  refresh(0);
  EXPECT_EQ(name(threads.find_or_add(sample(6, 61))), "renamed");
  EXPECT_EQ(process(threads.find_or_add(sample(5, 5))).pid, 5);
  EXPECT_EQ(profile.threads()[threads.find_or_add(sample(6, 60)).value].tid, 60);
  EXPECT_EQ(profile.processes().size(), 3u);
  refresh(0);
  EXPECT_EQ(profile.text(process(threads.find_or_add(sample(5, 5))).name), table->find_process(5)->comm);
}

TEST_F(ThreadTableTest, AThreadWithoutANameIsCalledAsItsProcess) {
  run_program(5, 7);
  const auto second = threads.find_or_add(sample(5, 999));
  refresh(0);
  EXPECT_EQ(name(second), table->find_process(5)->comm);
}

TEST_F(ThreadTableTest, WhoIsGoneIsNotAskedAboutForEver) {
  run_program(5, 7);
  const auto gone = threads.find_or_add(sample(6, 6, 6'000'000'000));
  for (int i = 0; i < 10; ++i) refresh(now);  // first sampled at `now`: its fork may be on its way
  run_program(6, 8);
  refresh(now);
  EXPECT_EQ(profile.text(process(gone).name), table->find_process(6)->comm);

  const auto never = threads.find_or_add(sample(8, 8, 8'000'000'000));
  for (int i = 0; i < 3; ++i) refresh(now + 1);
  run_program(8, 9);
  refresh(now + 1);
  EXPECT_FALSE(process(never).name.valid());
}

TEST_F(ThreadTableTest, TheIdleTaskNeedsNobody) {
  const auto idle = threads.find_or_add(sample(0, 0, 0));
  EXPECT_EQ(name(idle), "idle");
  EXPECT_EQ(profile.text(process(idle).name), "idle");
}

// A kernel thread is in no table of processes: what its thread is called, it is called.
TEST_F(ThreadTableTest, AKernelThreadIsAProcessOfItsName) {
  names.set(44, 44, "kworker/0:1");
  const auto kworker = threads.find_or_add(sample(44, 44, 0));
  refresh(now + 1);
  EXPECT_EQ(name(kworker), "kworker/0:1");
  EXPECT_EQ(profile.text(process(kworker).name), "kworker/0:1");
}

TEST_F(ThreadTableTest, CommandLinesAreReadOnceAndKeptWithoutArguments) {
  run_program(5, 7);
  ASSERT_TRUE(std::filesystem::create_directories(proc + "/5"));
  std::ofstream(proc + "/5/stat") << "5 (prog) R 1 1 1 0 -1 4194560 1 0 0 0 1 0 0 0 20 0 1 0 500 1 1\n";
  std::ofstream(proc + "/5/cmdline") << std::string("/bin/prog\0--password=x", 22) << '\0';
  std::ofstream(proc + "/5/cgroup") << "0::/a/b\n";
  const auto main = threads.find_or_add(sample(5, 5));
  while (!process(main).cmdline.valid()) {
    reader.sync();
    refresh(0);
  }
  EXPECT_EQ(profile.text(process(main).cmdline), "/bin/prog");
  EXPECT_EQ(profile.text(process(main).cgroup), "/a/b");
}

}  // namespace
}  // namespace cicada::ingest
