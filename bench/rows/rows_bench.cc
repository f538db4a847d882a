// SPDX-License-Identifier: Apache-2.0
// CFI to a finished unwind table (compile, plan, write: all that the kernel walk needs) beside libdw's way from row to row, over the
// same file in the same process. Medians of N rounds, the two taking turns.
//
//   rows_bench [--rounds N] [--only ours|libdw] FILE…
//
// libdw's loop is the least a tool on top of it has to do: dwarf_cfi_addrframe() at every row boundary. --only is for counting
// instructions under valgrind.
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <libelf.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "dwarf/frame_sections.h"
#include "unwind/row_compiler.h"
#include "unwind/rows/table_layout.h"

namespace {

using cicada::LinkAddr;
using Clock = std::chrono::steady_clock;

double milliseconds_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

struct Fde {
  uint64_t begin, end;
};

// Where to begin asking libdw: it cannot list its FDEs by address.
std::vector<Fde> list_fdes(const cicada::elf::ElfFile& elf) {
  std::vector<Fde> fdes;
  for (const auto& section : cicada::dwarf::find_frame_sections(elf)) {
    if (section.format != cicada::dwarf::FrameFormat::kEhFrame) continue;
    cicada::dwarf::FdeReader reader(section);
    while (auto fde = reader.next()) fdes.push_back({fde->begin.value, fde->begin.value + fde->size});
  }
  return fdes;
}

struct Outcome {
  double ms = 0;
  uint64_t rows = 0;
};

[[gnu::noinline]] Outcome measured_libdw(const std::string& path, const std::vector<Fde>& fdes) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  elf_version(EV_CURRENT);
  Elf* elf = elf_begin(fd, ELF_C_READ_MMAP, nullptr);
  const auto begin = Clock::now();
  Outcome outcome;
  Dwarf_CFI* cfi = dwarf_getcfi_elf(elf);
  for (const Fde& fde : fdes) {
    for (uint64_t pc = fde.begin; cfi != nullptr && pc < fde.end;) {
      Dwarf_Frame* frame = nullptr;
      if (dwarf_cfi_addrframe(cfi, pc, &frame) != 0) break;
      Dwarf_Addr from = 0, to = 0;
      bool signal = false;
      dwarf_frame_info(frame, &from, &to, &signal);
      std::free(frame);
      ++outcome.rows;
      if (to <= pc) break;
      pc = to;
    }
  }
  outcome.ms = milliseconds_since(begin);
  if (cfi != nullptr) dwarf_cfi_end(cfi);
  elf_end(elf);
  ::close(fd);
  return outcome;
}

struct Ours {
  double ms = 0, compile_ms = 0;
  uint64_t rows = 0, bytes = 0;
};

[[gnu::noinline]] Ours measured_ours(const cicada::elf::ElfFile& elf, std::vector<uint8_t>& slab) {
  const auto begin = Clock::now();
  const cicada::unwind::UnwindRows table = *cicada::unwind::compile_rows(elf);
  Ours ours;
  ours.compile_ms = milliseconds_since(begin);
  const auto layout = cicada::unwind::TableLayout::plan(table, 0);
  if (slab.size() < layout.size_bytes()) slab.resize(layout.size_bytes());  // the kernel's memory: there already, once written
  unwind_place place;
  layout.write(table, 1, slab, place);
  ours.ms = milliseconds_since(begin);
  ours.rows = table.stats().cfi_rows;
  ours.bytes = layout.size_bytes();
  return ours;
}

}  // namespace

int main(int argc, char** argv) {
  int rounds = 7;
  std::string only;
  std::vector<std::string> files;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--rounds") == 0 && i + 1 < argc) rounds = std::atoi(argv[++i]);
    else if (std::strcmp(argv[i], "--only") == 0 && i + 1 < argc) only = argv[++i];
    else files.emplace_back(argv[i]);
  }
  if (only.empty()) {
    std::printf("%-44s %9s %9s %9s | %8s %8s %8s | %6s %6s\n", "image", "FDEs", "rows", "libdw", "ours ms", "compile", "libdw ms",
                "ns/row", "ratio");
  }
  for (const std::string& file : files) {
    const auto elf = cicada::elf::ElfFile::open(file);
    if (!elf) {
      std::fprintf(stderr, "%s\n", elf.error().message().c_str());
      continue;
    }
    const std::vector<Fde> fdes = list_fdes(*elf);
    std::vector<double> ours_ms, compile_ms, libdw_ms;
    std::vector<uint8_t> slab;
    Ours ours;
    Outcome libdw;
    if (only.empty()) measured_ours(*elf, slab);  // warms the page cache, for both
    for (int round = 0; round < rounds; ++round) {
      if (only != "libdw") {
        ours = measured_ours(*elf, slab);
        ours_ms.push_back(ours.ms);
        compile_ms.push_back(ours.compile_ms);
      }
      if (only != "ours") {
        libdw = measured_libdw(file, fdes);
        libdw_ms.push_back(libdw.ms);
      }
    }
    if (!only.empty()) {
      std::printf("%s %lu\n", file.c_str(), static_cast<unsigned long>(only == "ours" ? ours.rows : libdw.rows));
      continue;
    }
    const size_t slash = file.rfind('/');
    std::printf("%-44s %9zu %9lu %9lu | %8.2f %8.2f %8.2f | %6.1f %5.1fx\n", file.substr(slash == std::string::npos ? 0 : slash + 1).c_str(),
                fdes.size(), static_cast<unsigned long>(ours.rows), static_cast<unsigned long>(libdw.rows), median(ours_ms),
                median(compile_ms), median(libdw_ms), median(ours_ms) * 1e6 / static_cast<double>(std::max<uint64_t>(1, ours.rows)),
                median(libdw_ms) / std::max(1e-6, median(ours_ms)));
  }
  return 0;
}
