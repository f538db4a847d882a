// SPDX-License-Identifier: Apache-2.0
// CFI -> rows in two passes: FdeList reads the FDE headers and puts them into address order, RowShard runs the programs in that order.
#include <algorithm>

#include "base/diagnostics.h"
#include "base/parallel.h"
#include "unwind/heuristics/heuristic_rules.h"
#include "unwind/rows/executable_ranges.h"
#include "unwind/heuristics/handler_return.h"
#include "unwind/rows/row_shard.h"
#include "unwind/rows/table_builder.h"

namespace cicada::unwind {
namespace {

constexpr size_t kFdesPerPart = 8192;  // 2 ms of work; a thread costs 0.1

RowShard compile_in_parts(const RowShard::Image& image) {
  const size_t fdes = image.fdes.size();
  const size_t count = image.counting ? 1 : count_parts(fdes, kFdesPerPart);
  std::vector<RowShard> parts;
  parts.reserve(count);
  for (size_t i = 0; i < count; ++i) parts.emplace_back(image, fdes * i / count, fdes * (i + 1) / count);
  for_each_parallel(count, 0, [&](size_t i) { parts[i].run(); });
  for (size_t i = 1; i < count; ++i) parts.front().append(parts[i]);
  return std::move(parts.front());
}

// Executable sections, as far as they are in `code`.
std::vector<Range<LinkAddr>> find_code_sections(const elf::ElfFile& elf, const ExecutableRanges& code) {
  std::vector<Range<LinkAddr>> found;
  if (const auto sections = ExecutableRanges::find_code(elf)) {
    for (const Range<LinkAddr>& range : sections->ranges()) {
      size_t hint = 0;
      if (code.contains(range, hint)) found.push_back(range);
    }
  }
  return found;
}

}  // namespace

const unwind_rule& RowTable::find(LinkAddr address) const {
  static constexpr unwind_rule kNone{};
  if (address < base || rows.empty() || address - base < rows.front().begin || address - base > 0xffffffff) return kNone;
  const auto offset = static_cast<uint32_t>(address - base);
  const auto after = std::upper_bound(rows.begin(), rows.end(), offset, [](uint32_t a, const Row& row) { return a < row.begin; });
  return rules[std::prev(after)->rule];
}

RowTable compile_rows(const elf::ElfFile& elf, RowDetail detail) {
  RowTable table;
  const auto code = ExecutableRanges::find(elf);
  if (!code) {
    diagnostics().warn(elf.name(), "executable segments span more than 4 GiB: no unwind table");
    return table;
  }
  if (code->ranges().empty()) return table;
  const LinkAddr base(code->ranges().front().begin.value & ~uint64_t{0xffff});
  const FdeList fdes(elf, *code, base);
  const std::vector<Range<LinkAddr>> code_sections = find_code_sections(elf, *code);
  RowShard rows = compile_in_parts({fdes, code_sections, base, code->ranges().back().end, detail == RowDetail::kCounted});
  if (rows.too_many_rows()) {
    diagnostics().warn(elf.name(), "more than {} unwind rows: its stacks end at its frames", RowShard::kMaxRows);
    return table;
  }
  rows.move_to(table);
  table.base = base;
  table.stats.cies = fdes.cies();
  table.stats.malformed_fdes += fdes.malformed();
  if (table.stats.malformed_fdes != 0) {
    diagnostics().warn(elf.name(), "{} malformed call-frame entries: stacks end at the functions concerned", table.stats.malformed_fdes);
  }
  mark_handler_returns(elf, detail, table);
  add_code_patterns(elf, *code, rows.gaps(), table);
  return table;
}

}  // namespace cicada::unwind
