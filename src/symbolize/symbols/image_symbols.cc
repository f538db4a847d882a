// SPDX-License-Identifier: Apache-2.0
#include "symbolize/symbols/image_symbols.h"

#include <algorithm>
#include <mutex>

#include "base/diagnostics.h"
#include "profile/frame_text.h"
#include "symbolize/dwarf/dwarf_names.h"
#include "symbolize/files/debug_files.h"
#include "symbolize/files/mini_debug_info.h"
#include "symbolize/symbols/plt_symbols.h"
#include "symbolize/symbols/unnamed_functions.h"

namespace cicada::symbolize {
namespace {

using profile::NameSource;

bool has_dwarf_sections(const elf::ElfFile& elf) {
  return elf.find_section(".debug_info") != nullptr || elf.find_section(".zdebug_info") != nullptr;
}

constexpr uint32_t kNoUnit = UINT32_MAX;
// Of one answer, for each address: a name of usual length several hundred times over; and a large compilation unit, decoded.
constexpr uint64_t kTextPerAddress = 64 << 10, kWorkPerAddress = 4 << 20;

// (unit, index of an address), sorted. Without DWARF: all of no unit.
std::vector<std::pair<uint32_t, uint32_t>> by_unit(const DwarfNames* dwarf, std::span<const LinkAddr> addresses) {
  std::vector<std::pair<uint32_t, uint32_t>> units;
  units.reserve(addresses.size());
  for (uint32_t i = 0; i < addresses.size(); ++i) {
    units.emplace_back(dwarf == nullptr ? kNoUnit : dwarf->find_unit(addresses[i]).value_or(kNoUnit), i);
  }
  if (dwarf != nullptr) std::sort(units.begin(), units.end());
  return units;
}

}  // namespace

struct ImageSymbols::Parts {
  Parts(elf::ElfFile file, const std::string& seen_at, std::shared_ptr<CompanionFiles> beside, const SymbolizeOptions& wanted)
      : elf(std::move(file)), path(seen_at), companions(std::move(beside)), options(wanted) {}

  elf::ElfFile elf;
  std::string path;
  std::shared_ptr<CompanionFiles> companions;
  SymbolizeOptions options;
  std::optional<elf::ElfFile> mini, alternate;
  std::optional<DebugFile> debug;
  PltSymbols plt;
  SymbolIndex index;

  // Of what the first question that needs it opens.
  std::mutex mutex, unnamed_mutex;
  bool dwarf_opened = false;
  std::unique_ptr<DwarfNames> dwarf;
  std::optional<UnnamedFunctions> unnamed;

