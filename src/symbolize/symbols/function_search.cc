// SPDX-License-Identifier: Apache-2.0
// Symbols are walked in the order of their addresses, all of one address together: each pattern then has at most one function there, matches
// are counted without being kept, and what is kept is in order.
#include "symbolize/symbols/function_search.h"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "base/near_names.h"
#include "base/work_budget.h"
#include "elf/go_functions.h"
#include "names/demangle.h"
#include "symbolize/symbols/file_places.h"
#include "symbolize/symbols/name_pattern.h"

namespace cicada::symbolize {
namespace {

using Candidate = SymbolIndexBuilder::Candidate;
using Kind = SymbolIndexBuilder::Kind;
using Match = NamePattern::Match;

// Of about a nanosecond each. All together is less than a parser may use (2 s, and 20 ns a byte of the image), so that half an answer comes back.
constexpr uint64_t kSearchWork = 700'000'000, kSearchWorkPerByte = 6, kMaxSearchWork = 8'000'000'000;
constexpr uint64_t kNamesWork = 300'000'000, kNearWork = 300'000'000;
constexpr uint64_t kMaxTextBytes = 16 << 20;  // of all names together
constexpr size_t kMaxNearNames = 20'000;      // that are compared with one that was not found, each letter with each
constexpr uint64_t kWorkPerLetters = 2;
constexpr size_t kShownOverloads = 3, kLongWord = 9;

// What one pattern has at one address, the best so far. An IFUNC has the address of what chooses its code, which may have a name of its own: who asks for both, as `mem*`
// does, means the function.
struct Best {
  const Candidate* symbol = nullptr;
  bool exact = false;
  bool is_better(const Candidate& other, bool is_exact) const {
    if (symbol == nullptr) return true;
    if (is_exact != exact) return is_exact;
    const bool is_function = other.kind == Kind::kIndirect;
    return is_function != (symbol->kind == Kind::kIndirect) ? is_function : SymbolIndexBuilder::better(other, *symbol);
  }
  void offer(const Candidate& other, bool is_exact) {
    if (!is_better(other, is_exact)) return;
    symbol = &other;
    exact = is_exact;
  }
};

Match match_symbol(const NamePattern& pattern, const Candidate& symbol, SymbolName& name, WorkBudget& work) {
  if (symbol.kind == Kind::kLabel) return pattern.is_linkage_name(symbol.name) ? Match::kExact : Match::kNone;
  return pattern.match(name, work);
}

// What compilers moved away from functions: NAME.cold, by NAME. Of two that have the same name, as functions of two source files may, nobody knows whose they are.
class ColdParts {
 public:
  ColdParts(std::span<const Candidate> symbols, WorkBudget& work) {
    for (const Candidate& symbol : symbols) {
      if (!work.spend(1)) return;
      if (!symbol.name.ends_with(kSuffix)) continue;
      const auto [at, is_new] = parts_.try_emplace(symbol.name.substr(0, symbol.name.size() - kSuffix.size()), &symbol);
      if (!is_new && at->second != nullptr && at->second->begin != symbol.begin) at->second = nullptr;
    }
  }
  // Null: it has none.
  const Candidate* find(std::string_view name) const {
    const auto found = parts_.find(name);
    return found == parts_.end() ? nullptr : found->second;
  }

