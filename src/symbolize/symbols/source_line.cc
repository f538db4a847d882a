// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <charconv>
#include <limits>
#include <map>

#include "names/demangle.h"
#include "symbolize/symbols/file_places.h"
#include "symbolize/symbols/function_search.h"

namespace cicada::symbolize {

std::optional<SourceLine> parse_source_line(std::string_view pattern) {
  const size_t colon = pattern.rfind(':');
  if (colon == std::string_view::npos || colon == 0 || pattern[colon - 1] == ':') return std::nullopt;
  const std::string_view digits = pattern.substr(colon + 1);
  SourceLine line{std::string(pattern.substr(0, colon)), 0};
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), line.line);
  if (error != std::errc{} || end != digits.data() + digits.size() || line.line == 0) return std::nullopt;
  return line;
}

void add_line(const elf::ElfFile& image, const SymbolIndex& symbols, uint32_t pattern, const SourceLine& line, CodeOfLine code, size_t limit, FunctionSearch& search) {
  const FilePlaces places(image);
  std::map<uint64_t, std::pair<uint64_t, Symbol>> first;  // by function: its lowest address
  for (const uint64_t address : code.addresses) {
    const std::optional<Symbol> symbol = symbols.find(LinkAddr(address));
    if (!symbol || !places.find(LinkAddr(address))) continue;
    const auto [at, is_new] = first.try_emplace(symbol->begin.value, address, *symbol);
    if (!is_new && address < at->second.first) at->second = {address, *symbol};
  }
  search.matches += first.size();
  for (const auto& [begin, found] : first) {
    const auto place = places.find(LinkAddr(begin));
    if (!place || search.functions.size() == limit) continue;
    search.functions.push_back({pattern, LinkAddr(found.first), {place->offset, 0, {}, 0}, found.first - begin, false, false, names::demangle(found.second.name, names::Demangle::kFull)});
  }
  if (!first.empty() || !code.has_file) return;
  std::string& near = search.near[pattern];
  near.clear();
  if (code.before != 0) near = fmt::format("{}:{}", line.file, code.before);
  if (code.after != std::numeric_limits<uint32_t>::max()) near += fmt::format("{}{}:{}", near.empty() ? "" : ", ", line.file, code.after);
}

}  // namespace cicada::symbolize
