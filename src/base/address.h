// SPDX-License-Identifier: Apache-2.0
// Addresses are types: one in a running process, one as linked in an ELF file, one position in a file. All in bytes.
//
//   link = runtime - bias        offset -> link through the program headers (elf/elf_file.h)
#pragma once
#include <compare>
#include <cstdint>
#include <functional>

namespace cicada {

template <typename Tag>
struct Address {
  uint64_t value = 0;

  constexpr Address() = default;
  constexpr explicit Address(uint64_t v) : value(v) {}
  constexpr auto operator<=>(const Address&) const = default;
  constexpr Address operator+(uint64_t bytes) const { return Address(value + bytes); }
  constexpr Address operator-(uint64_t bytes) const { return Address(value - bytes); }
  constexpr uint64_t operator-(Address other) const { return value - other.value; }
};

using RuntimeAddr = Address<struct RuntimeAddrTag>;  // in a process, or in the running kernel
using LinkAddr = Address<struct LinkAddrTag>;        // p_vaddr / st_value space of one ELF image
using FileOffset = Address<struct FileOffsetTag>;    // from the start of a file

// Half-open: [begin, end).
template <typename A>
struct Range {
  A begin;
  A end;
  constexpr bool contains(A a) const { return begin <= a && a < end; }
  constexpr bool empty() const { return !(begin < end); }
  constexpr uint64_t size() const { return empty() ? 0 : end - begin; }
  constexpr auto operator<=>(const Range&) const = default;
};

}  // namespace cicada

template <typename Tag>
struct std::hash<cicada::Address<Tag>> {
  size_t operator()(cicada::Address<Tag> a) const { return std::hash<uint64_t>{}(a.value); }
};
