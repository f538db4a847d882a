// SPDX-License-Identifier: Apache-2.0
// Names as people write them: Itanium C++, Rust (v0 and legacy) and D by libiberty; everything else stays as it is.
//
// libiberty was chosen over libLLVMDemangle because it can be bounded: it hands its output over piece by piece, so a name that
// expands without end (back references that double) is abandoned at kMaxNameBytes, and it reads Rust legacy hashes and D,
// which LLVM 14 does not. Bounds: names up to kMaxMangledBytes, output up to kMaxNameBytes; beyond, the name stays mangled.
// Threads: any.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace cicada::names {

enum class Demangle : uint8_t { kFull, kShort, kNone, kWithoutParameters };

constexpr size_t kMaxMangledBytes = 16 << 10;
constexpr size_t kMaxNameBytes = 64 << 10;

// kFull: with parameters. kShort: without parameters, return types and template arguments. kNone: as given.
// kWithoutParameters: without parameters and return types.
std::string demangle(std::string_view linkage_name, Demangle style);
// Whether the name begins as those of a language that is read here; of others demangle() changes nothing.
bool looks_mangled(std::string_view linkage_name);

// The symbol a compiler clone was made from: "f.cold", "f.part.0", "f.constprop.0.isra.3", "f.llvm.123" -> "f". Only suffixes
// that GCC and clang document; any other dot is part of the name.
std::string_view fold_clone(std::string_view linkage_name);
// "memcpy@@GLIBC_2.14" -> "memcpy". A name that begins with '@' stays.
std::string_view strip_version(std::string_view name);

}  // namespace cicada::names
