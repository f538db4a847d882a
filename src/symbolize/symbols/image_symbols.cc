// SPDX-License-Identifier: Apache-2.0
#include "symbolize/symbols/image_symbols.h"

#include <algorithm>
#include <limits>
#include <mutex>

#include "base/diagnostics.h"
#include "symbolize/symbols/call_frame_functions.h"
#include "symbolize/files/debug_files.h"
#include "symbolize/files/debuginfod_client.h"
#include "symbolize/dwarf/dwarf_names.h"
#include "symbolize/files/mini_debug_info.h"
#include "symbolize/symbols/plt_symbols.h"

namespace cicada::symbolize {
namespace {

using profile::NameSource;

bool has_dwarf_sections(const elf::ElfFile& elf) {
  return elf.find_section(".debug_info") != nullptr || elf.find_section(".zdebug_info") != nullptr;
}

constexpr uint32_t kNoUnit = UINT32_MAX;

}  // namespace

struct ImageSymbols::Parts {
  explicit Parts(elf::ElfFile file, const SymbolizeOptions& wanted) : elf(std::move(file)), inlines(wanted.inlines), lines(wanted.lines) {}
  elf::ElfFile elf;
  bool inlines, lines;
  bool fetched_debug = false;
  std::optional<elf::ElfFile> mini, debug, alternate;
  PltSymbols plt;
  SymbolIndex index;
  std::unique_ptr<DwarfNames> dwarf;
  std::once_flag functions_read;
  CallFrameFunctions functions;

