// SPDX-License-Identifier: Apache-2.0
// An image's unwind rows, from its call-frame information and, where it has none, from its code.
//
//   const UnwindRows rows = TRY(compile_rows(elf));
//   TableLayout layout = TableLayout::plan(rows);   // for the kernel
//
// A function of the image's bytes alone: no path is opened, nothing is shared, nothing is reported. Its result can be passed to another
// process as bytes (rows/unwind_rows.h). Threads: any.
#pragma once
#include "elf/elf_file.h"
#include "unwind/rows/unwind_rows.h"

namespace cicada::unwind {

struct RowLimits {
  uint64_t max_rows = 32 << 20;  // 256 MiB, forty times libLLVM: a hostile file's bound
  unsigned threads = 4;          // of large images; at most one a processor
  // Of more code without CFI than that nothing is read: it is marked as unread (rows/code_pieces.h).
  uint64_t max_read_bytes = UINT64_MAX;
};

// Never fails for bad CFI: a malformed FDE costs its own rows and is counted. An image of which nothing is to be said gives no rows.
// Fails: kLimit (executable segments span more than 4 GiB, too many rows).
Result<UnwindRows> compile_rows(const elf::ElfFile& elf, const RowLimits& limits = {});

}  // namespace cicada::unwind
