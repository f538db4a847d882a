// SPDX-License-Identifier: Apache-2.0
#include "process/procfs/maps_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/unique_fd.h"

namespace cicada::process {
namespace {

TEST(MapsFile, ReadsEveryField) {
  const auto entry = find_maps_entry("7f3a1c000000-7f3a1c021000 r-xp 00001000 08:1f 393449                     /usr/lib/a b.so");
  ASSERT_TRUE(entry);
  EXPECT_EQ(entry->range.begin.value, 0x7f3a1c000000u);
  EXPECT_EQ(entry->range.end.value, 0x7f3a1c021000u);
  EXPECT_EQ(entry->offset.value, 0x1000u);
  EXPECT_EQ(entry->file, (FileIdentity{8, 0x1f, 393449, 0}));
  EXPECT_TRUE(entry->readable && entry->executable && !entry->writable && !entry->shared && !entry->deleted);
  EXPECT_EQ(entry->path, "/usr/lib/a b.so");
}

TEST(MapsFile, TakesOddNamesApart) {
  const std::string head = "1000-2000 r-xp 00000000 08:01 5    ";
  EXPECT_EQ(find_maps_entry(head + "/tmp/new\\012line")->path, "/tmp/new\nline");
  EXPECT_TRUE(find_maps_entry(head + "/tmp/x (deleted)")->deleted);
  EXPECT_EQ(find_maps_entry(head + "/tmp/x (deleted)")->path, "/tmp/x");
  EXPECT_EQ(find_maps_entry(head + "/tmp/ends with blanks  ")->path, "/tmp/ends with blanks  ");
  EXPECT_EQ(find_maps_entry(head + "[vdso]")->path, "[vdso]");
  EXPECT_EQ(find_maps_entry(head + "/tmp/\\0")->path, "/tmp/\\0");
  EXPECT_EQ(find_maps_entry("1000-2000 rwxp 00000000 00:00 0 ")->path, "");
  EXPECT_EQ(find_maps_entry("1000-2000 rwxp 00000000 00:00 0")->path, "");
  EXPECT_EQ(find_maps_entry("ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0    [vsyscall]")->range.end.value,
            0xffffffffff601000u);
}

TEST(MapsFile, RefusesWhatIsNoMapsLine) {
  for (const char* line : {"", " ", "x", "1000", "1000-", "1000-2000", "1000-2000 ", "1000-2000 r-x", "1000-2000 r-xp", "2000-1000 r-xp 0 0:0 0",
                           "1000-1000 r-xp 00000000 00:00 0", "1000-2000 r-xp 0000", "1000-2000 r-xp 00000000 08", "1000-2000 r-xp 00000000 08:01",
                           "1000-2000 r-xp 00000000 08:01 x", "1000-2000 r-xp 00000000 08:01 5x", "10000000000000000-2 r-xp 0 0:0 0",
                           "1000-2000 r-xp 00000000 100000000:01 5", "-1000-2000 r-xp 0 0:0 0"}) {
    EXPECT_FALSE(find_maps_entry(line)) << line;
  }
}

TEST(MapsFile, SkipsMalformedAndMovedLinesAndCountsThem) {
  const MapsFile file = parse_maps(
      "1000-2000 r-xp 00000000 08:01 5 /a\ngarbage\n2000-3000 rw-p 00000000 00:00 0 \n1800-2800 r-xp 00000000 08:01 6 /b\n"
      "4000-5000 r-xp 00000000 08:01 7 /c",
      MapsFilter::kAll);
  ASSERT_EQ(file.entries.size(), 3u);
  EXPECT_EQ(file.malformed_lines, 2u);
  EXPECT_EQ(file.entries[2].path, "/c");
}

TEST(MapsFile, ReadsOurOwnWithAnOddlyNamedMapping) {
  const std::string path = "/tmp/cicada maps\ntest " + std::to_string(::getpid());
  const UniqueFd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0755));
  ASSERT_TRUE(fd);
  ASSERT_EQ(::ftruncate(fd.get(), 8192), 0);
  void* at = ::mmap(nullptr, 8192, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd.get(), 0);
  ASSERT_NE(at, MAP_FAILED);
  ::unlink(path.c_str());
  const auto maps = read_maps(::getpid(), MapsFilter::kExecutable);
  ASSERT_TRUE(maps);
  EXPECT_EQ(maps->malformed_lines, 0u);
  bool found = false;
  for (const MapsEntry& entry : maps->entries) {
    EXPECT_TRUE(entry.executable);
    if (entry.range.begin.value != reinterpret_cast<uint64_t>(at)) continue;
    found = true;
    EXPECT_EQ(entry.path, path);
    EXPECT_TRUE(entry.deleted);
  }
  EXPECT_TRUE(found);
  const auto all = read_maps(::getpid(), MapsFilter::kAll);
  ASSERT_TRUE(all);
  EXPECT_GT(all->entries.size(), maps->entries.size());
  ::munmap(at, 8192);
}

// What the kernel answers is what its text says.
TEST(MapsFile, ExecutableOnesAreThoseOfTheText) {
  const auto all = read_maps(::getpid(), MapsFilter::kAll);
  const auto executable = read_maps(::getpid(), MapsFilter::kExecutable);
  ASSERT_TRUE(all && executable);
  std::vector<MapsEntry> expected;
  for (const MapsEntry& entry : all->entries) {
    if (entry.executable && entry.path != "[vsyscall]") expected.push_back(entry);  // no mapping of the process's own
  }
  const auto last = executable->entries.end() - (executable->entries.back().path == "[vsyscall]" ? 1 : 0);
  ASSERT_EQ(last - executable->entries.begin(), static_cast<ptrdiff_t>(expected.size()));
  for (size_t i = 0; i < expected.size(); ++i) {
    const MapsEntry& found = executable->entries[i];
    EXPECT_EQ(found.range, expected[i].range);
    EXPECT_EQ(found.offset, expected[i].offset);
    EXPECT_EQ(found.file, expected[i].file);
    EXPECT_EQ(found.path, expected[i].path);
    EXPECT_EQ(found.readable, expected[i].readable);
    EXPECT_EQ(found.writable, expected[i].writable);
    EXPECT_EQ(found.shared, expected[i].shared);
    EXPECT_EQ(found.deleted, expected[i].deleted);
  }
}

TEST(MapsFile, ProcessThatIsGoneIsGone) {
  const auto maps = read_maps(0x3fffffff, MapsFilter::kAll);
  ASSERT_FALSE(maps);
  EXPECT_EQ(maps.error().kind(), ErrorKind::kGone);
}

}  // namespace
}  // namespace cicada::process
