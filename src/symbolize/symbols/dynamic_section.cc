// SPDX-License-Identifier: Apache-2.0
// Sources: System V gABI chapter 5 (DT_HASH); binutils bfd/elflink.c and glibc elf/dl-lookup.c (DT_GNU_HASH).
#include "symbolize/symbols/dynamic_section.h"

#include <algorithm>

#include "elf/dynamic_entries.h"

namespace cicada::symbolize {
namespace {

uint64_t count_by_hash(Bytes table) {
  ByteCursor cursor(table);
  cursor.u32();
  const uint32_t chains = cursor.u32();
  return cursor.failed() ? 0 : chains;
}

// The highest symbol index any bucket names, then along its chain to the entry with the lowest bit set.
uint64_t count_by_gnu_hash(Bytes table) {
  ByteCursor cursor(table);
  const uint32_t buckets = cursor.u32();
  const uint32_t first = cursor.u32();
  const uint32_t bloom_words = cursor.u32();
  cursor.u32();
  cursor.skip(uint64_t{bloom_words} * 8);
  if (cursor.failed() || cursor.remaining() / 4 < buckets) return 0;
  uint32_t last = 0;
  for (uint32_t i = 0; i < buckets; ++i) last = std::max(last, cursor.u32());
  if (last < first) return first;
  cursor.skip(uint64_t{last - first} * 4);
  for (uint64_t index = last;; ++index) {
    const uint32_t hash = cursor.u32();
    if (cursor.failed()) return 0;
    if ((hash & 1) != 0) return index + 1;
  }
}

}  // namespace

DynamicSection DynamicSection::read(const elf::ElfFile& elf) {
  DynamicSection dynamic;
  uint64_t symtab = 0, strtab = 0, strings_size = 0, hash = 0, gnu_hash = 0, jmprel = 0, jmprel_size = 0;
  elf::DynamicEntries(elf).for_each([&](uint64_t tag, uint64_t value) {
    if (tag == DT_SYMTAB) symtab = value;
    if (tag == DT_STRTAB) strtab = value;
    if (tag == DT_STRSZ) strings_size = value;
    if (tag == DT_HASH) hash = value;
    if (tag == DT_GNU_HASH) gnu_hash = value;
    if (tag == DT_JMPREL) jmprel = value;
    if (tag == DT_PLTRELSZ) jmprel_size = value;
    if (tag == DT_PLTGOT) dynamic.plt_got_ = LinkAddr(value);
  });
  const auto first_bytes = [&](uint64_t address, uint64_t size) {
    const Bytes rest = address == 0 ? Bytes() : elf.contents_at(LinkAddr(address));
    return rest.first(std::min<uint64_t>(rest.size(), size));
  };
  uint64_t count = hash != 0 ? count_by_hash(elf.contents_at(LinkAddr(hash))) : 0;
  if (count == 0 && gnu_hash != 0) count = count_by_gnu_hash(elf.contents_at(LinkAddr(gnu_hash)));
  dynamic.symbols_ = first_bytes(symtab, std::min<uint64_t>(count, UINT32_MAX) * sizeof(Elf64_Sym));
  dynamic.strings_ = first_bytes(strtab, strings_size);
  dynamic.plt_relocations_ = first_bytes(jmprel, jmprel_size);
  return dynamic;
}

}  // namespace cicada::symbolize
