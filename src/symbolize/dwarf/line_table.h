// SPDX-License-Identifier: Apache-2.0
// The line program of one unit, run for the addresses that are wanted and nothing else: no row is stored.
// Source: DWARF 5, section 6.2 (and version 2-4 headers).
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/seeded_hash.h"
#include "symbolize/dwarf/unit.h"

namespace cicada::symbolize {

struct LineOfAddress {
  uint32_t file = 0;  // index for LineProgram::file_path
  uint32_t line = 0;
  bool found = false;
};

// Of a line of a source file, in all units.
struct CodeOfLine {
  std::vector<uint64_t> addresses;  // where its code may be said to begin, more than once in a function. In no order
  bool has_file = false;
  uint32_t before = 0, after = UINT32_MAX;  // the nearest lines of that file that have code; 0, the largest: none
};

class LineProgram {
 public:
  // Reads the header. `directory`: the unit's compilation directory. Nothing if it is malformed.
  static std::optional<LineProgram> open(const DwarfSections& sections, uint64_t offset, std::string_view directory, WorkBudget& budget);
  // `addresses` sorted ascending; out[i] belongs to addresses[i].
  void find_lines(std::span<const uint64_t> addresses, std::span<LineOfAddress> out, WorkBudget& budget) const;
  // Adds the code of a line of `file`: a path, or the end of one ("parser.c", "src/parser.c").
  void find_code(std::string_view file, uint32_t line, CodeOfLine& found, WorkBudget& budget);
  // Directory and name joined; "" for an index the table does not have. Valid as long as this object; not for several threads.
  std::string_view file_path(uint64_t index, WorkBudget& budget);

 private:
  // Texts begin there: of a million in one table two or three are read.
  struct FileEntry {
    Bytes name;
    uint64_t directory = 0;
  };
  // Calls on_row(address, file, line, is_statement, ends_sequence) for each row.
  template <typename Row>
  void run(Row&& on_row) const;
  bool read_tables_v4(ByteCursor& cursor);
  bool read_tables_v5(ByteCursor& cursor, const DwarfSections& sections, WorkBudget& budget);

  Bytes program_;
  UnitFormat format_;
  uint8_t min_instruction_bytes_ = 1, line_range_ = 1, opcode_base_ = 1;
  int8_t line_base_ = 0;
  bool default_is_statement_ = true;
  std::vector<uint8_t> opcode_operands_;
  std::string_view directory_;
  std::vector<Bytes> directories_;
  std::vector<FileEntry> files_;
  std::unordered_map<uint64_t, std::string, SeededHash> paths_;
};

}  // namespace cicada::symbolize
