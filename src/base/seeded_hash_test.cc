// SPDX-License-Identifier: Apache-2.0
#include "base/seeded_hash.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <unordered_set>

namespace cicada {
namespace {

// With a fixed factor in the hash, a word that equals it makes the product zero: all that came before is forgotten.
TEST(HashText, ForgetsNoBeginningForAnyEnding) {
  for (const uint64_t word : std::initializer_list<uint64_t>{0xd6e8feb86659fd93, 0x9e3779b97f4a7c15, 0xa0761d6478bd642f, 0, kHashSeed.low, kHashSeed.high}) {
    std::unordered_set<uint64_t> hashes;
    for (int i = 0; i < 1000; ++i) {
      std::string text = std::to_string(10000000 + i);
      text.append(reinterpret_cast<const char*>(&word), sizeof word);
      hashes.insert(hash_text(text));
    }
    EXPECT_EQ(hashes.size(), 1000U);
  }
}

TEST(HashText, TellsLengthsApart) {
  EXPECT_NE(hash_text(""), hash_text(std::string_view("\0", 1)));
  EXPECT_NE(hash_text("abcdefgh"), hash_text(std::string_view("abcdefgh\0", 9)));
}

// libstdc++ takes numbers modulo a prime: multiples of it would all share a bucket.
TEST(SeededHash, SpreadsMultiplesOfThePrimesOfBuckets) {
  std::unordered_set<uint64_t, SeededHash> numbers;
  numbers.reserve(1000);
  for (uint64_t i = 0; i < 1000; ++i) numbers.insert(i * numbers.bucket_count());
  size_t fullest = 0;
  for (size_t i = 0; i < numbers.bucket_count(); ++i) fullest = std::max(fullest, numbers.bucket_size(i));
  EXPECT_LT(fullest, 12U);
}

}  // namespace
}  // namespace cicada
