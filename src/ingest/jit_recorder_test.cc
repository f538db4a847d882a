// SPDX-License-Identifier: Apache-2.0
#include "ingest/jit_recorder.h"

#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/diagnostics.h"

namespace cicada::ingest {
namespace {

// /proc with processes that began at tick 500.
class FakeProc {
 public:
  FakeProc() {
    std::string pattern = (std::filesystem::temp_directory_path() / "cicada-jit-XXXXXX").string();
    CHECK(::mkdtemp(pattern.data()) != nullptr);
    path_ = pattern;
    diagnostics().set_handler([this](Severity, const std::string& line) { lines.push_back(line); });
  }
  ~FakeProc() {
    diagnostics().set_handler({});
    std::filesystem::remove_all(path_);
  }
  FakeProc(const FakeProc&) = delete;
  FakeProc& operator=(const FakeProc&) = delete;
  const std::string& path() const { return path_; }
  std::string path(Pid pid, const std::string& name) const { return fmt::format("{}/{}/{}", path_, pid, name); }
  void add(Pid pid) const {
    write(pid, "status", fmt::format("Uid:\t{0}\t{0}\t{0}\t{0}\nGid:\t{1}\t{1}\t{1}\t{1}\nGroups:\t\nNSpid:\t{2}\n", ::geteuid(), ::getegid(), pid));
    write(pid, "stat", fmt::format("{} (java) S 1 1 1 0 -1 4194560 1 0 0 0 1 0 0 0 20 0 1 0 500 1 1\n", pid));
    std::filesystem::create_directories(path(pid, "root/tmp"));
  }
  // What is left of a process that ended: nothing by its pid. Its root directory is a directory like any other.
  void end(Pid pid) const {
    std::filesystem::rename(path(pid, "root"), path_ + "/root-of-" + std::to_string(pid));
    std::filesystem::remove_all(fmt::format("{}/{}", path_, pid));
  }
  void write(Pid pid, const std::string& name, const std::string& text) const { write(path(pid, name), text); }
  static void write(const std::string& file, const std::string& text) {
    std::filesystem::create_directories(std::filesystem::path(file).parent_path());
    std::ofstream(file) << text;
  }
  std::vector<std::string> lines;