  uint32_t unit_of(LinkAddr address) const { return dwarf == nullptr ? kNoUnit : dwarf->find_unit(address).value_or(kNoUnit); }
  // What a debug file adds, .symtab and DWARF, is looked for only where the image itself lacks it.
  void open_debug_file(const std::string& path, const SymbolizeOptions& options, DebuginfodClient* debuginfod, const FileRoot& root) {
    const bool wants_dwarf = (inlines || lines) && !has_dwarf_sections(elf);
    if (elf.find_section(".symtab") != nullptr && !wants_dwarf) return;
    debug = find_debug_file(elf, path, options.debug_dirs, root);
    if (debug || debuginfod == nullptr || elf.build_id().empty()) return;
    const Result<UniqueFd> fetched = debuginfod->find_debug_file(elf.build_id());
    if (!fetched) {
      if (fetched.error().kind() == ErrorKind::kNotFound) return;
      const std::string object = fetched.error().kind() == ErrorKind::kUnsupported || fetched.error().kind() == ErrorKind::kLimit ? "debuginfod" : path;
      return diagnostics().warn(object, "{}", fetched.error().message());
    }
    Result<FileMapping> mapping = FileMapping::map(fetched->get(), "debug file of " + path);
    if (!mapping) return diagnostics().warn(path, "{}", mapping.error().message());
    Result<elf::ElfFile> file = elf::ElfFile::parse(std::move(*mapping), "debug file of " + path);
    if (!file) return diagnostics().warn(path, "{}", file.error().message());
    if (file->build_id() != elf.build_id()) return diagnostics().warn(path, "debuginfod sent the debug file of another build");
    debug = std::move(*file);
    fetched_debug = true;
  }
  void open_dwarf(const std::string& path, const SymbolizeOptions& options, const FileRoot& root) {
    if (!inlines && !lines) return;
    const elf::ElfFile& from = !has_dwarf_sections(elf) && debug ? *debug : elf;
    if (!has_dwarf_sections(from)) return;
    alternate = find_alternate_file(from, options.debug_dirs, root);
    dwarf = DwarfNames::open(from, alternate ? &*alternate : nullptr, path, root);
  }
};

ImageSymbols::ImageSymbols() = default;
ImageSymbols::~ImageSymbols() = default;

std::unique_ptr<ImageSymbols> ImageSymbols::open(elf::ElfFile elf, const std::string& path, const SymbolizeOptions& options, DebuginfodClient* debuginfod,
                                                 const FileRoot& root) {
  auto symbols = std::unique_ptr<ImageSymbols>(new ImageSymbols);
  symbols->parts_ = std::make_unique<Parts>(std::move(elf), options);
  Parts& parts = *symbols->parts_;

  SymbolIndexBuilder builder;
  builder.append_section(parts.elf, ".symtab", NameSource::kSymtab);
  if (parts.elf.sections().empty()) {
    builder.append_dynamic(parts.elf);
  } else {
    builder.append_section(parts.elf, ".dynsym", NameSource::kDynsym);
  }
  parts.open_debug_file(path, options, debuginfod, root);
  if (parts.debug) builder.append_section(*parts.debug, ".symtab", parts.fetched_debug ? NameSource::kDebuginfod : NameSource::kDebugFile);
  if (parts.elf.find_section(".symtab") == nullptr && !parts.debug) {
    auto mini = load_mini_debug_info(parts.elf);
    if (!mini) diagnostics().warn(path, "{}", mini.error().message());
    if (mini && *mini) {
      parts.mini = std::move(**mini);
      builder.append_section(*parts.mini, ".symtab", NameSource::kMiniDebugInfo);
    }
  }
  parts.plt = PltSymbols::read(parts.elf);
  parts.plt.append_to(builder);
  parts.index = builder.build();
  parts.open_dwarf(path, options, root);
  return symbols;
}

std::optional<Symbol> ImageSymbols::find_symbol(LinkAddr address) const { return parts_->index.find(address); }
std::optional<LinkAddr> ImageSymbols::find_function_begin(LinkAddr address) const {
  std::call_once(parts_->functions_read, [&] { parts_->functions = CallFrameFunctions::read(parts_->elf); });
  return parts_->functions.find_begin(address);
}
bool ImageSymbols::has_symbols() const { return !parts_->index.empty(); }
bool ImageSymbols::has_dwarf() const { return parts_->dwarf != nullptr; }

size_t ImageSymbols::memory_bytes() const {
  const size_t dwarf = parts_->dwarf == nullptr ? 0 : parts_->dwarf->memory_bytes();
  const size_t tables = parts_->index.memory_bytes() + parts_->functions.memory_bytes() + (parts_->mini ? parts_->mini->bytes().size() : 0);
  return dwarf > std::numeric_limits<size_t>::max() - tables ? dwarf : dwarf + tables;
}

void ImageSymbols::drop_pages() const {
  parts_->elf.drop_pages();
  if (parts_->debug) parts_->debug->drop_pages();
  if (parts_->alternate) parts_->alternate->drop_pages();
}

std::vector<std::vector<uint32_t>> ImageSymbols::partition(std::span<const LinkAddr> addresses, size_t size) const {
  std::vector<std::pair<uint32_t, uint32_t>> by_unit;  // unit, index
  by_unit.reserve(addresses.size());
  for (uint32_t i = 0; i < addresses.size(); ++i) by_unit.emplace_back(parts_->unit_of(addresses[i]), i);
  std::sort(by_unit.begin(), by_unit.end());
  std::vector<std::vector<uint32_t>> result;
  for (size_t i = 0; i < by_unit.size(); ++i) {
    const bool same_unit = i > 0 && by_unit[i].first == by_unit[i - 1].first && by_unit[i].first != kNoUnit;
    if (result.empty() || (result.back().size() >= size && !same_unit)) result.emplace_back();
    result.back().push_back(by_unit[i].second);
  }
  for (auto& part : result) std::sort(part.begin(), part.end());
  return result;
}

void ImageSymbols::resolve(std::span<const LinkAddr> addresses, const FrameCallback& callback) const {
  std::vector<SourceFrame> frames;
  const auto emit = [&](size_t i, std::span<const DwarfFrame> from) {
    frames.clear();
    const auto symbol = parts_->index.find(addresses[i]);
    for (const DwarfFrame& frame : from) frames.push_back({frame.name, frame.file, frame.line, frame.inlined, NameSource::kDwarf});
    if (frames.empty() && symbol) frames.emplace_back();
    if (frames.empty()) return callback(i, {});
    // The outermost function is called as its symbol is: the name that every other tool, and the linker, knows it by.
    SourceFrame& outermost = frames.back();
    if (symbol) {
      outermost.linkage_name = symbol->name;
      outermost.source = symbol->source;
    }
    if (outermost.linkage_name.empty()) return callback(i, {});
    callback(i, frames);
  };

  std::vector<std::pair<uint32_t, uint32_t>> by_unit;
  by_unit.reserve(addresses.size());
  for (uint32_t i = 0; i < addresses.size(); ++i) by_unit.emplace_back(parts_->unit_of(addresses[i]), i);
  std::sort(by_unit.begin(), by_unit.end());
  std::vector<uint64_t> wanted;
  for (size_t begin = 0, end = 0; begin < by_unit.size(); begin = end) {
    while (end < by_unit.size() && by_unit[end].first == by_unit[begin].first) ++end;
    if (by_unit[begin].first == kNoUnit) {
      for (size_t i = begin; i < end; ++i) emit(by_unit[i].second, {});
      continue;
    }
    wanted.clear();
    for (size_t i = begin; i < end; ++i) wanted.push_back(addresses[by_unit[i].second].value);
    parts_->dwarf->resolve(by_unit[begin].first, wanted, parts_->inlines, parts_->lines,
                           [&](size_t i, std::span<const DwarfFrame> from) { emit(by_unit[begin + i].second, from); });
  }
}

}  // namespace cicada::symbolize