  bool has_symtab() const { return elf.find_section(".symtab") != nullptr; }
  // Every symbol table of the image and its companions; not the PLT.
  void append_tables(SymbolIndexBuilder& builder) const {
    builder.append_section(elf, ".symtab", NameSource::kSymtab);
    if (elf.sections().empty()) {
      builder.append_dynamic(elf);
    } else {
      builder.append_section(elf, ".dynsym", NameSource::kDynsym);
    }
    if (debug) builder.append_section(debug->file.elf, ".symtab", debug->source);
    else if (!has_symtab()) builder.append_go(elf);
    if (mini) builder.append_section(*mini, ".symtab", NameSource::kMiniDebugInfo);
  }
  const elf::ElfFile* dwarf_file() const {
    if (!options.inlines && !options.lines) return nullptr;
    if (has_dwarf_sections(elf)) return &elf;
    return debug && has_dwarf_sections(debug->file.elf) ? &debug->file.elf : nullptr;
  }
  DwarfNames* open_dwarf() {
    const std::lock_guard lock(mutex);
    const elf::ElfFile* from = dwarf_file();
    if (!std::exchange(dwarf_opened, true) && from != nullptr) {
      alternate = find_alternate_file(*from, from == &elf ? path : debug->file.path, options.debug_dirs, *companions);
      dwarf = DwarfNames::open(*from, alternate ? &*alternate : nullptr, path, *companions);
    }
    return dwarf.get();
  }
  // `use` is called with the lock held.
  auto with_unnamed(auto use) {
    const std::lock_guard lock(unnamed_mutex);
    if (!unnamed) unnamed.emplace(elf);
    return use(*unnamed);
  }
};

ImageSymbols::ImageSymbols() = default;
ImageSymbols::~ImageSymbols() = default;

Result<std::unique_ptr<ImageSymbols>> ImageSymbols::open(int fd, const std::string& path, std::shared_ptr<CompanionFiles> companions,
                                                         const SymbolizeOptions& options) {
  FileMapping mapping = TRY(FileMapping::map(fd, path));
  return open(TRY(elf::ElfFile::parse(std::move(mapping), path)), path, std::move(companions), options);
}

std::unique_ptr<ImageSymbols> ImageSymbols::open(elf::ElfFile elf, const std::string& path, std::shared_ptr<CompanionFiles> companions,
                                                 const SymbolizeOptions& options) {
  auto symbols = std::unique_ptr<ImageSymbols>(new ImageSymbols);
  symbols->parts_ = std::make_unique<Parts>(std::move(elf), path, std::move(companions), options);
  Parts& parts = *symbols->parts_;

  // What a debug file adds, .symtab and DWARF, is looked for only where the image itself lacks it.
  const bool has_symtab = parts.has_symtab();
  if (!has_symtab || ((options.inlines || options.lines) && !has_dwarf_sections(parts.elf))) {
    parts.debug = find_debug_file(parts.elf, path, options.debug_dirs, *parts.companions);
  }
  if (!has_symtab && !parts.debug) {
    auto mini = load_mini_debug_info(parts.elf);
    if (!mini) diagnostics().warn(path, "{}", mini.error().message());
    if (mini && *mini) parts.mini = std::move(**mini);
  }
  SymbolIndexBuilder builder;
  parts.append_tables(builder);
  parts.plt = PltSymbols::read(parts.elf);
  parts.plt.append_to(builder);
  parts.index = builder.build();
  const bool in_debug_file = parts.debug && parts.dwarf_file() == &parts.debug->file.elf;
  diagnostics().info(path, "opened for names: {}{}{}", parts.index.empty() ? "no symbols" : has_symtab ? "symbols" : parts.mini ? "MiniDebugInfo" : "dynamic symbols, or those of Go",
                     parts.dwarf_file() == nullptr ? "" : in_debug_file ? ", DWARF of its debug file" : ", DWARF",
                     parts.debug ? " (" + parts.debug->file.path + ")" : "");
  return symbols;
}

std::optional<Symbol> ImageSymbols::find_symbol(LinkAddr address) const { return parts_->index.find(address); }
FunctionSearch ImageSymbols::find_functions(std::span<const std::string> patterns, size_t limit, const std::stop_token& stop) const {
  SymbolIndexBuilder tables;
  parts_->append_tables(tables);
  const bool has_symbols = !tables.candidates().empty();
  if (!parts_->has_symtab() && !parts_->debug) {
    for (const auto& [code, name] : parts_->with_unnamed([](UnnamedFunctions& all) { return all.named(); })) tables.append(code, name, NameSource::kProgramStart);
  }
  FunctionSearch search = search_functions(parts_->elf, tables.candidates(), patterns, limit, stop);
  search.has_symbols = has_symbols;
  const auto is_line = [](const std::string& pattern) { return parse_source_line(pattern).has_value(); };
  const DwarfNames* dwarf = std::any_of(patterns.begin(), patterns.end(), is_line) ? parts_->open_dwarf() : nullptr;
  if (dwarf == nullptr) return search;
  WorkBudget work(dwarf->work_bytes() + kWorkPerAddress, stop);
  for (uint32_t p = 0; p < patterns.size(); ++p) {
    if (const auto line = parse_source_line(patterns[p])) add_line(parts_->elf, parts_->index, p, *line, dwarf->find_code(line->file, line->line, work), limit, search);
  }
  std::stable_sort(search.functions.begin(), search.functions.end(), [](const FoundFunction& a, const FoundFunction& b) { return std::pair(a.pattern, a.begin) < std::pair(b.pattern, b.begin); });
  search.cut_short = search.cut_short || work.exhausted();
  return search;
}
std::vector<FunctionParameters> ImageSymbols::find_parameters(std::span<const LinkAddr> functions, const std::stop_token& stop) const {
  const DwarfNames* dwarf = parts_->open_dwarf();
  if (dwarf == nullptr) return std::vector<FunctionParameters>(functions.size());
  WorkBudget work(dwarf->work_bytes() + kWorkPerAddress * functions.size(), stop);
  return dwarf->find_parameters(functions, work);
}
bool ImageSymbols::has_symbols() const { return !parts_->index.empty(); }
bool ImageSymbols::has_dwarf() const { return parts_->dwarf_file() != nullptr; }

size_t ImageSymbols::shrink(size_t max_bytes) {
  Parts& parts = *parts_;
  parts.elf.drop_pages();
  if (parts.debug) parts.debug->file.elf.drop_pages();
  if (parts.alternate) parts.alternate->drop_pages();
  const size_t tables = parts.index.memory_bytes() + (parts.unnamed ? parts.unnamed->memory_bytes() : 0) + (parts.mini ? parts.mini->bytes().size() : 0);
  const size_t dwarf = parts.dwarf == nullptr ? 0 : parts.dwarf->memory_bytes();
  if (tables < max_bytes && dwarf <= max_bytes - tables) return tables + dwarf;
  parts.dwarf.reset();
  parts.alternate.reset();
  parts.dwarf_opened = false;
  return tables;
}

std::vector<std::vector<uint32_t>> ImageSymbols::partition(std::span<const LinkAddr> addresses, size_t size) const {
  const auto units = by_unit(parts_->open_dwarf(), addresses);
  std::vector<std::vector<uint32_t>> result;
  for (size_t i = 0; i < units.size(); ++i) {
    const bool same_unit = i > 0 && units[i].first == units[i - 1].first && units[i].first != kNoUnit;
    if (result.empty() || (result.back().size() >= size && !same_unit)) result.emplace_back();
    result.back().push_back(units[i].second);
  }
  for (auto& part : result) std::sort(part.begin(), part.end());
  return result;
}

NamedAddresses ImageSymbols::name(std::span<const LinkAddr> addresses, NameDepth depth, DemangleCache& demangled, const std::stop_token& stop) const {
  const DwarfNames* dwarf = depth == NameDepth::kSymbols ? nullptr : parts_->open_dwarf();
  WorkBudget texts(kTextPerAddress * (addresses.size() + 1), stop);
  WorkBudget work((dwarf == nullptr ? 0 : dwarf->work_bytes()) + kWorkPerAddress * addresses.size(), stop);
  NamedAddressesBuilder builder(addresses.size(), demangled, texts);
  std::vector<SourcePosition> positions;
  std::string place;
  const auto set = [&](size_t i, std::span<const DwarfFrame> frames) {
    positions.clear();
    for (const DwarfFrame& frame : frames) positions.push_back({frame.name, frame.file, frame.line, frame.inlined, NameSource::kDwarf});
    const auto symbol = parts_->index.find(addresses[i]);
    if (symbol) {
      // The outermost function is called as its symbol is: the name that every other tool, and the linker, knows it by.
      if (positions.empty()) positions.emplace_back();
      positions.back().linkage_name = symbol->name;
      positions.back().source = symbol->source;
    }
    if (positions.empty() || positions.back().linkage_name.empty()) {
      positions.clear();
      if (!parts_->options.places) return;
      const auto function = parts_->with_unnamed([&](UnnamedFunctions& all) { return all.find(addresses[i]); });
      if (!function) return;
      place = function->name.empty() ? fmt::format("{}+{:#x}", profile::file_name(parts_->path), function->begin.value) : function->name;
      positions.push_back({.linkage_name = place, .source = function->name.empty() ? NameSource::kFunctionBegin : NameSource::kProgramStart});
    }
    builder.set(i, positions);
  };

  const auto units = by_unit(dwarf, addresses);
  std::vector<uint64_t> wanted;
  for (size_t begin = 0, end = 0; begin < units.size(); begin = end) {
    wanted.clear();
    for (; end < units.size() && units[end].first == units[begin].first; ++end) wanted.push_back(addresses[units[end].second].value);
    if (units[begin].first == kNoUnit || work.exhausted()) {
      for (size_t i = begin; i < end; ++i) set(units[i].second, {});
    } else {
      dwarf->resolve(units[begin].first, wanted, parts_->options.inlines, parts_->options.lines, work,
                     [&](size_t i, std::span<const DwarfFrame> frames) { set(units[begin + i].second, frames); });
    }
  }
  NamedAddresses named = builder.take();
  named.cut_short = work.exhausted() || texts.exhausted();
  named.could_say_more = depth == NameDepth::kSymbols && has_dwarf();
  named.without_symbols = !has_symbols() && !has_dwarf();
  if (named.cut_short && !stop.stop_requested()) {
    diagnostics().warn(parts_->path, "its debug information repeats itself without end; parts of it were left out");
  }
  return named;
}

}  // namespace cicada::symbolize
