// SPDX-License-Identifier: Apache-2.0
// Inlined calls and lines of one image, for batches of addresses. Nothing is kept between batches: each unit is decoded once
// for all addresses in it, so memory is that of one unit's results a thread, however large the debug information is.
//
// Own reader instead of libdw: libdw has no way to read a .dwp, does not decompress zstd, opens whatever file a stranger's
// binary names, may not be used from two threads, and walks entries one attribute look-up at a time (bench/symbols).
// Threads: resolve() from any.
#pragma once
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "symbolize/dwarf/dwarf_file.h"
#include "symbolize/dwarf/line_table.h"
#include "symbolize/dwarf/parameters.h"
#include "symbolize/dwarf/split_dwarf.h"

namespace cicada::symbolize {

struct DwarfFrame {
  std::string_view name;  // linkage name, or the plain name where there is none; may be empty
  std::string_view file;
  uint32_t line = 0;
  bool inlined = false;
};

class DwarfNames {
 public:
  // `elf`, `alternate` (may be null) and `companions` must outlive this. `image_path`: .dwp and .dwo files lie beside it.
  // Nothing if there is no DWARF.
  static std::unique_ptr<DwarfNames> open(const elf::ElfFile& elf, const elf::ElfFile* alternate, const std::string& image_path,
                                          CompanionFiles& companions);

  // The unit an address is decoded with; equal for addresses that are best resolved together.
  std::optional<uint32_t> find_unit(LinkAddr address) const { return file_->find_unit_of(address); }
  // `addresses`: sorted, all of `unit`. Innermost frame first. Views are valid during the callback.
  using Callback = std::function<void(size_t index, std::span<const DwarfFrame> frames)>;
  void resolve(uint32_t unit, std::span<const uint64_t> addresses, bool inlines, bool lines, WorkBudget& budget, const Callback& callback) const;
  // The code of a line of `file`: a path, or the end of one.
  CodeOfLine find_code(std::string_view file, uint32_t line, WorkBudget& budget) const;
  // Of functions that begin there, in that order. Reads sections of locations again for each question.
  std::vector<FunctionParameters> find_parameters(std::span<const LinkAddr> functions, WorkBudget& budget) const;
  // What a question about one address of an honest file costs at most.
  uint64_t work_bytes() const;
  // Of what stays in memory between batches.
  size_t memory_bytes() const;

 private:
  void read_parameters_of(uint32_t unit, const DwarfSections& sections, std::span<const std::pair<uint64_t, size_t>> functions, std::vector<FunctionParameters>& all, WorkBudget& budget) const;

  const elf::ElfFile* elf_ = nullptr;
  std::unique_ptr<DwarfFile> file_, alternate_;
  std::unique_ptr<SplitUnits> split_;
};

}  // namespace cicada::symbolize
