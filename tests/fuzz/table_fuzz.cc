// SPDX-License-Identifier: Apache-2.0
// module: unwind
// The table builder on any rows (not only what CFI gives: many rules, dense and sparse pages): the kernel's lookup over the written
// table must give what a search over the rows gives, at every boundary and beside it, wherever in its slab the table begins.
#include <cstdlib>
#include <cstring>
#include <vector>

#include "base/byte_cursor.h"
#include "unwind/rows/code_rule.h"
#include "unwind/rows/row_table.h"
#include "unwind/rows/table_layout.h"
#include "unwind/rows/table_lookup_for_test.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace cicada;
  ByteCursor cursor(Bytes(data, size));
  unwind::RowTable made;
  made.base = LinkAddr(uint64_t{cursor.u8()} << 16);
  const uint64_t start = uint64_t{cursor.u16()} * 64 % (2 * UNWIND_CHUNK_BYTES);
  for (int32_t i = cursor.u16() % 2048; i > 0; --i) made.rules.insert(unwind::stack_pointer_plus(8 * i));
  uint64_t at = 0;
  uint32_t last_rule = 0;
  while (!cursor.at_end() && made.rows.size() < 20000) {
    const uint8_t op = cursor.u8();
    // Distances of all magnitudes; op's top bit asks for a run of neighbours, so that small inputs make dense pages.
    const unsigned repeat = (op & 0x80) != 0 ? 1u + cursor.u16() % 4096 : 1;
    const uint64_t distance = (op & 0x40) != 0 ? uint64_t{cursor.u16()} << (op & 7) : 1u + (op & 0x3f);
    for (unsigned i = 0; i < repeat && made.rows.size() < 20000; ++i) {
      at += distance;
      if (at > 0xffffff) break;
      const auto rule = static_cast<uint32_t>((at * 2654435761u >> (op & 15)) % made.rules.size());
      if (rule == last_rule || (!made.rows.empty() && at <= made.rows.back().begin)) continue;
      made.rows.push_back({static_cast<uint32_t>(at), rule});
      last_rule = rule;
    }
  }
  if (!made.rows.empty() && last_rule != 0) made.rows.push_back({made.rows.back().begin + 1, 0});
  const unwind::UnwindRows table(std::move(made));
  const auto layout = unwind::TableLayout::plan(table, start);
  if (layout.size_bytes() > (64 << 20)) return 0;
  if (layout.size_bytes() > unwind::TableLayout::plan(table).max_size_bytes()) std::abort();
  std::vector<uint8_t> slab(((start + layout.size_bytes()) | (UNWIND_CHUNK_BYTES - 1)) + 1, 0xa5);
  unwind_place place{};
  layout.write(table, 3, slab, place);
  const auto check = [&](LinkAddr address) {
    static constexpr unwind_rule kNone{};
    const unwind_rule* found = nullptr;
    const int reason = unwind_lookup(&slab, &place, 3, address.value, &found);
    if (reason == END_NO_TABLE) std::abort();
    if (reason != END_NONE) found = &kNone;
    if (std::memcmp(found, &table.find(address), sizeof *found) != 0) std::abort();
  };
  for (const unwind::Row& row : table.rows()) {
    check(table.base() + row.begin);
    check(table.base() + row.begin + 1);
    if (row.begin != 0) check(table.base() + (row.begin - 1u));
  }
  // Nothing outside [start, start + size) is touched.
  for (uint64_t i = 0; i < start; ++i) {
    if (slab[i] != 0xa5) std::abort();
  }
  for (uint64_t i = start + layout.size_bytes(); i < slab.size(); ++i) {
    if (slab[i] != 0xa5) std::abort();
  }
  return 0;
}
