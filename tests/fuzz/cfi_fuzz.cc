// SPDX-License-Identifier: Apache-2.0
// module: unwind
// The CFI reader: any bytes as .eh_frame (first half) and .debug_frame (second), and all of them as the code. The packed and the complete reading
// of the same program must agree on the CFA wherever the row table has a plain rule, unless code contradicts it; a return to a handler can be followed where there is one.
#include <cstdlib>

#include "dwarf/cfi_image_for_test.h"
#include "dwarf/frame_rules.h"
#include "unwind/row_compiler.h"
#include "unwind/row_report.h"
#include "unwind/x86_64/handler_return.h"

namespace {

struct AnyMemory final : cicada::dwarf::Memory {
  std::optional<uint64_t> find_word(uint64_t address) const override { return address; }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace cicada;
  if (size == 0) return 0;
  const Bytes all(data + 1, size - 1);
  const size_t split = (data[0] & 1) != 0 ? all.size() : all.size() / 2;
  const std::vector<uint8_t> image = dwarf::wrap_in_elf(all.first(split), all.subspan(split), all);
  const auto elf = elf::ElfFile::parse_copy(image, "fuzzed");
  if (!elf) std::abort();
  const auto compiled = unwind::compile_rows(*elf);
  if (!compiled) std::abort();
  const unwind::UnwindRows& table = *compiled;
  if (unwind::count_unsupported(*elf, table).all.bytes > table.stats().covered_bytes) std::abort();
  if (!unwind::UnwindRows::check(table.bytes())) std::abort();
  for (const unwind::Row& row : table.rows()) {
    if (!unwind::is_handler_return(table.rules()[row.rule])) continue;
    dwarf::Registers registers;
    const auto step = unwind::follow_handler_return(elf->contents_at(table.base() + row.begin), AnyMemory(), registers);
    if (step != dwarf::FrameStep::kDone) std::abort();
  }
  if (table.stats().malformed_fdes != 0 || split != all.size()) return 0;
  const auto without_code = elf::ElfFile::parse_copy(dwarf::wrap_in_elf(all, {}), "fuzzed");
  const auto of_cfi = unwind::compile_rows(*without_code);
  if (!of_cfi) std::abort();
  const dwarf::FrameIndex index(*without_code);
  size_t checked = 0;
  for (const unwind::Row& row : of_cfi->rows()) {
    if (++checked > 64) break;
    const unwind_rule& rule = of_cfi->rules()[row.rule];
    if (rule.cfa_kind != CFA_OFFSET) continue;
    const auto rules = index.find(of_cfi->base() + row.begin);
    // Overlapping FDEs are resolved by different means: only what both find is compared, and only when one FDE is in play.
    if (!rules || table.stats().fdes != 1 || rules->cfa_by_expression) continue;
    if (rules->cfa_register != rule.cfa_reg || rules->cfa_offset != rule.cfa_offset) std::abort();
  }
  return 0;
}
