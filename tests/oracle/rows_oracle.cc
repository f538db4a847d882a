// SPDX-License-Identifier: Apache-2.0
// Compares our unwind rows with libdw's at every row boundary, in the form the kernel reads: compiled, laid out in a slab, looked
// up by abi/unwind_lookup.h. Which FDEs there are says libdw, too: .eh_frame's, and .debug_frame's where .eh_frame has none.
//
//   rows_oracle [--all] [-v] [FILE…]      --all: every ELF file under /usr/bin /usr/sbin /usr/lib
//
// Exit code 1 if there is a difference that kExplained does not explain, if one is explained more often than is known, or if the kernel walk can
// follow less than kFollowable of the code that libdw has rows for.
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <libelf.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "code/executable_ranges.h"
#include "dwarf/frame_sections.h"
#include "libdw_fdes.h"
#include "libdw_rule.h"
#include "unwind/row_compiler.h"
#include "unwind/row_report.h"
#include "unwind/rows/table_layout.h"
#include "unwind/rows/table_lookup_for_test.h"
#include "unwind/x86_64/handler_return.h"

namespace cicada::oracle {
namespace {

constexpr double kFollowable = 99.99;  // percent

// Differences that are right. Each with its reason, and how often it may be given in a thousand files (652 and 16 times in 2,663 files of
// Debian 12); empty is the goal.
struct Explained {
  const char* path_part;
  const char* difference_part;
  uint64_t most_per_thousand_files;
  const char* reason;
};
constexpr Explained kExplained[] = {
    {"libgcrypt.so", "libdw has no CFA", 10,
     "def_cfa_register after def_cfa_expression: libdw refuses, libgcc (and we) go back to the last offset, as its authors mean"},
    {"", "behind pop %rbp", 8000, "GCC's epilogues of realigned stacks go on to find registers at rbp, which they have restored (unwind/x86_64/popped_registers.h)"},
    {"", "at a return, CFA: ours kind 1 reg 7 offset 8 ", 10, "OpenSSL's CFI of X25519 adds at its return what it should take away (unwind/heuristics/returning_code.h)"},
    {"libpython3.12.so", "CFA: ours kind 1 reg 7 offset 88 ", 2, "clang's row for a `sub $8,%rsp` begins behind the two instructions after it (unwind/heuristics/returning_code.h)"},
    {"", "a return to a handler", 300, "the CFI's rule leads to a handler as if that were a return address: followed in user space (unwind/x86_64/handler_return.h)"},
};

const Explained* find_reason(const std::string& path, const std::string& difference) {
  for (const Explained& e : kExplained) {
    if (path.find(e.path_part) != std::string::npos && difference.find(e.difference_part) != std::string::npos) {
      return &e;
    }
  }
  return nullptr;
}

struct Totals {
  uint64_t files = 0, rows = 0, differences = 0, explained = 0, skipped_fdes = 0;
  uint64_t fdes = 0, debug_frame_fdes = 0, unreadable = 0;  // libdw's
  uint64_t covered = 0, followable = 0;                      // bytes of code that libdw has rows for; that the kernel walk can follow
  uint64_t simple = 0, executable = 0;
  std::map<const Explained*, uint64_t> reasons;
};

class FileComparison {
 public:
  FileComparison(const std::string& path, bool verbose, Totals& totals) : path_(path), verbose_(verbose), totals_(totals) {}

  bool run() {
    auto elf = elf::ElfFile::open(path_);
    elf_ = elf ? &*elf : nullptr;
    if (!elf || (elf->type() != ET_DYN && elf->type() != ET_EXEC)) return false;
    const int fd = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC);
    ::Elf* handle = elf_begin(fd, ELF_C_READ_MMAP_PRIVATE, nullptr);
    auto rows = unwind::compile_rows(*elf);
    if (!rows) return false;
    table_ = std::move(*rows);
    const auto layout = unwind::TableLayout::plan(table_, 64);
    slab_.assign(((64 + layout.size_bytes()) | (UNWIND_CHUNK_BYTES - 1)) + 1, 0xee);
    layout.write(table_, kImage, slab_, place_);
    const std::vector<LibdwFde> eh_frame = list_fdes(handle, ".eh_frame", totals_.unreadable);
    const std::vector<LibdwFde> debug_frame = list_fdes(handle, ".debug_frame", totals_.unreadable);
    totals_.fdes += eh_frame.size();
    totals_.debug_frame_fdes += debug_frame.size();
    for (const auto& section : dwarf::find_frame_sections(*elf)) collect(section);
    compare_lists(eh_frame, ours_[0]);
    compare_lists(debug_frame, ours_[1]);
    if (Dwarf_CFI* const cfi = dwarf_getcfi_elf(handle); cfi != nullptr) {
      for (const LibdwFde& fde : eh_frame) compare_fde(fde, cfi);
      dwarf_cfi_end(cfi);
    }
    // What both have is .eh_frame's.
    if (Dwarf* const dwarf = debug_frame.empty() ? nullptr : dwarf_begin_elf(handle, DWARF_C_READ, nullptr); dwarf != nullptr) {
      if (Dwarf_CFI* const cfi = dwarf_getcfi(dwarf); cfi != nullptr) {
        for (const LibdwFde& fde : debug_frame) {
          if (!overlaps(eh_frame, fde)) compare_fde(fde, cfi);
        }
      }
      dwarf_end(dwarf);
    }
    elf_end(handle);
    ::close(fd);
    const auto code = code::ExecutableRanges::find_code(*elf);
    ++totals_.files;
    const unwind::UnsupportedCode unsupported = unwind::count_unsupported(*elf, table_);
    totals_.simple += unsupported.simple_bytes;
    totals_.executable += code ? code->total_bytes() : 0;
    return true;
  }

