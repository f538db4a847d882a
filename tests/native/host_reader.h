// SPDX-License-Identifier: Apache-2.0
// The step and the lookup of abi/ over host memory: a stack that is a vector, tables that are a vector of chunks.
#pragma once
#include <cstdint>
#include <cstring>
#include <vector>

#include "abi/unwind_lookup.h"
#include "abi/unwind_step.h"

struct HostStack {
  uint64_t base = 0;  // runtime address of words[0]
  std::vector<uint64_t> words;
};

static inline int unwind_read(void* reader, __u64 address, __u64* value) {
  const auto& stack = *static_cast<const HostStack*>(reader);
  const uint64_t offset = address - stack.base;
  if (offset > stack.words.size() * 8 || stack.words.size() * 8 - offset < 8) return -1;
  std::memcpy(value, reinterpret_cast<const uint8_t*>(stack.words.data()) + offset, 8);
  return 0;
}

// 4-byte aligned, whole chunks.
struct HostSlab {
  std::vector<uint32_t> words;
  const uint8_t* bytes() const { return reinterpret_cast<const uint8_t*>(words.data()); }
};

static inline const __u8* unwind_chunk(void* tables, __u32 slab, __u32 chunk) {
  const auto& host = *static_cast<const HostSlab*>(tables);
  if (slab != 0 || (uint64_t{chunk} + 1) * 65536 > host.words.size() * 4) return nullptr;
  return host.bytes() + uint64_t{chunk} * 65536;
}
