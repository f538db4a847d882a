// SPDX-License-Identifier: Apache-2.0
#include "process/procfs/proc_readers.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <future>
#include <set>

#include "base/check.h"
#include "process/procfs/proc_fs.h"

namespace cicada::process {
namespace {

constexpr ProcReaders::Options kPatient{.timeout = std::chrono::minutes(5)};

// Our children that read.
std::set<Pid> readers_of_ours() {
  std::set<Pid> found;
  for (const Tid thread : list_threads(::getpid())) {
    std::ifstream children(fmt::format("/proc/self/task/{}/children", thread));
    for (Pid child = 0; children >> child;) {
      const auto stat = read_stat(child);
      if (stat && stat->comm == "cicada-proc" && stat->state != 'Z') found.insert(child);
    }
  }
  return found;
}

std::vector<Result<MapsFile>> read_maps_by(ProcReaders& readers, const std::vector<Pid>& pids) { return readers.read_maps(0, pids); }

// As if the files that they read did not answer. So many there are.
std::set<Pid> stop_all(size_t count) {
  CHECK(std::filesystem::exists("/proc/thread-self/children"));  // CONFIG_PROC_CHILDREN
  std::set<Pid> readers;
  while (readers.size() != count) readers = readers_of_ours();  // they have a name soon
  for (const Pid reader : readers) {
    ::kill(reader, SIGSTOP);
    while (true) {
      const auto stat = read_stat(reader);
      if (!stat || stat->state == 'T') break;
    }
  }
  return readers;
}

TEST(ProcReaders, ReadWhatIsThere) {
  ProcReaders readers(kPatient);
  const auto text = readers.read_file(0, "/proc/self/cmdline", 1 << 20);
  ASSERT_TRUE(text) << text.error().message();
  EXPECT_EQ(*text, read_proc_file("/proc/self/cmdline", 1 << 20).value());
  EXPECT_EQ(readers.read_file(0, "/proc/self/cmdline", 3).value(), text->substr(0, 3));
  EXPECT_EQ(readers.read_file(0, "/proc/self/cmdline", 0).value(), "");
  EXPECT_EQ(readers.abandoned(), 0U);
}

TEST(ProcReaders, PassOnInParts) {
  const UniqueFd file(::memfd_create("large", MFD_CLOEXEC));
  std::string text;
  for (int i = 0; text.size() < (1 << 20) + 17; ++i) text += fmt::format("{} ", i);
  ASSERT_EQ(::write(file.get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
  ProcReaders readers(kPatient);
  const std::string path = fmt::format("/proc/{}/fd/{}", ::getpid(), file.get());
  EXPECT_TRUE(readers.read_file(0, path, 2 << 20).value() == text);
  EXPECT_TRUE(readers.read_file(0, path, 300'000).value() == text.substr(0, 300'000));
}

TEST(ProcReaders, SayWhatTheSystemSays) {
  ProcReaders readers(kPatient);
  EXPECT_EQ(readers.read_file(0, "/proc/1073741823/environ", 100).error().kind(), ErrorKind::kGone);
  EXPECT_EQ(read_maps_by(readers, {0x3fffffff}).front().error().kind(), ErrorKind::kGone);
  EXPECT_EQ(readers.read_file(0, "/proc/self/mem", 100).error().kind(), ErrorKind::kIo);
  EXPECT_EQ(readers.open_handle(0, "/proc/self/map_files/1-2").error().kind(), ErrorKind::kNotFound);
  EXPECT_FALSE(readers.read_file(0, "/" + std::string(10'000, 'x'), 100));
  EXPECT_TRUE(readers.read_file(0, "/proc/self/stat", 100)) << "and go on";
}

TEST(ProcReaders, ReadMappingsAsWeWould) {
  std::vector<void*> many;  // so that they do not fit one answer
  for (int i = 0; i < 4000; ++i) {
    void* const at = ::mmap(nullptr, 8192, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_EQ(::mprotect(at, 4096, PROT_READ), 0);
    many.push_back(at);
  }
  ProcReaders readers(kPatient);
  const auto ours = read_maps(::getpid(), MapsFilter::kExecutable), theirs = std::move(read_maps_by(readers, {::getpid()}).front());
  for (void* const at : many) ::munmap(at, 8192);
  ASSERT_TRUE(ours && theirs);
  EXPECT_EQ(theirs->malformed_lines, 0U);
  ASSERT_GT(ours->entries.size(), many.size());
  ASSERT_EQ(ours->entries.size(), theirs->entries.size());
  for (size_t i = 0; i < ours->entries.size(); ++i) {
    EXPECT_EQ(ours->entries[i].range, theirs->entries[i].range);
    EXPECT_EQ(ours->entries[i].path, theirs->entries[i].path);
  }
}

TEST(ProcReaders, ReadMappingsOfManyInTheirOrder) {
  ProcReaders readers(kPatient);
  std::vector<Pid> pids(ProcReaders::kMaxPids, ::getpid());
  pids[3] = pids.back() = 0x3fffffff;
  pids[5] = ::getppid();
  const auto read = read_maps_by(readers, pids);
  ASSERT_EQ(read.size(), pids.size());
  const auto ours = read_maps(::getpid(), MapsFilter::kExecutable);
  for (size_t i = 0; i < read.size(); ++i) {
    if (pids[i] == 0x3fffffff) {
      EXPECT_EQ(read[i].error().kind(), ErrorKind::kGone);
    } else if (pids[i] == ::getpid()) {
      EXPECT_EQ(read[i].value().entries.size(), ours.value().entries.size());
    }
  }
}

TEST(ProcReaders, OfManyOnlyWhoDoesNotAnswerIsUnread) {
  ProcReaders readers({.timeout = std::chrono::seconds(5), .kept = 1});
  stop_all(1);
  const auto read = read_maps_by(readers, {::getpid(), ::getpid(), ::getpid()});
  ASSERT_EQ(read.size(), 3U);
  EXPECT_EQ(read[0].error().kind(), ErrorKind::kIo);
  EXPECT_TRUE(read[1] && read[2]);
}

TEST(ProcReaders, HandOverHandles) {
  ProcReaders readers(kPatient);
  const auto handle = readers.open_handle(0, "/proc/self/exe");
  ASSERT_TRUE(handle);
  EXPECT_EQ(::fcntl(handle->get(), F_GETFL) & O_PATH, O_PATH);
  EXPECT_EQ(std::filesystem::read_symlink(fmt::format("/proc/self/fd/{}", handle->get())), std::filesystem::read_symlink("/proc/self/exe"));
}

TEST(ProcReaders, OneThatIsSilentIsReplaced) {
  ProcReaders readers({.timeout = std::chrono::seconds(5), .kept = 1});
  const auto first = stop_all(1);
  const auto silent = readers.read_file(0, "/proc/self/stat", 100);
  ASSERT_FALSE(silent);
  EXPECT_EQ(silent.error().kind(), ErrorKind::kIo);
  EXPECT_EQ(readers.abandoned(), 1U);
  EXPECT_TRUE(readers.read_file(0, "/proc/self/stat", 100));
  while (readers_of_ours().contains(*first.begin())) {
  }
}

TEST(ProcReaders, OneThatWasEndedIsReplaced) {
  ProcReaders readers({.timeout = std::chrono::minutes(5), .kept = 1});
  for (const Pid reader : stop_all(1)) ::kill(reader, SIGKILL);
  while (!readers_of_ours().empty()) {
  }
  const auto text = readers.read_file(0, "/proc/self/stat", 100);
  EXPECT_TRUE(text) << text.error().message();
  EXPECT_EQ(readers.abandoned(), 0U);
}

// Two of one user that hang keep neither another user waiting nor the end.
TEST(ProcReaders, OwnersDoNotWaitForEachOther) {
  ProcReaders readers({.timeout = std::chrono::minutes(5), .kept = 2});
  stop_all(2);
  std::stop_source stop;
  std::vector<std::future<bool>> hang;
  for (int i = 0; i < 3; ++i)
    hang.push_back(std::async(std::launch::async, [&] { return bool(readers.read_file(1000, "/proc/self/stat", 100, stop.get_token())); }));
  while (readers.idle() != 0) {
  }
  const auto others = readers.read_file(1001, "/proc/self/stat", 100);
  EXPECT_TRUE(others) << others.error().message();
  for (const auto& one : hang) EXPECT_NE(one.wait_for(std::chrono::seconds(0)), std::future_status::ready);
  stop.request_stop();
  for (auto& one : hang) EXPECT_FALSE(one.get());
  EXPECT_EQ(readers.abandoned(), 0U) << "the end is not their fault";
}

TEST(ProcReaders, EndWithWhoHasThem) {
  { const ProcReaders readers(kPatient); }
  while (!readers_of_ours().empty()) {
  }
}

}  // namespace
}  // namespace cicada::process
