// SPDX-License-Identifier: Apache-2.0
#include "unwind/x86_64/heuristic_rules.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "dwarf/expression.h"

namespace cicada::unwind {
namespace {

constexpr uint64_t kEntryBytes = 64;  // _start of musl and of Go are half as long

uint32_t at(size_t offset) { return static_cast<uint32_t>(offset); }

// How long the call at `at` is; 0: it is none.
size_t call_length(Bytes code, size_t at) {
  if (code[at] == 0xe8) return 5;
  if (code[at] != 0xff || at + 1 >= code.size()) return 0;
  return code[at + 1] == 0x15 ? 6 : (code[at + 1] & 0xf8) == 0xd0 ? 2 : 0;
}

// rule_of(offset) for each occurrence of `needle`.
template <size_t N, typename RuleOf>
std::vector<CodeRule> find_all(Bytes code, const uint8_t (&needle)[N], RuleOf&& rule_of) {
  std::vector<CodeRule> rules;
  for (size_t from = 0; from < code.size() && rules.size() < kMaxPatternRules;) {
    const void* const found = memmem(code.data() + from, code.size() - from, needle, N);
    if (found == nullptr) break;
    const auto offset = static_cast<size_t>(static_cast<const uint8_t*>(found) - code.data());
    if (const std::optional<CodeRule> rule = rule_of(offset)) rules.push_back(*rule);
    from = offset + N;
  }
  return rules;
}

}  // namespace

std::vector<CodeRule> find_signal_trampolines(Bytes code) {
  static constexpr uint8_t kNeedle[] = {0x0f, 0, 0, 0, 0x0f, 0x05};  // $15; syscall
  return find_all(code, kNeedle, [&](size_t i) -> std::optional<CodeRule> {
    size_t lead = 0;
    if (i >= 3 && code[i - 3] == 0x48 && code[i - 2] == 0xc7 && code[i - 1] == 0xc0) lead = 3;  // mov $15,%rax
    else if (i >= 1 && code[i - 1] == 0xb8) lead = 1;                                         // mov $15,%eax
    if (lead == 0) return std::nullopt;
    return CodeRule{at(i - lead), at(i + sizeof kNeedle), rule_of_kind(CFA_SIGNAL)};
  });
}

std::optional<CodeRule> find_entry_rule(Bytes entry) {
  const Bytes code = entry.first(std::min<size_t>(entry.size(), kEntryBytes));
  for (size_t i = 0; i + 1 < code.size(); ++i) {
    const size_t length = call_length(code, i);
    if (length != 0) return CodeRule{0, at(std::min(entry.size(), i + length)), rule_of_kind(CFA_OUTERMOST)};
  }
  return std::nullopt;
}

std::vector<CodeRule> find_exit_calls(Bytes code, const std::function<bool(int64_t)>& is_exit) {
  static constexpr uint8_t kNeedle[] = {0x89, 0xc7, 0xe8};  // mov %eax,%edi; call
  constexpr size_t kLength = 7;
  return find_all(code, kNeedle, [&](size_t i) -> std::optional<CodeRule> {
    if (i + kLength > code.size()) return std::nullopt;
    int32_t distance = 0;
    std::memcpy(&distance, code.data() + i + 3, sizeof distance);
    const auto ends_here = [&](size_t length) { return i >= length && call_length(code, i - length) == length; };
    if (!(ends_here(2) || ends_here(5) || ends_here(6)) || !is_exit(static_cast<int64_t>(i + kLength) + distance)) return std::nullopt;
    return CodeRule{at(i), at(i + kLength), rule_of_kind(CFA_OUTERMOST)};
  });
}

bool rounds_stack_down(Bytes code) {
  static constexpr uint8_t kRexW = 0x48, kAndByte = 0x83, kAndWord = 0x81, kToStackPointer = 0xe4;
  for (size_t at = 2; at < code.size(); ++at) {
    const void* const found = std::memchr(code.data() + at, kToStackPointer, code.size() - at);
    if (found == nullptr) return false;
    at = static_cast<size_t>(static_cast<const uint8_t*>(found) - code.data());
    if (code[at - 2] == kRexW && (code[at - 1] == kAndByte || code[at - 1] == kAndWord)) return true;
  }
  return false;
}

bool is_stub_section(std::string_view name) { return name == ".plt" || name == ".plt.sec" || name == ".plt.got" || name == ".iplt"; }

std::vector<CodeRule> find_stub_rules(std::string_view section_name, Bytes section) {
  if (section_name != ".plt") return {{0, at(section.size()), stack_pointer_plus(8)}};
  if (section.size() < 32) return {};
  static constexpr std::array<uint8_t, 4> kEndbr64 = {0xf3, 0x0f, 0x1e, 0xfa};
  const bool endbr = std::equal(kEndbr64.begin(), kEndbr64.end(), section.begin() + 16);
  return {{0, 6, stack_pointer_plus(16)}, {6, 16, stack_pointer_plus(24)}, {16, at(section.size()), rule_of_kind(CFA_PLT, endbr ? 9 : 11)}};
}

std::optional<int32_t> find_plt_bound(Bytes e) {
  constexpr uint8_t kLit0 = dwarf::kLit0, kBreg0 = dwarf::kBreg0, kRsp = kBreg0 + X86_RSP, kRip = kBreg0 + ARCH_RETURN;
  const uint8_t bound = e.size() == 11 ? static_cast<uint8_t>(e[6] - kLit0) : 16;
  const std::array<uint8_t, 11> wanted = {kRsp,       8, kRip, 0, kLit0 + 15, dwarf::kAnd, static_cast<uint8_t>(kLit0 + bound), dwarf::kGe,
                                          kLit0 + 3, dwarf::kShl, dwarf::kPlus};
  if (bound > 15 || !std::equal(e.begin(), e.end(), wanted.begin(), wanted.end())) return std::nullopt;
  return bound;
}

}  // namespace cicada::unwind
