// SPDX-License-Identifier: Apache-2.0
#include "unwind/row_compiler.h"

#include <algorithm>

#include "base/parallel.h"
#include "code/executable_ranges.h"
#include "unwind/arch.h"
#include "unwind/cfi/row_shard.h"
#include "unwind/heuristics/heuristic_rules.h"
#include "unwind/heuristics/returning_code.h"

namespace cicada::unwind {
namespace {

constexpr size_t kFdesPerPart = 8192;  // 2 ms of work; a thread costs 0.1

RowShard compile_in_parts(const RowShard::Image& image, unsigned threads) {
  const size_t fdes = image.fdes.size();
  const size_t count = count_parts(fdes, kFdesPerPart, threads);
  std::vector<RowShard> parts;
  parts.reserve(count);
  for (size_t i = 0; i < count; ++i) parts.emplace_back(image, fdes * i / count, fdes * (i + 1) / count);
  for_each_parallel(count, threads, [&](size_t i) { parts[i].run(); });
  for (size_t i = 1; i < count; ++i) parts.front().append(parts[i]);
  return std::move(parts.front());
}

// Executable sections, as far as they are in `code`.
std::vector<Range<LinkAddr>> find_code_sections(const elf::ElfFile& elf, const code::ExecutableRanges& code) {
  std::vector<Range<LinkAddr>> found;
  if (const auto sections = code::ExecutableRanges::find_code(elf)) {
    for (const Range<LinkAddr>& range : sections->ranges()) {
      size_t hint = 0;
      if (code.contains(range, hint)) found.push_back(range);
    }
  }
  return found;
}

}  // namespace

Result<UnwindRows> compile_rows(const elf::ElfFile& elf, const RowLimits& limits) {
  const auto code = code::ExecutableRanges::find(elf);
  if (!code) return make_error(ErrorKind::kLimit, "executable segments span more than 4 GiB");
  if (code->ranges().empty()) return UnwindRows();
  const LinkAddr base(code->ranges().front().begin.value & ~uint64_t{0xffff});
  const FdeList fdes(elf, *code, base);
  const std::vector<Range<LinkAddr>> code_sections = find_code_sections(elf, *code);
  RowShard shard = compile_in_parts({fdes, code_sections, base, code->ranges().back().end, limits.max_rows}, limits.threads);
  if (shard.too_many_rows()) return make_error(ErrorKind::kLimit, "more than {} unwind rows", limits.max_rows);
  RowTable& table = shard.table();
  table.base = base;
  table.stats.cies = fdes.cies();
  table.stats.malformed_fdes += fdes.malformed();
  mark_handler_returns(elf, table);
  mark_popped_registers(elf, table);
  mark_returning_code(elf, shard.moved(), table);
  add_heuristic_rules(elf, *code, shard.gaps(), shard.unmoved(), limits.max_read_bytes, table);
  return UnwindRows(std::move(table));
}

}  // namespace cicada::unwind
