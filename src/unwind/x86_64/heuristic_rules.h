// SPDX-License-Identifier: Apache-2.0
// Code and expressions that are known by their bytes, and the rules they get. Offsets are of the bytes given.
#pragma once
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "base/byte_cursor.h"
#include "unwind/rows/code_rule.h"

namespace cicada::unwind {

// No image needs more; a hostile one could have millions.
inline constexpr size_t kMaxPatternRules = 4096;
// A shorter gap between functions holds no signal trampoline.
inline constexpr uint64_t kSmallestTrampoline = 9;

// `mov $15,%eax; syscall`, wherever it is.
std::vector<CodeRule> find_signal_trampolines(Bytes code);

// The entry point of a program is the outermost frame through its first call.
std::optional<CodeRule> find_entry_rule(Bytes entry);

// `exit(main(…))`: `mov %eax,%edi; call exit` right behind a call, from that call's end on. `is_exit`: what is called there.
std::vector<CodeRule> find_exit_calls(Bytes code, const std::function<bool(int64_t)>& is_exit);

// Whether it has the bytes of `and $…,%rsp`.
bool rounds_stack_down(Bytes code);

// Lazy-binding stubs as linkers without --eh-frame-hdr care write them (lld gives its .plt no CFI): `jmp *slot; push n; jmp first`, the
// first one `push link_map; jmp *resolver` with the return address and n on the stack. With endbr64 in front: push is over at 9.
bool is_stub_section(std::string_view name);
std::vector<CodeRule> find_stub_rules(std::string_view section_name, Bytes section);

// The CFA's expression in such stubs: rsp + 8 + (((rip & 15) >= bound) << 3), and its bound.
std::optional<int32_t> find_plt_bound(Bytes expression);

}  // namespace cicada::unwind