 private:
  static constexpr std::string_view kSuffix = ".cold";
  std::unordered_map<std::string_view, const Candidate*> parts_;
};

// "f(int), f(char)" of "f(long)": those that differ by their parameters only.
std::string find_overloads(const NamePattern& pattern, std::span<const Candidate> symbols, WorkBudget& work) {
  const NamePattern any(pattern.name());
  std::vector<std::string> found;
  for (const Candidate& symbol : symbols) {
    SymbolName name(symbol.name, work);
    if (found.size() == kShownOverloads || work.exhausted()) break;
    if (match_symbol(any, symbol, name, work) == Match::kNone || std::ranges::find(found, name.full()) != found.end()) continue;
    if (!name.full().empty()) found.push_back(name.full());
  }
  std::string list;
  for (const std::string& name : found) list.append(list.empty() ? "" : ", ").append(name);
  return list;
}

// Only names that begin or end a word as the one that was asked for are demangled, and only those of about its length, or with it within, compared.
std::string find_near(const NamePattern& pattern, std::span<const Candidate> symbols, WorkBudget& work) {
  if (pattern.has_parameters()) {
    if (std::string overloads = find_overloads(pattern, symbols, work); !overloads.empty()) return overloads;
  }
  const std::string wanted = pattern.name();
  const size_t last = wanted.rfind("::");
  const std::string word = last == std::string::npos ? wanted : wanted.substr(last + 2);
  if (word.size() < 2) return {};
  const size_t part = word.size() < kLongWord ? 2 : word.size() / 2;
  const std::string first = word.substr(0, part), last_part = word.substr(word.size() - part);
  const auto may_be_near = [&](const std::string& name) {
    const size_t more = std::max(name.size(), wanted.size()) - std::min(name.size(), wanted.size());
    return more <= std::max<size_t>(1, wanted.size() / 3) || name.find(wanted) != std::string::npos;
  };
  std::unordered_set<std::string> names;
  for (const Candidate& symbol : symbols) {
    if (names.size() == kMaxNearNames || !work.spend(symbol.name.size())) break;
    if (symbol.kind == Kind::kLabel || (symbol.name.find(first) == std::string_view::npos && symbol.name.find(last_part) == std::string_view::npos)) continue;
    SymbolName name(symbol.name, work);
    if (name.is_fragment() || !may_be_near(name.brief())) continue;
    if (!work.spend(kWorkPerLetters * wanted.size() * name.brief().size())) break;
    names.insert(name.brief());
  }
  std::vector<std::string> sorted(names.begin(), names.end());
  std::sort(sorted.begin(), sorted.end());
  return near_names(wanted, sorted);
}

}  // namespace

FunctionSearch search_functions(const elf::ElfFile& image, std::span<const Candidate> symbols, std::span<const std::string> patterns, size_t limit,
                                const std::stop_token& stop) {
  CHECK(symbols.size() < UINT32_MAX);
  FunctionSearch search;
  search.is_go = image.find_section(".note.go.buildid") != nullptr || elf::GoFunctions::find(image);
  search.has_symbols = !symbols.empty();
  search.near.resize(patterns.size());

  std::vector<std::pair<uint64_t, uint32_t>> order;
  order.reserve(symbols.size());
  for (uint32_t i = 0; i < symbols.size(); ++i) order.emplace_back(symbols[i].begin, i);
  std::sort(order.begin(), order.end());

  const FilePlaces places(image);
  const std::vector<NamePattern> wanted(patterns.begin(), patterns.end());
  std::vector<Best> best(wanted.size());
  std::vector<std::vector<const Candidate*>> kept(wanted.size());
  std::vector<uint64_t> matches(wanted.size());
  WorkBudget work(std::min(kSearchWork + kSearchWorkPerByte * image.bytes().size(), kMaxSearchWork), stop);
  for (size_t i = 0; i < order.size() && !work.exhausted();) {
    const uint64_t begin = order[i].first;
    const bool is_code = work.spend(places.segments()) && places.find(LinkAddr(begin));
    bool any = false;
    for (; i < order.size() && order[i].first == begin; ++i) {
      if (!is_code) continue;
      const Candidate& symbol = symbols[order[i].second];
      SymbolName name(symbol.name, work);
      for (size_t p = 0; p < wanted.size() && work.spend(1); ++p) {
        const Match match = match_symbol(wanted[p], symbol, name, work);
        if (match == Match::kNone) continue;
        best[p].offer(symbol, match == Match::kExact);
        any = true;
      }
    }
    if (!any) continue;
    for (size_t p = 0; p < wanted.size(); ++p) {
      if (best[p].symbol == nullptr) continue;
      ++matches[p];
      if (kept[p].size() < limit) kept[p].push_back(best[p].symbol);
      best[p] = {};
    }
  }

  const ColdParts cold_parts(symbols, work);
  WorkBudget naming(kNamesWork, stop), near(kNearWork, stop), texts(kMaxTextBytes);
  for (uint32_t p = 0; p < wanted.size(); ++p) {
    search.matches += matches[p];
    if (matches[p] == 0) search.near[p] = find_near(wanted[p], symbols, near);
    for (const Candidate* symbol : kept[p]) {
      if (search.functions.size() == limit || texts.exhausted()) break;
      SymbolName name(symbol->name, naming);
      if (name.shown().empty() || !naming.spend(places.segments()) || !texts.spend(name.shown().size())) break;
      const auto place = places.find(LinkAddr(symbol->begin));
      FunctionCode code{place->offset, std::min(symbol->size, place->bytes), {}, 0};
      const Candidate* cold = cold_parts.find(symbol->name);
      const auto cold_place = cold == nullptr ? std::nullopt : places.find(LinkAddr(cold->begin));
      if (cold_place) {
        code.cold_begin = cold_place->offset;
        code.cold_bytes = std::min(cold->size, cold_place->bytes);
      }
      search.functions.push_back({p, LinkAddr(symbol->begin), code, 0, symbol->kind == Kind::kIndirect,
                                  name.has_changed_arguments(), name.shown()});
    }
  }
  search.cut_short = work.exhausted() || naming.exhausted() || stop.stop_requested();
  return search;
}

}  // namespace cicada::symbolize
