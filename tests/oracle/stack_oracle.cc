// SPDX-License-Identifier: Apache-2.0
// Reads the stack's depth from the code of images that have CFI (code/stack_depth.h), and compares it with what the CFI says, byte by byte.
// Exit code 1 if more than 0.1 % of the bytes understood differ, or less than half of the code with CFI is understood.
//
//   stack_oracle [-v] FILE…
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <map>
#include <string>

#include "code/executable_ranges.h"
#include "code/image_functions.h"
#include "unwind/row_compiler.h"
#include "unwind/row_report.h"

namespace cicada::oracle {
namespace {

using code::StackState;

double percent(uint64_t part, uint64_t whole) { return whole == 0 ? 0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole); }

struct Totals {
  uint64_t with_cfi = 0, understood = 0, different = 0, incomparable = 0;
  std::map<std::string, uint64_t> classes;
};

int32_t probe_of(const StackState& state) { return state.copy_register == 11 ? state.copy : StackState::kUnknown; }

// CFI that a stack depth cannot be compared with: another register's, an expression, a signal frame, the outermost frame.
const char* find_incomparable(const StackState& state, const unwind_rule& cfi) {
  if (cfi.cfa_kind == CFA_PLT) return nullptr;
  // libcrypto's sha1_multi_block pushes rbx and rbp; its CFI says rbx twice.
  for (unsigned i = 0; i < SAVED_COUNT; ++i) {
    for (unsigned other = 0; other < SAVED_COUNT; ++other)
      if (other != i && cfi.saved[i] != 0 && state.saved[other] == -cfi.saved[i] && state.saved[i] != state.saved[other]) return "fine, but a register in another one's slot";
  }
  if (cfi.cfa_kind == CFA_DEREF && state.to_rule().cfa_kind == CFA_DEREF) return nullptr;
  if (cfi.cfa_kind != CFA_OFFSET) return "not a register + offset";
  if (cfi.via_base != 0) return "registers saved elsewhere";
  if (cfi.cfa_reg == 6 && state.frame == StackState::kUnknown) return "from rbp, while only rsp is followed";
  return cfi.cfa_reg == 6 || cfi.cfa_reg == 7 || (cfi.cfa_reg == 11 && probe_of(state) != StackState::kUnknown) ? nullptr : "from another register";
}

// Empty: both say the same. The CFI of a register that was popped may still name its slot, which is then below the stack pointer; where CFI
// says that a register keeps its value it may have been pushed already.
// `seen`: where each register was last saved, in order of address; a load may have restored it while CFI still names the slot.
std::string compare(const StackState& state, const unwind_rule& cfi, uint64_t address, std::array<int, SAVED_COUNT>& seen) {
  if (cfi.cfa_kind == CFA_PLT) return state.stack == 8 + ((address & 15) >= static_cast<uint64_t>(cfi.cfa_offset) ? 8 : 0) ? "" : "CFA";
  const unwind_rule rule = state.to_rule();
  const bool same_place = rule.cfa_reg == cfi.cfa_reg && rule.cfa_offset == cfi.cfa_offset && rule.cfa_addend == cfi.cfa_addend;
  const int32_t depth = cfi.cfa_reg == 7 ? state.stack : cfi.cfa_reg == 6 ? state.frame : cfi.cfa_reg == 11 ? probe_of(state) : StackState::kUnknown;
  if (cfi.cfa_kind == CFA_DEREF ? !same_place : depth != cfi.cfa_offset) return "CFA";
  static constexpr const char* kNames[] = {"rbx", "rbp", "r12", "r13", "r14", "r15"};
  for (unsigned i = 0; i < SAVED_COUNT; ++i) {
    const int ours = state.saved[i], theirs = -cfi.saved[i];
    if (ours != 0) seen[i] = ours;
    if (ours == theirs || theirs == 0) continue;
    if (ours != 0) return std::string(kNames[i]) + " saved elsewhere";
    if ((state.stack == StackState::kUnknown || theirs * 8 <= state.stack) && theirs != seen[i]) return std::string(kNames[i]) + " not seen saved";
  }
  return "";
}

void compare_file(const std::string& path, bool verbose, Totals& totals) {
  const auto elf = elf::ElfFile::open(path);
  if (!elf) return;
  const auto code = code::ExecutableRanges::find_code(*elf);
  const auto compiled = unwind::compile_rows(*elf);
  if (!code || !compiled || compiled->empty()) return;
  const unwind::UnwindRows& table = *compiled;
  code::StackDepths depths = code::read_functions(*elf, code->ranges(), table.base());
  Totals file;
  std::array<int, SAVED_COUNT> seen{};
  std::map<std::string, int> printed;
  for (const code::StackRange& range : depths.find()) {
    for (uint32_t at = range.begin; at < range.end;) {
      const auto after = std::upper_bound(table.rows().begin(), table.rows().end(), at, [](uint32_t a, const unwind::Row& row) { return a < row.begin; });
      const uint32_t end = after == table.rows().end() ? range.end : std::min(range.end, after->begin);
      const unwind_rule& cfi = table.find(table.base() + at);
      if (cfi.cfa_kind != CFA_NONE && cfi.cfa_kind != CFA_FRAME_POINTER) {
        if (const char* const why = find_incomparable(range.state, cfi)) {
          file.incomparable += end - at;
          file.classes[std::string("not compared: CFA ") + why] += end - at;
          at = end;
          continue;
        }
        const std::string difference = compare(range.state, cfi, (table.base() + at).value, seen);
        file.understood += end - at;
        if (!difference.empty()) {
          file.different += end - at;
          file.classes[difference] += end - at;
          if (verbose && ++printed[difference] <= 40) {
            std::printf("  %#lx +%u %s: %s; CFI %s\n", (table.base() + at).value, end - at, difference.c_str(), unwind::to_text(range.state.to_rule()).c_str(),
                        unwind::to_text(cfi).c_str());
          }
        }
      }
      at = end;
    }
  }
  if (verbose) for (const uint32_t begin : depths.given_up()) std::printf("  given up: %#lx\n", (table.base() + begin).value);
  file.with_cfi = table.stats().covered_bytes;
  std::printf("%s: %lu functions known, %lu found, %lu given up; understood %lu of %lu bytes with CFI (%.2f %%), different %lu (%.4f %%)\n", path.c_str(),
              depths.functions().known, depths.functions().found, depths.functions().given_up, file.understood, file.with_cfi,
              percent(file.understood, file.with_cfi), file.different, percent(file.different, file.understood));
  for (const auto& [difference, bytes] : file.classes) std::printf("  %8lu  %s\n", bytes, difference.c_str());
  totals.with_cfi += file.with_cfi;
  totals.understood += file.understood;
  totals.different += file.different;
  totals.incomparable += file.incomparable;
}

int run(int argc, char** argv) {
  bool verbose = false;
  Totals totals;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "-v") == 0) verbose = true;
    else compare_file(argv[i], verbose, totals);
  }
  const bool right = totals.different * 1000 <= totals.understood, enough = totals.understood * 2 >= totals.with_cfi && totals.understood != 0;
  std::printf("understood %lu of %lu bytes (%.2f %%), different %lu (%.4f %%), not compared %lu%s%s\n", totals.understood, totals.with_cfi,
              percent(totals.understood, totals.with_cfi), totals.different, percent(totals.different, totals.understood), totals.incomparable, right ? "" : ": TOO MANY",
              enough ? "" : ": TOO FEW UNDERSTOOD");
  return right && enough ? 0 : 1;
}

}  // namespace
}  // namespace cicada::oracle

int main(int argc, char** argv) { return cicada::oracle::run(argc, argv); }
