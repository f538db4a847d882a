// SPDX-License-Identifier: Apache-2.0
// module: unwind
// Rows that another process says it has made: refused, or they can be laid out and looked up.
#include <cstring>
#include <vector>

#include "unwind/rows/table_layout.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace cicada;
  std::vector<uint64_t> words((size + 7) / 8);
  if (size != 0) std::memcpy(words.data(), data, size);
  const auto rows = unwind::UnwindRows::check({reinterpret_cast<const uint8_t*>(words.data()), size});
  if (!rows) return 0;
  const auto layout = unwind::TableLayout::plan(*rows, 64);
  if (layout.size_bytes() > (64 << 20)) return 0;
  std::vector<uint8_t> slab(64 + layout.size_bytes());
  unwind_place place{};
  layout.write(*rows, 1, slab, place);
  for (const unwind::Row& row : rows->rows()) rows->find(rows->base() + row.begin);
  return 0;
}
