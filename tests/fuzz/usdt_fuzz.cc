// SPDX-License-Identifier: Apache-2.0
// module: elf
// USDT notes of an arbitrary ELF file, and operands of arbitrary text.
#include <algorithm>

#include "base/check.h"
#include "elf/usdt_notes.h"
#include "elf/usdt_operands.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace cicada::elf;
  for (const event_field& field : parse_usdt_operands({reinterpret_cast<const char*>(data), size})) CHECK(is_usdt_operand(field));
  const auto elf = ElfFile::parse_copy(cicada::Bytes(data, size), "fuzz");
  if (!elf) return 0;
  const std::vector<std::string> patterns{"*:*", "a?p:*n", "app:begin"};
  const UsdtSearch search = search_usdt(*elf, patterns, 100);
  CHECK(search.near.size() == patterns.size() && search.probes.size() <= 100);
  for (const FoundUsdt& found : search.probes) {
    CHECK(found.pattern < patterns.size() && found.offset.value < size && found.semaphore.value < size && found.arguments.size() <= kMaxUsdtArguments);
    CHECK(std::all_of(found.arguments.begin(), found.arguments.end(), is_usdt_operand));
  }
  return 0;
}
