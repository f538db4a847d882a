// SPDX-License-Identifier: Apache-2.0
// module: symbolize
// A line program: the input is .debug_line, and its own string section.
#include "symbolize/dwarf/line_table.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using cicada::WorkBudget;
  using namespace cicada::symbolize;
  DwarfSections sections;
  sections.line = sections.str = sections.line_str = cicada::Bytes(data, size);
  WorkBudget budget(1 << 20);
  auto program = LineProgram::open(sections, 0, "/dir", budget);
  if (!program) return 0;
  std::vector<uint64_t> addresses;
  for (uint64_t i = 1; i < 64; ++i) addresses.push_back(i * 0x111);
  addresses.push_back(UINT64_MAX);
  std::vector<LineOfAddress> lines(addresses.size());
  program->find_lines(addresses, lines, budget);
  for (const LineOfAddress& line : lines) program->file_path(line.file, budget);
  return 0;
}
