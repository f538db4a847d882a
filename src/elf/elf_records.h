// SPDX-License-Identifier: Apache-2.0
// The records that an ELF file consists of, as they lie in it: for the two readers of this module.
#pragma once
#include <string>

#include "base/byte_cursor.h"
#include "base/result.h"
#include "elf/elf_file.h"

namespace cicada::elf {

struct FileHeader {
  uint16_t type = 0, machine = 0;
  LinkAddr entry;
  uint64_t segment_table = 0, section_table = 0;
  uint64_t segment_size = 0, section_size = 0;  // of one entry
  uint64_t segment_count = 0, section_count = 0, name_section = 0;

  // Counts that do not fit 16 bits are in section 0.
  bool needs_first_section() const;
  void take_counts(const Section& first);
};

// From the first bytes of a file, sizeof(Elf64_Ehdr) of them. Fails: kUnsupported (not ELF64 little-endian of this architecture),
// kCorrupt (cut off).
Result<FileHeader> parse_file_header(Bytes bytes, const std::string& name);
// `name`: its place in the table of names.
Section read_section(ByteCursor& cursor, uint32_t& name);
Segment read_segment(ByteCursor& cursor);
// Lower-case hex, or "".
std::string find_build_id(Bytes notes);

}  // namespace cicada::elf
