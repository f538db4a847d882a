// SPDX-License-Identifier: Apache-2.0
// Hashes of foreign text and numbers. The seed is random in each process, so nobody can write names that collide; results must not
// depend on the order of a hash table. For std::unordered_map: `std::unordered_map<std::string, T, SeededHash>`.
#pragma once
#include <concepts>
#include <cstdint>
#include <cstring>
#include <random>
#include <string_view>

namespace cicada {

struct HashSeed {
  HashSeed() {
    std::random_device entropy;
    low = uint64_t{entropy()} << 32 | entropy();
    high = uint64_t{entropy()} << 32 | entropy();
  }
  uint64_t low, high;
};
inline const HashSeed kHashSeed;

// The factors are mixed into their product again: a factor of zero does not swallow the other one.
inline uint64_t mix_hash(uint64_t a, uint64_t b) noexcept {
  a ^= kHashSeed.low;
  b ^= kHashSeed.high;
  const auto product = static_cast<unsigned __int128>(a) * b;
  return (a ^ static_cast<uint64_t>(product)) + (b ^ static_cast<uint64_t>(product >> 64));
}

inline uint64_t hash_text(std::string_view text) {
  uint64_t hash = text.size();
  size_t i = 0;
  for (; i + 8 <= text.size(); i += 8) {
    uint64_t word;
    std::memcpy(&word, text.data() + i, 8);
    hash = mix_hash(hash, word);
  }
  uint64_t tail = 0;
  if (i < text.size()) std::memcpy(&tail, text.data() + i, text.size() - i);
  return mix_hash(hash, tail);
}

// The standard library keeps the hash of a text in its node (its operator is not noexcept), and works out that of a number again.
struct SeededHash {
  size_t operator()(std::integral auto number) const noexcept { return mix_hash(static_cast<uint64_t>(number), 0); }
  size_t operator()(std::string_view text) const { return hash_text(text); }
};

}  // namespace cicada
