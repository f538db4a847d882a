// SPDX-License-Identifier: Apache-2.0
// module: unwind
// Rows that another process says it has made: refused, or they can be laid out, looked up, and written over where they are unread.
#include <cstring>
#include <vector>

#include "base/check.h"
#include "unwind/rows/code_pieces.h"
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
  std::vector<LinkAddr> addresses;
  for (const unwind::Row& row : rows->rows()) addresses.push_back(rows->base() + row.begin);
  const unwind::CodePieces pieces(*rows);
  const unwind::CodeQuestion question = pieces.question(*rows, addresses);
  const unwind::CodeRule rule{0, UINT32_MAX, unwind::stack_pointer_plus(16)};
  const unwind::UnwindRows read = unwind::with_code(*rows, question, {&rule, 1});
  for (const Range<LinkAddr>& piece : question.pieces) CHECK(!unwind::is_unread(read.find(piece.begin)) && !unwind::is_unread(read.find(piece.end - 1)));
  return 0;
}
