// SPDX-License-Identifier: Apache-2.0
#include "code/program_start.h"

#include <algorithm>

#include "code/arch.h"
#include "code/executable_ranges.h"
#include "elf/dynamic_entries.h"

namespace cicada::code {
namespace {

constexpr size_t kMaxNameBytes = 256;

// DT_SONAME; nothing: it has none, so it is no library.
std::optional<std::string_view> find_library_name(const elf::ElfFile& elf) {
  const elf::DynamicEntries entries(elf);
  const auto name = entries.find(DT_SONAME);
  return name ? std::optional(text_at(entries.strings(), *name, kMaxNameBytes)) : std::nullopt;
}

class StartCode {
 public:
  explicit StartCode(const elf::ElfFile& elf) : elf_(elf), code_(ExecutableRanges::find_code(elf)) {}

  std::optional<ProgramStart> find() const {
    const LinkAddr start = elf_.entry();
    if (start.value == 0 || !is_code(start) || !begins_program(elf_.contents_at(start))) return std::nullopt;
    const auto library = find_library_name(elf_);
    if (library && !library->starts_with("ld-linux")) return std::nullopt;
    return ProgramStart{start, library ? std::nullopt : find_main(start)};
  }

 private:
  std::optional<LinkAddr> find_main(LinkAddr start) const {
    const auto call = find_first_call(elf_.contents_at(start));
    if (call && call->halts_behind && !call->passes_stack) return find_argument(start, *call);
    const LinkAddr second = call && call->target ? start + static_cast<uint64_t>(*call->target) : LinkAddr();
    if (!call || !call->passes_stack || !call->target || !is_code(second)) return std::nullopt;
    const auto second_call = find_first_call(elf_.contents_at(second));
    return second_call ? find_argument(second, *second_call) : std::nullopt;
  }
  // The function that the code at `begin` passes to the first one that it calls.
  std::optional<LinkAddr> find_argument(LinkAddr begin, const FirstCall& call) const {
    std::optional<LinkAddr> argument;
    if (call.argument_offset) argument = begin + static_cast<uint64_t>(*call.argument_offset);
    if (call.argument_number && elf_.type() == ET_EXEC) argument = LinkAddr(*call.argument_number);
    return argument && is_code(*argument) ? argument : std::nullopt;
  }
  bool is_code(LinkAddr address) const {
    size_t hint = 0;
    return code_ && code_->contains({address, address + 1}, hint);
  }

  const elf::ElfFile& elf_;
  std::optional<ExecutableRanges> code_;
};

}  // namespace

std::optional<ProgramStart> find_program_start(const elf::ElfFile& elf) { return StartCode(elf).find(); }

}  // namespace cicada::code
