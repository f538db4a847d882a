// SPDX-License-Identifier: Apache-2.0
// Where a running Java virtual machine (HotSpot, OpenJDK 8 and later) keeps the code that it makes, for abi/java_lookup.h.
//
// libjvm.so exports tables for debuggers: gHotSpotVMStructs has the offset of each field, or the address of each static one, gHotSpotVMTypes the sizes.
//
//   libjvm in memory ──▶ dynamic symbols ──▶ tables ──▶ JavaMachine (layout) ──▶ CodeCache::_heaps ──▶ java_code
//
// Everything is read from the process, as it is now, and may be anything: each loop has a bound, nothing read is an index or a pointer of ours.
// Source: hotspot/share/runtime/vmStructs.cpp, memory/heap.hpp, code/codeBlob.hpp.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "abi/java_code.h"
#include "base/address.h"
#include "base/result.h"

namespace cicada::unwind {

// All of the bytes. False: they cannot be read.
using ReadMemory = std::function<bool(RuntimeAddr address, std::span<uint8_t> bytes)>;

class JavaMachine {
 public:
  // `library`: where the file libjvm.so begins in memory.
  // Fails: kCorrupt (no such tables; the reason), kIo (memory that cannot be read, or not yet: it was only just mapped).
  static Result<JavaMachine> read(const ReadMemory& memory, RuntimeAddr library);
  // Nothing: it has not made all of its heaps yet.
  std::optional<java_code> find_code(const ReadMemory& memory) const;

 private:
  JavaMachine() = default;

  // A static field or a field's offset; sizes in bytes. 0: that version of the machine has none.
  uint64_t heaps_ = 0, only_heap_ = 0;  // static: GrowableArray<CodeHeap*>*, CodeHeap*
  uint64_t interpreter_ = 0;            // static: StubQueue*, made when all heaps are there
  java_field array_length_{}, array_data_{};
  java_field heap_memory_{}, heap_segments_{}, heap_shift_{};
  java_field space_low_{}, space_high_{};
  java_code layout_{};
};

}  // namespace cicada::unwind