 private:
  static constexpr uint32_t kImage = 7;

  static bool overlaps(const std::vector<LibdwFde>& sorted, const LibdwFde& fde) {
    const auto after = std::lower_bound(sorted.begin(), sorted.end(), fde.end, [](const LibdwFde& one, uint64_t end) { return one.begin < end; });
    return after != sorted.begin() && std::prev(after)->end > fde.begin;
  }

  void collect(const dwarf::CallFrameSection& section) {
    dwarf::FdeReader reader(section);
    while (const auto fde = reader.next()) {
      if (fde->size != 0 && fde->begin.value != 0) ours_[section.format == dwarf::FrameFormat::kDebugFrame].push_back({fde->begin.value, fde->begin.value + fde->size});
    }
  }

  void compare_lists(const std::vector<LibdwFde>& theirs, std::vector<LibdwFde>& ours) {
    std::sort(ours.begin(), ours.end());
    std::vector<LibdwFde> only;
    std::set_difference(theirs.begin(), theirs.end(), ours.begin(), ours.end(), std::back_inserter(only));
    for (const LibdwFde& fde : only) report(fde.begin, "an FDE that libdw lists and we do not");
    only.clear();
    // Of a file without a section table, libdw lists none.
    if (!theirs.empty()) std::set_difference(ours.begin(), ours.end(), theirs.begin(), theirs.end(), std::back_inserter(only));
    for (const LibdwFde& fde : only) report(fde.begin, "an FDE that we list and libdw does not");
  }

  void compare_fde(const LibdwFde& fde, Dwarf_CFI* cfi) {
    for (uint64_t pc = fde.begin; pc < fde.end;) {
      Dwarf_Frame* frame = nullptr;
      if (dwarf_cfi_addrframe(cfi, pc, &frame) != 0) {
        report(pc, std::string("libdw finds no frame: ") + dwarf_errmsg(-1));
        break;
      }
      Dwarf_Addr from = 0, to = 0;
      bool signal = false;
      dwarf_frame_info(frame, &from, &to, &signal);
      compare_row(frame, signal, pc, std::min<uint64_t>(to, fde.end));
      std::free(frame);
      if (to <= pc) break;
      pc = to;
    }
  }

  void compare_row(Dwarf_Frame* frame, bool signal, uint64_t pc, uint64_t end) {
    ++totals_.rows;
    totals_.covered += end - pc;
    if (table_.find(LinkAddr(pc)).cfa_kind < CFA_UNSUPPORTED) totals_.followable += end - pc;
    for (const uint64_t at : {pc, end - 1}) {
      const unwind_rule* rule = nullptr;
      const int reason = unwind_lookup(&slab_, &place_, kImage, at, &rule);
      static constexpr unwind_rule kNone{};
      if (reason != END_NONE) rule = &kNone;
      if (std::memcmp(rule, &table_.find(LinkAddr(at)), sizeof *rule) != 0) {
        report(at, "the table says something else than the rows it was made of");
      }
      std::string difference = compare(frame, signal, *rule);
      if (!difference.empty() && unwind::is_handler_return(*rule)) difference = "a return to a handler, " + difference;
      const bool at_frame = difference.find("ours 0, libdw kind 5 [ 0x9c:0 0x76") != std::string::npos;  // call_frame_cfa, breg6
      if (at_frame && rule->via_base == 0 && is_behind_pop(at)) difference = "behind pop %rbp, " + difference;
      if (!difference.empty() && is_return(at)) difference = "at a return, " + difference;
      if (!difference.empty()) report(at, difference);
    }
  }

