// SPDX-License-Identifier: Apache-2.0
// Looks for the patterns of code_patterns.h in the bytes of an image: what each looks like, and which rule it gets.
#pragma once
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "elf/elf_file.h"
#include "unwind/heuristics/code_rule.h"
#include "unwind/rows/row_table.h"

namespace cicada::unwind {

inline constexpr size_t kMaxPatches = 4096;

inline unwind_rule rule_of_kind(unwind_cfa_kind kind, int32_t offset = 0) {
  unwind_rule rule{};
  rule.cfa_kind = static_cast<__u8>(kind);
  rule.cfa_reg = kind == CFA_OUTERMOST || kind == CFA_FRAME_POINTER ? 0 : 7;
  rule.cfa_offset = offset;
  return rule;
}

// A function that the image defines, looked for when first asked for: a millisecond of libLLVM's symbols.
class DefinedFunction {
 public:
  DefinedFunction(const elf::ElfFile& elf, std::string_view name) : elf_(elf), name_(name) {}
  // Never, if it is not there, or the image is stripped.
  bool is_at(LinkAddr address) {
    if (!searched_) address_ = find().value_or(LinkAddr{});
    searched_ = true;
    return address_.value != 0 && address_ == address;
  }

 private:
  // Symbols of libraries first.
  std::optional<LinkAddr> find() const;
  const elf::ElfFile& elf_;
  std::string_view name_;
  bool searched_ = false;
  LinkAddr address_;
};

class PatternSearch {
 public:
  PatternSearch(const elf::ElfFile& elf, const RowTable& table) : elf_(elf), table_(table) {}

  // Trampolines in [begin, end).
  void search(Range<LinkAddr> range);
  // From `entry` through its first call.
  void search_entry(LinkAddr entry, LinkAddr end);
  // Lazy-binding stubs as linkers without --eh-frame-hdr care write them (lld gives its .plt no CFI): `jmp *slot; push n; jmp first`, the
  // first one `push link_map; jmp *resolver` with the return address and n on the stack. With endbr64 in front: push is over at 9.
  void add_stubs(std::string_view name, Range<LinkAddr> part);
  // `exit(main(…))`: what is above main in a libc without CFI never returns, and nothing is above it but _start. `mov %eax,%edi; call exit` right
  // behind a call, from that call's end on.
  void search_exit(Range<LinkAddr> range, DefinedFunction& exit);
  void add_init(Range<LinkAddr> section);
  void search_crtbegin(Range<LinkAddr> gap);

  const std::vector<CodeRule>& patches() const { return patches_; }
  std::vector<CodeRule> take() { return std::move(patches_); }

 private:
  Bytes bytes_of(Range<LinkAddr> range) const;
  void add_start_code(LinkAddr base, const std::vector<CodeRule>& rules);
  // The rule also holds for `before` bytes in front of it.
  void add(LinkAddr begin, LinkAddr end, const unwind_rule& rule, uint64_t before);

  const elf::ElfFile& elf_;
  const RowTable& table_;
  std::vector<CodeRule> patches_;
};

}  // namespace cicada::unwind
