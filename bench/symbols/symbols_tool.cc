// SPDX-License-Identifier: Apache-2.0
// What ./run and ./agreement need of cicada's library:
//   symbols_tool [OPTIONS] FILE < addresses            `addr2line -ifC`
//   symbols_tool --list N FILE                         N random code addresses, the same ones every time
//   symbols_tool --classify FILE ADDRESSES OURS THEIRS how two lists of names differ: "class count" lines
#include <cstdio>
#include <cstring>
#include <fstream>
#include <map>
#include <random>
#include <set>

#include "base/diagnostics.h"
#include "names/demangle.h"
#include "symbolize/symbols/symbol_index.h"
#include "symbolize/symbol_report.h"

namespace {

using namespace cicada;
using namespace cicada::symbolize;

int list_addresses(size_t count, const std::string& path) {
  const auto elf = elf::ElfFile::open(path);
  if (!elf) return 1;
  std::vector<const elf::Section*> code;
  std::vector<uint64_t> sizes;
  for (const elf::Section& section : elf->sections()) {
    if ((section.flags & SHF_EXECINSTR) == 0 || section.size == 0) continue;
    code.push_back(&section);
    sizes.push_back(section.size);
  }
  if (code.empty()) return 1;
  std::mt19937_64 random(1);
  std::discrete_distribution<size_t> choose(sizes.begin(), sizes.end());
  std::set<uint64_t> seen;
  for (size_t tries = 0; seen.size() < count && tries < count * 4; ++tries) {
    const elf::Section& section = *code[choose(random)];
    const uint64_t address = section.address.value + random() % section.size;
    if (seen.insert(address).second) std::printf("0x%lx\n", address);
  }
  return 0;
}

std::vector<std::string> read_lines(const char* path) {
  std::ifstream in(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

// Every name that some symbol table gives to each address, with where those symbols end.
struct AllSymbols {
  struct One {
    uint64_t begin, size;
    uint8_t type;
  };
  std::multimap<std::string, One, std::less<>> by_name;
  explicit AllSymbols(const elf::ElfFile& elf) {
    for (const std::string_view table : {".symtab", ".dynsym"}) {
      const elf::Section* section = elf.find_section(table);
      if (section == nullptr) continue;
      const Bytes entries = elf.contents(*section), strings = elf.contents(elf.sections()[section->link]);
      for (size_t at = 0; at + sizeof(Elf64_Sym) <= entries.size(); at += sizeof(Elf64_Sym)) {
        Elf64_Sym symbol;
        std::memcpy(&symbol, entries.data() + at, sizeof symbol);
        if (symbol.st_shndx == SHN_UNDEF) continue;
        const std::string_view name = ByteCursor(strings, symbol.st_name).c_string();
        by_name.emplace(names::strip_version(name), One{symbol.st_value, symbol.st_size, static_cast<uint8_t>(ELF64_ST_TYPE(symbol.st_info))});
      }
    }
  }
  const One* covering(std::string_view name, uint64_t address) const {
    const One* best = nullptr;
    for (auto [at, end] = by_name.equal_range(name); at != end; ++at) {
      if (at->second.begin <= address && (best == nullptr || at->second.begin > best->begin)) best = &at->second;
    }
    return best;
  }
};

std::string class_of(const AllSymbols& symbols, uint64_t address, const std::string& ours, const std::string& theirs) {
  if (ours == theirs) return ours == "??" ? "neither" : "same";
  if (names::strip_version(theirs) == ours) return "same";
  const auto* a = symbols.covering(ours, address);
  const auto* b = symbols.covering(names::strip_version(theirs), address);
  if (theirs == "??" && ours.ends_with("@plt")) return "plt-stub-named-by-cicada-only";
  if (ours.ends_with("@plt")) return "llvm-stretches-into-a-plt-stub";
  if (ours == "??" && b != nullptr && b->size == 0) return "llvm-stretches-a-sizeless-symbol";
  if (ours == "??" && b != nullptr && b->type == STT_OBJECT) return "llvm-names-code-after-data";
  if (ours == "??" && b != nullptr && address >= b->begin + b->size) return "llvm-stretches-beyond-size";
  if (a != nullptr && b != nullptr && a->begin == b->begin) return "same-alias";
  if (b != nullptr && b->type == STT_OBJECT) return "llvm-names-code-after-data";
  if (theirs == "??" && a != nullptr && a->size != 0 && address < a->begin + a->size) return "llvm-forgets-the-outer-symbol";
  if (a != nullptr && b != nullptr && b->size == 0 && a->size != 0) return "llvm-prefers-a-label-inside";
  if (ours == "??") return "only-llvm-names-it";
  if (theirs == "??") return "only-cicada-names-it";
  return "different";
}

int classify(char** argv) {
  const auto elf = elf::ElfFile::open(argv[0]);
  if (!elf) return 1;
  const auto addresses = read_lines(argv[1]), ours = read_lines(argv[2]), theirs = read_lines(argv[3]);
  const AllSymbols symbols(*elf);
  std::map<std::string, size_t> classes;
  for (size_t i = 0; i < addresses.size() && i < ours.size() && i < theirs.size(); ++i) {
    const std::string kind = class_of(symbols, find_address(addresses[i]).value_or(LinkAddr()).value, ours[i], theirs[i]);
    ++classes[kind];
    if (kind == "different" || kind.starts_with("only")) std::fprintf(stderr, "%s %s: %s, llvm %s\n", argv[0], addresses[i].c_str(), ours[i].c_str(), theirs[i].c_str());
  }
  for (const auto& [name, count] : classes) std::printf("%s %zu\n", name.c_str(), count);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  SymbolReportOptions options;
  options.symbols.fold_clones = false;
  const char* path = nullptr;
  bool only_functions = false;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument == "--list" && i + 2 < argc) return list_addresses(std::strtoul(argv[i + 1], nullptr, 10), argv[i + 2]);
    if (argument == "--classify" && i + 4 < argc) return classify(argv + i + 1);
    if (argument == "--no-inlines") {
      options.symbols.inlines = options.symbols.lines = false;
    } else if (argument == "--mangled") {
      options.symbols.demangle = Demangle::kNone;
    } else if (argument == "--one-thread") {
      options.symbols.threads = 1;
    } else if (argument == "--functions") {
      only_functions = true;
    } else {
      path = argv[i];
    }
  }
  if (path == nullptr) return 2;
  diagnostics().set_handler([](Severity, const std::string& line) { std::fprintf(stderr, "%s\n", line.c_str()); });
  size_t line_number = 0;
  const auto write = [&](std::string_view text) -> cicada::Result<void> {
    if (!only_functions) {
      std::fwrite(text.data(), 1, text.size(), stdout);
      return {};
    }
    for (size_t at = 0; at < text.size(); ++line_number) {
      const size_t newline = text.find('\n', at);
      if (line_number % 2 == 0) std::fwrite(text.data() + at, 1, newline + 1 - at, stdout);
      at = newline + 1;
    }
    return {};
  };
  const auto done = report_symbols(path, {}, 0, options, write);
  if (done) return 0;
  std::fprintf(stderr, "%s\n", done.error().message().c_str());
  return 1;
}
