// SPDX-License-Identifier: Apache-2.0
#include "elf/usdt_notes.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <random>

#include "base/cpu_clock.h"
#include "elf/usdt_notes_for_test.h"
#include "elf/usdt_operands.h"

namespace cicada::elf {
namespace {

using Names = std::vector<std::string>;
constexpr uint64_t kCode = UsdtImage::kCode, kData = UsdtImage::kData;

// "0 p:n 1010 2020 2": pattern, name, offset, semaphore, count of arguments.
Names listed(const UsdtSearch& search) {
  Names lines;
  for (const FoundUsdt& one : search.probes) lines.push_back(fmt::format("{} {} {:x} {:x} {}", one.pattern, one.name, one.offset.value, one.semaphore.value, one.arguments.size()));
  return lines;
}

UsdtSearch find_in(const UsdtImage& image, const Names& patterns, size_t limit = 100) { return search_usdt(image.parse(), patterns, limit); }

TEST(UsdtNotes, SayWhereInTheFileAProbeIs) {
  UsdtImage image;
  image.add("app", "begin", "8@%rdi -4@$1", kCode + 0x10, kData + 0x20);
  image.add("app", "begin", "8@%rax", kCode + 0x40, kData + 0x20);
  image.add("app", "end", "", kCode);
  EXPECT_EQ(listed(find_in(image, {"app:begin", "app:end"})), (Names{"0 app:begin 1010 2020 2", "0 app:begin 1040 2020 1", "1 app:end 1000 0 0"}));
  EXPECT_EQ(find_in(image, {}).notes, 3U);
}

TEST(UsdtNotes, AreFoundByPattern) {
  UsdtImage image;
  image.add("app", "begin", "", kCode + 3);
  image.add("app", "end", "", kCode + 2);
  image.add("lib", "begin", "", kCode + 1);
  EXPECT_EQ(listed(find_in(image, {"*:*"})), (Names{"0 app:begin 1003 0 0", "0 app:end 1002 0 0", "0 lib:begin 1001 0 0"}));
  EXPECT_EQ(listed(find_in(image, {"l?b:*", "*:end", "a*p:b*n"})), (Names{"0 lib:begin 1001 0 0", "1 app:end 1002 0 0", "2 app:begin 1003 0 0"}));
  for (const char* none : {"", ":", "app", "app:", ":end", "*", "app:beg", "app:begin:x", "a:*"}) EXPECT_TRUE(find_in(image, {none}).probes.empty()) << none;
}

TEST(UsdtNotes, HaveNearNames) {
  UsdtImage image;
  image.add("app", "request", "", kCode);
  const UsdtSearch search = find_in(image, {"app:reqest", "app:request", "zzz:yyy"});
  EXPECT_EQ(search.near, (Names{"app:request", "", ""}));
}

TEST(UsdtNotes, AreOnceAPlace) {
  UsdtImage image;
  for (int i = 0; i < 3; ++i) image.add("app", "same", "", kCode);
  EXPECT_EQ(find_in(image, {"app:same"}).probes.size(), 1U);
}

TEST(UsdtNotes, MoveWithTheImage) {
  UsdtImage image;
  image.add("app", "begin", "", kCode - 0x100, kData - 0x100, UsdtImage::kBase - 0x100);
  EXPECT_EQ(listed(find_in(image, {"*:*"})), (Names{"0 app:begin 1000 2000 0"}));
}

TEST(UsdtNotes, LeaveOutWhatIsInNoSegment) {
  UsdtImage image;
  image.add("app", "before", "", kCode - 1);
  image.add("app", "behind", "", kCode + 0x1000);
  image.add("app", "in_data", "", kData);
  image.add("app", "counter_in_code", "", kCode, kCode);
  image.add("app", "counter_in_bss", "", kCode, kData + 0x1000);
  image.add("app", "counter_at_the_end", "", kCode, kData + 0xfff);
  image.add("app", "odd_counter", "", kCode, kData + 1);
  image.add("app", "far", "", ~uint64_t{0});
  image.add("app", "last", "", kCode + 0xfff, kData + 0xffe);
  EXPECT_EQ(listed(find_in(image, {"*:*"})), (Names{"0 app:last 1fff 2ffe 0"}));
}

TEST(UsdtNotes, AreOfOneOwnerAndType) {
  UsdtImage image;
  const std::string content = std::string(reinterpret_cast<const char*>(&kCode), 8) + std::string(16, '\0') + std::string("a\0b\0\0", 5);
  image.add_raw(content, 4);
  image.add_raw(content, 3, std::string("stapsdx\0", 8));
  image.add_raw(content, 3, "stapsdt");
  image.add_raw(content, 3, std::string("GNU\0", 4));
  EXPECT_TRUE(find_in(image, {"*:*"}).probes.empty());
  image.add_raw(content);
  EXPECT_EQ(listed(find_in(image, {"*:*"})), (Names{"0 a:b 1000 0 0"}));
}

TEST(UsdtNotes, CutOffAreLeftOut) {
  UsdtImage whole;
  whole.add("app", "first", "8@%rdi", kCode);
  const size_t first = whole.notes.size(), kPadding = 3;
  whole.add("app", "second", "8@%rdi", kCode + 1);
  for (size_t size = 0; size < whole.notes.size() - 4; ++size) {
    UsdtImage image;
    image.notes = whole.notes.substr(0, size);
    EXPECT_EQ(find_in(image, {"*:*"}).probes.size(), size + kPadding >= first ? 1U : 0U) << size;
  }
  // The content itself.
  const std::string content = std::string(reinterpret_cast<const char*>(&kCode), 8) + std::string(16, '\0') + std::string("a\0b\0c\0", 6);
  for (size_t size = 0; size < content.size(); ++size) {
    UsdtImage image;
    image.add_raw(content.substr(0, size));
    EXPECT_TRUE(find_in(image, {"*:*"}).probes.empty()) << size;
  }
}

TEST(UsdtNotes, HaveNamesOfBoundedLength) {
  UsdtImage image;
  image.add(std::string(kMaxUsdtNameBytes, 'p'), std::string(kMaxUsdtNameBytes, 'n'), std::string(4096, ' '), kCode);
  image.add(std::string(kMaxUsdtNameBytes + 1, 'p'), "n", "", kCode + 1);
  image.add("p", std::string(kMaxUsdtNameBytes + 1, 'n'), "", kCode + 2);
  image.add("p", "n", std::string(4097, ' '), kCode + 3);
  image.add("", "n", "", kCode + 4);
  image.add("p", "", "", kCode + 5);
  EXPECT_EQ(find_in(image, {"*:*"}).probes.size(), 1U);
}

TEST(UsdtNotes, AreBounded) {
  UsdtImage image;
  for (size_t i = 0; i < kMaxUsdtNotes + 10; ++i) image.add("p", "n", "", kCode + i % 0x1000);
  const auto begin = cpu_time();
  UsdtSearch search = find_in(image, {"p:n"}, 10);
  EXPECT_EQ(search.notes, kMaxUsdtNotes);
  EXPECT_EQ(search.probes.size(), 10U);
  EXPECT_TRUE(search.cut_short);
  search = find_in(image, Names(1024, "*a*b*c*:*d*"), 10);
  EXPECT_TRUE(search.cut_short);
  EXPECT_LT(cpu_time() - begin, std::chrono::seconds(20));
  UsdtImage few;
  few.add("p", "n", "", kCode);
  EXPECT_FALSE(find_in(few, {"p:n"}, 1).cut_short);
  EXPECT_TRUE(find_in(few, {"p:n"}, 0).cut_short);
}

TEST(UsdtNotes, OfAnyBytesCanBeRead) {
  std::mt19937 random(3);
  UsdtImage image;
  image.add("app", "begin", "8@%rdi -4@8(%rax,%rbx,8)", kCode + 0x10, kData + 0x20);
  image.add("app", "end", "1@%al", kCode);
  const std::vector<uint8_t> whole = image.bytes();
  const Names patterns{"*:*"};
  for (int i = 0; i < 20'000; ++i) {
    std::vector<uint8_t> damaged = whole;
    for (int flips = 0; flips < 4; ++flips) damaged[random() % 3 == 0 ? random() % 200 : 0x3000 + random() % (damaged.size() - 0x3000)] = static_cast<uint8_t>(random());
    const auto elf = ElfFile::parse_copy(damaged, "damaged");
    if (!elf) continue;
    for (const FoundUsdt& one : search_usdt(*elf, patterns, 100).probes) {
      EXPECT_LT(one.offset.value, damaged.size());
      EXPECT_LT(one.semaphore.value, damaged.size());
    }
  }
}

// A library with probes that the compiler made: name and location are what readelf says.
TEST(UsdtNotes, OfARealLibraryAreThoseOfReadelf) {
  const char* command =
      "lib=$(g++ -print-file-name=libstdc++.so.6) && readelf -n \"$lib\" | awk '$1==\"Provider:\"{p=$2} $1==\"Name:\"{n=$2} $1==\"Location:\"{sub(\",\",\"\",$2); l=$2} $1==\"Arguments:\"{print p\":\"n, l, NF-1}'; echo $lib";
  std::FILE* pipe = ::popen(command, "r");
  ASSERT_NE(pipe, nullptr);
  Names lines;
  char line[512];
  while (std::fgets(line, sizeof line, pipe) != nullptr) lines.emplace_back(line, std::strcspn(line, "\n"));
  ::pclose(pipe);
  if (lines.size() < 2) GTEST_SKIP() << "no readelf, or a libstdc++ without probes";
  const auto elf = ElfFile::open(lines.back());
  ASSERT_TRUE(elf);
  lines.pop_back();
  const Names patterns{"libstdcxx:*"};
  const UsdtSearch search = search_usdt(*elf, patterns, 1000);
  Names found;
  for (const FoundUsdt& one : search.probes) {
    for (const Segment& segment : elf->segments()) {
      if (segment.type != PT_LOAD || one.offset < segment.offset || one.offset - segment.offset >= segment.file_size) continue;
      found.push_back(fmt::format("{} 0x{:016x} {}", one.name, (segment.address + (one.offset - segment.offset)).value, one.arguments.size()));
    }
    for (const event_field& argument : one.arguments) EXPECT_NE(argument.bytes, 0) << one.name;
  }
  std::sort(lines.begin(), lines.end());
  std::sort(found.begin(), found.end());
  EXPECT_EQ(found, lines);
}

}  // namespace
}  // namespace cicada::elf
