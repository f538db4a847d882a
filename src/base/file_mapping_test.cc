// SPDX-License-Identifier: Apache-2.0
#include "base/file_mapping.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <numeric>
#include <vector>

namespace cicada {
namespace {

constexpr uint64_t kMiB = 1 << 20;

// A file in memory of that many bytes, all of them a hole.
UniqueFd sparse(uint64_t size) {
  UniqueFd file(::memfd_create("sparse", MFD_CLOEXEC));
  EXPECT_EQ(::ftruncate(file.get(), static_cast<off_t>(size)), 0);
  return file;
}

void put(const UniqueFd& file, std::string_view text, uint64_t at) {
  EXPECT_EQ(::pwrite(file.get(), text.data(), text.size(), static_cast<off_t>(at)), static_cast<ssize_t>(text.size()));
}

// What these bytes take of memory, each page once however often it is mapped.
uint64_t taken_kib(Bytes bytes) {
  const auto begin = reinterpret_cast<uintptr_t>(bytes.data());
  std::ifstream smaps("/proc/self/smaps");
  uint64_t sum = 0;
  bool inside = false;
  for (std::string line; std::getline(smaps, line);) {
    uint64_t from = 0, to = 0;
    if (std::sscanf(line.c_str(), "%" SCNx64 "-%" SCNx64 " ", &from, &to) == 2) inside = from < begin + bytes.size() && begin < to;
    if (inside && line.starts_with("Pss:")) sum += std::strtoull(line.c_str() + 4, nullptr, 10);
  }
  return sum;
}

TEST(FileMapping, HolesReadAsZerosAndTakeLittleMemory) {
  const UniqueFd file = sparse(200 * kMiB + 5);
  put(file, "begin", 0);
  put(file, "middle", 100 * kMiB + 17);
  put(file, "end", 200 * kMiB + 2);
  EXPECT_LT(existing_bytes(file.get()), kMiB);
  const auto mapping = FileMapping::map(file.get(), "sparse");
  ASSERT_TRUE(mapping) << mapping.error().message();
  const Bytes bytes = mapping->bytes();
  ASSERT_EQ(bytes.size(), 200 * kMiB + 5);
  const auto text = [&](uint64_t at, size_t size) { return std::string(bytes.begin() + static_cast<ptrdiff_t>(at), bytes.begin() + static_cast<ptrdiff_t>(at + size)); };
  EXPECT_EQ(text(0, 5), "begin");
  EXPECT_EQ(text(100 * kMiB + 17, 6), "middle");
  EXPECT_EQ(text(200 * kMiB + 2, 3), "end");
  uint64_t sum = 0;
  for (uint64_t at = 0; at < bytes.size(); at += 512) sum += bytes[at];
  EXPECT_EQ(sum, uint64_t{'b'});
  EXPECT_LT(taken_kib(bytes), 16U << 10);
  EXPECT_GT(taken_kib(bytes), 0U);
}

TEST(FileMapping, HolesOfAllSizesReadAsZeros) {
  const UniqueFd file = sparse(0);
  uint64_t at = 0;
  for (const uint64_t hole : {uint64_t{5000}, FileMapping::kLeastHole, uint64_t{300'000}, 7 * kMiB, FileMapping::kLeastHole + 1, uint64_t{100'000}, 30 * kMiB + 123}) {
    put(file, "data", at);
    at += 4096 + hole;
  }
  put(file, "end", at);
  const auto mapping = FileMapping::map(file.get(), "sparse");
  ASSERT_TRUE(mapping);
  std::string read(mapping->bytes().size(), 'x');
  ASSERT_EQ(::pread(file.get(), read.data(), read.size(), 0), static_cast<ssize_t>(read.size()));
  EXPECT_TRUE(std::equal(read.begin(), read.end(), mapping->bytes().begin(), [](char a, uint8_t b) { return static_cast<uint8_t>(a) == b; }));
}

TEST(FileMapping, ADenseFileExists) {
  const UniqueFd file = sparse(0);
  put(file, std::string(3 * kMiB, 'x'), 0);
  EXPECT_EQ(existing_bytes(file.get()), 3 * kMiB);
  const auto mapping = FileMapping::map(file.get(), "dense");
  ASSERT_TRUE(mapping);
  EXPECT_EQ(std::accumulate(mapping->bytes().begin(), mapping->bytes().end(), uint64_t{0}), 3 * kMiB * 'x');
}

TEST(FileMapping, RefusesAFileOfVeryManyPieces) {
  const UniqueFd file = sparse(0);
  for (uint64_t i = 0; i <= FileMapping::kMaxPieces; ++i) put(file, "x", i * 16384);
  const auto mapping = FileMapping::map(file.get(), "pieces");
  ASSERT_FALSE(mapping);
  EXPECT_EQ(mapping.error().kind(), ErrorKind::kLimit);
}

// Four are all that a process has room for; what one gives back, another may have.
TEST(FileMapping, MappingsOfHolesHaveABound) {
  const auto map = [] {
    const UniqueFd file = sparse(3500 * kMiB);
    return FileMapping::map(file.get(), "sparse");
  };
  std::vector<FileMapping> kept;
  for (auto next = map(); next && kept.size() < 10; next = map()) kept.push_back(std::move(*next));
  EXPECT_EQ(kept.size(), 4U);
  kept.pop_back();
  EXPECT_TRUE(map());
  const UniqueFd large = sparse(8000 * kMiB);
  kept.clear();
  EXPECT_FALSE(FileMapping::map(large.get(), "large"));
  EXPECT_TRUE(map());
}

}  // namespace
}  // namespace cicada