  // ret or repz ret, each of its bytes.
  bool is_return(uint64_t at) const {
    const Bytes code = elf_->contents_at(LinkAddr(at));
    return !code.empty() && (code[0] == 0xc3 || (code[0] == 0xf3 && code.size() > 1 && code[1] == 0xc3));
  }

  // Behind `pop %rbp` or leave, with `lea -8(%r10),%rsp` (or -16, of another register) behind it.
  bool is_behind_pop(uint64_t at) const {
    constexpr uint64_t kNear = 32;
    const Bytes near = elf_->contents_at(LinkAddr(at - 2 * kNear));
    if (near.size() < 4 * kNear) return false;
    for (size_t lea = kNear; lea < 3 * kNear; ++lea) {
      const bool moves_stack = (near[lea] & 0xfe) == 0x48 && near[lea + 1] == 0x8d && (near[lea + 2] & 0xf8) == 0x60 && (near[lea + 3] == 0xf8 || near[lea + 3] == 0xf0);
      if (!moves_stack || (near[lea] == 0x48 && near[lea + 2] == 0x65)) continue;  // of rbp
      for (size_t pop = lea - kNear; pop < std::min<size_t>(lea, 2 * kNear); ++pop) {
        if (near[pop] == 0x5d || near[pop] == 0xc9) return true;
      }
    }
    return false;
  }

  void report(uint64_t pc, const std::string& difference) {
    if (const Explained* const reason = find_reason(path_, difference)) {
      ++totals_.explained;
      ++totals_.reasons[reason];
      return;
    }
    ++totals_.differences;
    if (++reported_ <= (verbose_ ? 1000 : 5)) std::printf("%s %#lx: %s\n", path_.c_str(), static_cast<unsigned long>(pc), difference.c_str());
  }

  const std::string& path_;
  const elf::ElfFile* elf_ = nullptr;
  bool verbose_;
  Totals& totals_;
  unwind::UnwindRows table_;
  std::vector<LibdwFde> ours_[2];  // .eh_frame's, .debug_frame's
  std::vector<uint8_t> slab_;
  unwind_place place_{};
  int reported_ = 0;
};

std::vector<std::string> list_all() {
  std::vector<std::string> paths;
  std::set<std::pair<uint64_t, uint64_t>> seen;
  for (const char* root : {"/usr/bin", "/usr/sbin", "/usr/lib"}) {
    std::error_code error;
    using Iterator = std::filesystem::recursive_directory_iterator;
    for (auto i = Iterator(root, std::filesystem::directory_options::skip_permission_denied, error); i != Iterator(); i.increment(error)) {
      if (!error && i->is_regular_file(error) && !i->is_symlink(error)) paths.push_back(i->path());
    }
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

double percent(uint64_t part, uint64_t whole) {
  return whole == 0 ? 0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}

int run(int argc, char** argv) {
  std::vector<std::string> paths;
  bool verbose = false;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--all") == 0) paths = list_all();
    else if (std::strcmp(argv[i], "-v") == 0) verbose = true;
    else paths.emplace_back(argv[i]);
  }
  elf_version(EV_CURRENT);
  Totals totals;
  for (const std::string& path : paths) FileComparison(path, verbose, totals).run();
  std::printf("%lu files, %lu FDEs and %lu of .debug_frame by libdw's list (%lu unreadable), %lu libdw rows, %lu differences, %lu explained\n", totals.files, totals.fdes,
              totals.debug_frame_fdes, totals.unreadable, totals.rows, totals.differences, totals.explained);
  bool good = totals.differences == 0 && totals.rows != 0;
  for (const auto& [explained, count] : totals.reasons) {
    const bool known = count <= std::max<uint64_t>(4, totals.files * explained->most_per_thousand_files / 1000);
    good = good && known;
    std::printf("  %8lu  %s%s\n", count, explained->reason, known ? "" : ": MORE THAN IS KNOWN");
  }
  const bool followable = percent(totals.followable, totals.covered) >= kFollowable;
  std::printf("of the code that libdw has rows for the kernel can follow %.4f %%%s (rsp, rbp and PLT rules alone: %.4f %%)\n",
              percent(totals.followable, totals.covered), followable ? "" : ": TOO LITTLE", percent(totals.simple, totals.covered));
  std::printf("of all code it is %.2f %%\n", percent(totals.covered, totals.executable));
  return good && followable ? 0 : 1;
}

}  // namespace
}  // namespace cicada::oracle

int main(int argc, char** argv) { return cicada::oracle::run(argc, argv); }