 private:
  std::string path_;
};

void wait_until_held(const FakeProc& proc, Pid pid) {
  const std::string wanted = std::filesystem::canonical(proc.path(pid, "root")).string();
  for (int tries = 0; tries < 60'000; ++tries, std::this_thread::sleep_for(std::chrono::milliseconds(5))) {
    for (const auto& fd : std::filesystem::directory_iterator("/proc/self/fd")) {
      std::error_code error;
      if (std::filesystem::read_symlink(fd.path(), error) == wanted) return;
    }
  }
  FAIL() << "nobody holds " << wanted;
}

TEST(JitRecorder, ReadsAMapThatTheProcessWroteWhenItEnded) {
  const FakeProc proc;
  proc.add(41);
  JitRecorder recorder({}, proc.path());
  recorder.note_sampled({{41, 500, 7}});
  wait_until_held(proc, 41);
  proc.end(41);
  FakeProc::write(proc.path() + "/root-of-41/tmp/perf-41.map", "1000 20 Lorg/App;::run\n");
  recorder.note_exit(41);
  recorder.finish();
  const auto symbols = recorder.take_new();
  ASSERT_EQ(symbols.size(), 1U);
  EXPECT_EQ(symbols[0].name, "org.App.run");
  EXPECT_EQ(symbols[0].address_space, 7U);
  EXPECT_TRUE(proc.lines.empty());
}

TEST(JitRecorder, ReadsWhatWasWrittenAfterTheMapWasOpened) {
  const FakeProc proc;
  proc.add(41);
  proc.write(41, "root/tmp/perf-41.map", "1000 20 first\n");
  JitRecorder recorder({}, proc.path());
  recorder.note_sampled({{41, 500, 7}});
  std::ofstream(proc.path(41, "root/tmp/perf-41.map"), std::ios::app) << "2000 20 second\n3000 20 unfinish";
  recorder.finish();
  const auto symbols = recorder.take_new();
  ASSERT_EQ(symbols.size(), 2U);
  EXPECT_EQ(symbols[1].name, "second");
}

// A jitdump with one function of 32 bytes at 0x1000.
std::string jitdump_of(uint32_t pid, const std::string& name) {
  std::string out;
  const auto u32 = [&](uint32_t v) { out.append(reinterpret_cast<const char*>(&v), 4); };
  const auto u64 = [&](uint64_t v) { out.append(reinterpret_cast<const char*>(&v), 8); };
  for (const uint32_t word : {0x4A695444U, 1U, 40U, 62U, 0U, pid}) u32(word);
  u64(1), u64(0);
  u32(0), u32(static_cast<uint32_t>(16 + 40 + name.size() + 1)), u64(0);
  u32(pid), u32(pid), u64(0x1000), u64(0x1000), u64(0x20), u64(1);
  return out + name + '\0';
}

TEST(JitRecorder, FindsADumpThatIsNotMappedInTheWorkingDirectory) {
  for (const char* place : {"cwd/jit-41.dump", "root/tmp/jit-41.dump"}) {
    const FakeProc proc;
    proc.add(41);
    proc.write(41, place, jitdump_of(41, "inTheDump"));
    JitRecorder recorder({}, proc.path());
    recorder.note_sampled({{41, 500, 7}});
    recorder.finish();
    const auto symbols = recorder.take_new();
    ASSERT_EQ(symbols.size(), 1U) << place;
    EXPECT_EQ(symbols[0].name, "inTheDump");
  }
  const FakeProc proc;
  proc.add(41);
  proc.write(41, "cwd/jit-41.dump", jitdump_of(42, "another"));
  JitRecorder recorder({}, proc.path());
  recorder.note_sampled({{41, 500, 7}});
  recorder.finish();
  EXPECT_TRUE(recorder.take_new().empty());
}

TEST(JitRecorder, LeavesTheMapOfAProcessWithAReusedPidAlone) {
  const FakeProc proc;
  proc.add(41);
  proc.write(41, "root/tmp/perf-41.map", "1000 20 somebody_elses\n");
  JitRecorder recorder({}, proc.path());
  recorder.note_sampled({{41, 499, 7}});  // what was sampled began a tick earlier
  recorder.finish();
  EXPECT_TRUE(recorder.take_new().empty());
}

TEST(JitRecorder, GivesNamesWhileTheProcessRuns) {
  const FakeProc proc;
  proc.add(41);
  proc.write(41, "root/tmp/perf-41.map", "1000 20 first\n");
  JitRecorder recorder({}, proc.path());
  std::vector<symbolize::JitSymbol> names;
  for (int tries = 0; tries < 60'000 && names.empty(); ++tries, std::this_thread::sleep_for(std::chrono::milliseconds(5))) {
    recorder.note_sampled({{41, 500, 7}});
    names = recorder.take_new();
  }
  ASSERT_EQ(names.size(), 1U);
  recorder.finish();
  EXPECT_TRUE(recorder.take_new().empty()) << "each name is given once";
}

TEST(JitRecorder, SaysOncePerFileThatItCannotBeUsed) {
  const FakeProc proc;
  proc.add(43);  // whose files no other test has reported
  std::filesystem::create_directories(proc.path(43, "root/tmp/perf-43.map"));
  JitRecorder recorder({}, proc.path());
  for (int i = 0; i < 3; ++i) recorder.note_sampled({{43, 500, 7}});
  recorder.finish();
  EXPECT_TRUE(recorder.take_new().empty());
  EXPECT_EQ(proc.lines.size(), 1U) << fmt::format("{}", fmt::join(proc.lines, "\n"));
}

}  // namespace
}  // namespace cicada::ingest
