// SPDX-License-Identifier: Apache-2.0
// USDT probes (statically defined tracepoints) of an image: notes of <sys/sdt.h> in .note.stapsdt. One probe has as many notes as the compiler made copies of its place.
//
//   location, base, semaphore (8 bytes each) · provider \0 · name \0 · arguments \0
//
// The image is a stranger's: work and answer have bounds. Source: sourceware.org/systemtap/wiki/UserSpaceProbeImplementation.
#pragma once
#include <cstdint>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "abi/event_fields.h"
#include "base/address.h"
#include "base/work_budget.h"
#include "elf/elf_file.h"

namespace cicada::elf {

inline constexpr size_t kMaxUsdtNotes = 100'000, kMaxUsdtNameBytes = 255;  // of an image; of a provider, and of a name

struct UsdtNote {
  std::string_view provider, name, arguments;  // of the image; neither of the first two is empty
  FileOffset offset;                           // of the instruction, in an executable PT_LOAD
  FileOffset semaphore;                        // of the counter that a tracer raises, in a writable PT_LOAD; 0: it has none
};
// In the order of the file. Left out is what cannot be read or lies in no PT_LOAD. What is read is paid from `work`.
std::vector<UsdtNote> read_usdt_notes(const ElfFile& image, WorkBudget& work);

struct FoundUsdt {
  uint32_t pattern = 0;                    // its index
  FileOffset offset, semaphore;            // as UsdtNote has them
  std::vector<event_field> arguments = {};  // kMaxUsdtArguments at most; no bytes: it cannot be read (elf/usdt_operands.h)
  std::string name;                        // PROVIDER:NAME
};
struct UsdtSearch {
  std::vector<FoundUsdt> probes;  // by pattern, name, offset; one a pattern and offset
  uint64_t notes = 0;             // of the image
  bool cut_short = false;         // not all of them were looked at, or not all fit the limit
  std::vector<std::string> near;  // by pattern: names that may have been meant, "a:b, a:c"; "" if it was found, or nothing is near
};

// A pattern is PROVIDER:NAME; in both `*` stands for any letters, `?` for one.
UsdtSearch search_usdt(const ElfFile& image, std::span<const std::string> patterns, size_t limit, const std::stop_token& stop = {});

}  // namespace cicada::elf
