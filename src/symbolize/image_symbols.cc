// SPDX-License-Identifier: Apache-2.0
#include "symbolize/image_symbols.h"

#include "base/diagnostics.h"
#include "symbolize/mini_debug_info.h"
#include "symbolize/plt_symbols.h"

namespace cicada::symbolize {

struct ImageSymbols::Parts {
  explicit Parts(elf::ElfFile file) : elf(std::move(file)) {}
  elf::ElfFile elf;
  std::optional<elf::ElfFile> mini;
  PltSymbols plt;
  SymbolIndex index;
};

ImageSymbols::ImageSymbols() = default;
ImageSymbols::~ImageSymbols() = default;

std::unique_ptr<ImageSymbols> ImageSymbols::open(elf::ElfFile elf, const std::string& path, const SymbolizeOptions&) {
  using profile::NameSource;
  auto symbols = std::unique_ptr<ImageSymbols>(new ImageSymbols);
  symbols->parts_ = std::make_unique<Parts>(std::move(elf));
  Parts& parts = *symbols->parts_;

  SymbolIndexBuilder builder;
  builder.append_section(parts.elf, ".symtab", NameSource::kSymtab);
  if (parts.elf.sections().empty()) {
    builder.append_dynamic(parts.elf);
  } else {
    builder.append_section(parts.elf, ".dynsym", NameSource::kDynsym);
  }
  auto mini = load_mini_debug_info(parts.elf);
  if (!mini) diagnostics().warn(path, "{}", mini.error().message());
  if (mini && *mini) {
    parts.mini = std::move(**mini);
    builder.append_section(*parts.mini, ".symtab", NameSource::kMiniDebugInfo);
  }
  parts.plt = PltSymbols::read(parts.elf);
  parts.plt.append_to(builder);
  parts.index = builder.build();
  return symbols;
}

std::optional<Symbol> ImageSymbols::find_symbol(LinkAddr address) const { return parts_->index.find(address); }
bool ImageSymbols::has_symbols() const { return !parts_->index.empty(); }
bool ImageSymbols::has_dwarf() const { return false; }

void ImageSymbols::resolve(std::span<const LinkAddr> addresses, const FrameCallback& callback) const {
  for (size_t i = 0; i < addresses.size(); ++i) {
    const auto symbol = parts_->index.find(addresses[i]);
    if (!symbol) {
      callback(i, {});
      continue;
    }
    const SourceFrame frame{symbol->name, {}, 0, false, symbol->source, symbol->begin.value};
    callback(i, std::span(&frame, 1));
  }
}

}  // namespace cicada::symbolize
