// SPDX-License-Identifier: Apache-2.0
#include "unwind/code_patterns.h"

#include <cstring>

#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include "unwind/compiled_code.h"
#include "unwind/go_code.h"
#include "unwind/start_code.h"

namespace cicada::unwind {
namespace {

constexpr uint64_t kMaxSearchedBytes = 32 << 20;
constexpr size_t kMaxPatches = 4096;
constexpr uint64_t kSmallestStartCode = 96, kStartBytes = 512;    // crtbegin.o's code is the first of .text that has no CFI
constexpr uint64_t kMaxInitBytes = 256;  // sections that are longer hold more than crti.o's
constexpr uint64_t kEntryBytes = 64;  // _start of musl and of Go are half as long

unwind_rule make_rule(unwind_cfa_kind kind, int32_t offset = 0) {
  unwind_rule rule{};
  rule.cfa_kind = static_cast<__u8>(kind);
  rule.cfa_reg = kind == CFA_OUTERMOST || kind == CFA_FRAME_POINTER ? 0 : 7;
  rule.cfa_offset = offset;
  return rule;
}

// A function that the image defines, looked for when first asked for: a millisecond of libLLVM's symbols.
class DefinedFunction {
 public:
  DefinedFunction(const elf::ElfFile& elf, std::string_view name) : elf_(elf), name_(name) {}
  // Never, if it is not there, or the image is stripped.
  bool is_at(LinkAddr address) {
    if (!searched_) address_ = find().value_or(LinkAddr{});
    searched_ = true;
    return address_.value != 0 && address_ == address;
  }

 private:
  // Symbols of libraries first.
  std::optional<LinkAddr> find() const;
  const elf::ElfFile& elf_;
  std::string_view name_;
  bool searched_ = false;
  LinkAddr address_;
};

std::optional<LinkAddr> DefinedFunction::find() const {
  for (const char* const name : {".dynsym", ".symtab"}) {
    const elf::Section* const section = elf_.find_section(name);
    if (section == nullptr || section->link >= elf_.sections().size()) continue;
    const Bytes symbols = elf_.contents(*section), strings = elf_.contents(elf_.sections()[section->link]);
    for (size_t at = 0; at + sizeof(Elf64_Sym) <= symbols.size(); at += sizeof(Elf64_Sym)) {
      Elf64_Sym symbol;
      std::memcpy(&symbol, symbols.data() + at, sizeof symbol);
      if (symbol.st_shndx == SHN_UNDEF || ELF64_ST_TYPE(symbol.st_info) != STT_FUNC || symbol.st_name >= strings.size()) continue;
      const Bytes rest = strings.subspan(symbol.st_name);
      if (rest.size() > name_.size() && rest[name_.size()] == 0 && std::memcmp(rest.data(), name_.data(), name_.size()) == 0) {
        return LinkAddr(symbol.st_value);
      }
    }
  }
  return std::nullopt;
}

class PatternSearch {
 public:
  PatternSearch(const elf::ElfFile& elf, const RowTable& table) : elf_(elf), table_(table) {}

  // Trampolines in [begin, end).
  void search(Range<LinkAddr> range) {
    static constexpr uint8_t kNeedle[] = {0x0f, 0, 0, 0, 0x0f, 0x05};  // $15; syscall
    const Bytes code = bytes_of(range);
    const uint8_t* const begin = code.data();
    const uint8_t* at = begin;
    while (at != nullptr && static_cast<uint64_t>(begin + code.size() - at) >= sizeof kNeedle) {
      at = static_cast<const uint8_t*>(memmem(at, static_cast<size_t>(begin + code.size() - at), kNeedle, sizeof kNeedle));
      if (at == nullptr) return;
      const auto offset = static_cast<uint64_t>(at - begin);
      uint64_t lead = 0;
      if (offset >= 3 && at[-3] == 0x48 && at[-2] == 0xc7 && at[-1] == 0xc0) lead = 3;  // mov $15,%rax
      else if (offset >= 1 && at[-1] == 0xb8) lead = 1;                                // mov $15,%eax
      if (lead != 0) add(range.begin + (offset - lead), range.begin + (offset + sizeof kNeedle), make_rule(CFA_SIGNAL), 1);
      at += sizeof kNeedle;
    }
  }

  // From `entry` through its first call.
  void search_entry(LinkAddr entry, LinkAddr end) {
    const Bytes code = bytes_of({entry, std::min(end, entry + kEntryBytes)});
    for (size_t i = 0; i + 1 < code.size(); ++i) {
      const bool near_call = code[i] == 0xe8;
      const bool indirect_call = code[i] == 0xff && (code[i + 1] == 0x15 || (code[i + 1] & 0xf8) == 0xd0);
      if (!near_call && !indirect_call) continue;
      const uint64_t length = near_call ? 5 : code[i + 1] == 0x15 ? 6 : 2;
      return add(entry, std::min(end, entry + i + length), make_rule(CFA_OUTERMOST), 0);
    }
  }

  // Lazy-binding stubs as linkers without --eh-frame-hdr care write them (lld gives its .plt no CFI): `jmp *slot; push n; jmp first`, the
  // first one `push link_map; jmp *resolver` with the return address and n on the stack. With endbr64 in front: push is over at 9.
  void add_stubs(std::string_view name, Range<LinkAddr> part) {
    if (name != ".plt") return add(part.begin, part.end, make_rule(CFA_OFFSET, 8), 0);
    if (part.size() < 32) return;
    const Bytes code = bytes_of(part);
    const bool endbr = code.size() >= 20 && code[16] == 0xf3 && code[17] == 0x0f && code[18] == 0x1e && code[19] == 0xfa;
    add(part.begin, part.begin + 6, make_rule(CFA_OFFSET, 16), 0);
    add(part.begin + 6, part.begin + 16, make_rule(CFA_OFFSET, 24), 0);
    add(part.begin + 16, part.end, make_rule(CFA_PLT, endbr ? 9 : 11), 0);
  }

  // `exit(main(…))`: what is above main in a libc without CFI never returns, and nothing is above it but _start. `mov %eax,%edi; call exit` right
  // behind a call, from that call's end on.
  void search_exit(Range<LinkAddr> range, DefinedFunction& exit) {
    static constexpr uint8_t kNeedle[] = {0x89, 0xc7, 0xe8};
    constexpr size_t kLength = 7;
    const Bytes code = bytes_of(range);
    for (size_t at = 2; at + kLength <= code.size(); ++at) {
      if (std::memcmp(code.data() + at, kNeedle, sizeof kNeedle) != 0) continue;
      int32_t distance = 0;
      std::memcpy(&distance, code.data() + at + 3, sizeof distance);
      const bool behind_call = (code[at - 2] == 0xff && (code[at - 1] & 0xf8) == 0xd0) || (at >= 5 && code[at - 5] == 0xe8) ||
                               (at >= 6 && code[at - 6] == 0xff && code[at - 5] == 0x15);
      const LinkAddr callee((range.begin + at + kLength).value + static_cast<uint64_t>(int64_t{distance}));
      if (behind_call && exit.is_at(callee)) {
        add(range.begin + at, range.begin + (at + kLength), make_rule(CFA_OUTERMOST), 1);
      }
    }
  }

  void add_init(Range<LinkAddr> section) { add_start_code(section.begin, find_init_rules(bytes_of(section))); }
  void search_crtbegin(Range<LinkAddr> gap) {
    const Range<LinkAddr> begin{gap.begin, gap.begin + std::min(gap.size(), kStartBytes)};
    add_start_code(gap.begin, find_crtbegin_rules(bytes_of(begin), gap.begin.value & 15));
  }
  const std::vector<CodeRule>& patches() const { return patches_; }
  std::vector<CodeRule> take() { return std::move(patches_); }

 private:
  Bytes bytes_of(Range<LinkAddr> range) {
    const Bytes all = elf_.contents_at(range.begin);
    return all.first(std::min<uint64_t>(all.size(), range.size()));
  }
  void add_start_code(LinkAddr base, const std::vector<CodeRule>& rules) {
    for (const CodeRule& rule : rules) add(base + rule.begin, base + rule.end, rule.rule, 0);
  }
  void add(LinkAddr begin, LinkAddr end, const unwind_rule& rule, uint64_t before) {
    auto from = static_cast<uint32_t>(begin - table_.base);
    if (from >= before) from -= static_cast<uint32_t>(before);
    if (patches_.size() < kMaxPatches && begin < end) patches_.push_back({from, static_cast<uint32_t>(end - table_.base), rule});
  }
  const elf::ElfFile& elf_;
  const RowTable& table_;
  std::vector<CodeRule> patches_;
};

// Numbers of rules, those of the table first.
class RuleNumbers {
 public:
  explicit RuleNumbers(std::vector<unwind_rule>& rules) : rules_(rules) {
    for (uint32_t i = 0; i < rules.size(); ++i) numbers_.emplace(key(rules[i]), i);
  }
  uint32_t find_or_add(const unwind_rule& rule) {
    const Key wanted = key(rule);
    Recent& recent = recent_[(wanted[0] * 0x9e3779b97f4a7c15 + wanted[1]) >> 56];
    if (recent.number != 0 && recent.key == wanted) return recent.number;
    recent = {wanted, find_or_add_slowly(rule)};
    return recent.number;
  }

 private:
  using Key = std::array<uint64_t, 2>;
  struct Recent {
    Key key{};
    uint32_t number = 0;
  };
  uint32_t find_or_add_slowly(const unwind_rule& rule) {
    const auto [at, added] = numbers_.try_emplace(key(rule), static_cast<uint32_t>(rules_.size()));
    if (!added) return at->second;
    if (rules_.size() >= 0xffff) return at->second = 0;
    rules_.push_back(rule);
    return at->second;
  }
  static Key key(const unwind_rule& rule) {
    Key words;
    static_assert(sizeof words == sizeof rule);
    std::memcpy(words.data(), &rule, sizeof rule);
    return words;
  }
  std::vector<unwind_rule>& rules_;
  std::map<Key, uint32_t> numbers_;
  std::array<Recent, 256> recent_;  // Go programs have a million ranges and some hundred rules
};

// Overwrites [begin, end) of each patch. Patches are sorted. In place: libLLVM has 700,000 rows and a dozen patches, and copying its rows
// one by one into new memory was a fifth of the time of its table (2026-11-21).
class RowEditor {
 public:
  RowEditor(std::vector<Row>& rows, std::vector<unwind_rule>& rules) : rows_(rows), numbers_(rules) {}

  void overwrite(const CodeRule& patch) {
    if (has_fresh() && patch.begin < fresh_.back().begin) return;  // overlaps the one before
    keep_until(first_row_from(patch.begin));
    append(patch.begin, numbers_.find_or_add(patch.rule));
    auto& to = edits_.back().to;
    while (to < rows_.size() && rows_[to].begin <= patch.end) ++to;
    append(patch.end, to == 0 ? 0 : rows_[to - 1].rule);
  }
  void finish() {
    keep_until(rows_.size());
    begin_edit(rows_.size());
    const size_t old_size = rows_.size();
    int64_t shift = 0;
    for (size_t i = 0; i + 1 < edits_.size(); ++i) edits_[i].shift = shift += edits_[i].growth(edits_[i + 1]);
    const auto new_size = static_cast<size_t>(static_cast<int64_t>(old_size) + shift);
    rows_.resize(std::max(old_size, new_size));
    // Kept rows between two edits. What moves up goes first from the last on, then what moves down: nothing is run over.
    const auto move = [&](size_t i) {
      Row* const begin = rows_.data() + edits_[i].to;
      std::memmove(begin + edits_[i].shift, begin, (edits_[i + 1].from - edits_[i].to) * sizeof(Row));
    };
    for (size_t i = edits_.size() - 1; i-- > 0;) if (edits_[i].shift > 0) move(i);
    for (size_t i = 0; i + 1 < edits_.size(); ++i) if (edits_[i].shift < 0) move(i);
    for (size_t i = 0; i + 1 < edits_.size(); ++i) {
      std::copy(fresh_.begin() + edits_[i].fresh, fresh_.begin() + edits_[i + 1].fresh,
                rows_.begin() + edits_[i].from + (i == 0 ? 0 : edits_[i - 1].shift));
    }
    rows_.resize(new_size);
  }

 private:
  // Rows [from, to) give way to the fresh ones from number `fresh` to those of the next edit; `shift` is where the rows behind go.
  struct Edit {
    uint32_t from = 0, to = 0, fresh = 0;
    int64_t shift = 0;
    int64_t growth(const Edit& next) const { return int64_t{next.fresh} - fresh - (int64_t{to} - from); }
  };
  bool has_fresh() const { return fresh_.size() > edits_.back().fresh; }
  uint32_t rule_in_front() const {
    if (has_fresh()) return fresh_.back().rule;
    return edits_.back().from == 0 ? 0 : rows_[edits_.back().from - 1].rule;
  }
  void append(uint32_t begin, uint32_t rule) {
    if (has_fresh() && fresh_.back().begin == begin) fresh_.pop_back();
    if (rule_in_front() != rule) fresh_.push_back({begin, rule});
  }
  size_t first_row_from(uint32_t begin) const {
    const auto at = std::lower_bound(rows_.begin() + edits_.back().to, rows_.end(), begin,
                                     [](const Row& row, uint32_t address) { return row.begin < address; });
    return static_cast<size_t>(at - rows_.begin());
  }
  // The next edit begins at row `end`; of the rows before it only the first can be the same as what is in front of it.
  void keep_until(size_t end) {
    Edit& edit = edits_.back();
    if (edit.to < end && rows_[edit.to].rule == rule_in_front()) ++edit.to;
    if (edit.to < end) begin_edit(end);
  }
  void begin_edit(size_t at) {
    edits_.push_back({static_cast<uint32_t>(at), static_cast<uint32_t>(at), static_cast<uint32_t>(fresh_.size()), 0});
  }
  std::vector<Row>& rows_;
  RuleNumbers numbers_;
  std::vector<Row> fresh_;
  std::vector<Edit> edits_{Edit{}};
};

// The begin of the part of `gaps` that can matter to `range`.
auto first_gap(const std::vector<Range<LinkAddr>>& gaps, const Range<LinkAddr>& range) {
  return std::lower_bound(gaps.begin(), gaps.end(), range.begin,
                          [](const Range<LinkAddr>& gap, LinkAddr begin) { return gap.end <= begin; });
}

Range<LinkAddr> intersect(const Range<LinkAddr>& a, const Range<LinkAddr>& b) {
  return {std::max(a.begin, b.begin), std::min(a.end, b.end)};
}

// Those of `rules` (ascending) that lie in gaps: CFI knows better.
std::vector<CodeRule> within(std::vector<CodeRule> rules, const std::vector<Range<LinkAddr>>& gaps, LinkAddr base) {
  auto gap = gaps.begin();
  std::erase_if(rules, [&](const CodeRule& rule) {
    while (gap != gaps.end() && gap->end < base + rule.end) ++gap;
    return gap == gaps.end() || base + rule.begin < gap->begin;
  });
  return rules;
}

bool is_init_section(std::string_view name) { return name == ".init" || name == ".fini"; }

bool is_stub_section(std::string_view name) { return name == ".plt" || name == ".plt.sec" || name == ".plt.got" || name == ".iplt"; }

void apply(std::vector<CodeRule> patches, RowTable& table) {
  if (patches.empty()) return;
  std::sort(patches.begin(), patches.end(), [](const CodeRule& a, const CodeRule& b) { return a.begin < b.begin; });
  if (table.rules.empty()) table.rules.push_back(unwind_rule{});
  RowEditor editor(table.rows, table.rules);
  for (const CodeRule& patch : patches) editor.overwrite(patch);
  editor.finish();
}

}  // namespace

void add_code_patterns(const elf::ElfFile& elf, const ExecutableRanges& code, const std::vector<Range<LinkAddr>>& gaps,
                       RowTable& table) {
  PatternSearch search(elf, table);
  std::vector<CodeRule> by_frame_pointer;
  uint64_t budget = kMaxSearchedBytes;
  const auto search_part = [&](Range<LinkAddr> range) {
    const uint64_t size = std::min(range.size(), budget);
    budget -= size;
    search.search({range.begin, range.begin + size});
  };
  const Bytes pclntab = find_pclntab(elf);
  const bool go = !pclntab.empty() || elf.find_section(".note.go.buildid") != nullptr;
  const bool program = elf.type() == ET_EXEC || !elf.interpreter().empty();  // the entry of a library means nothing
  const auto sections = ExecutableRanges::find_code(elf);
  if (!sections) return;
  // A libc without CFI, or a static program with one in it.
  const bool starts_programs = elf.type() == ET_EXEC || elf.entry().value != 0 || table.stats.covered_bytes * 2 < code.total_bytes();
  const bool may_hold_libc = !go && elf.interpreter().empty() && starts_programs;
  DefinedFunction exit(elf, "exit");
  for (const Range<LinkAddr>& range : sections->ranges()) {
    size_t hint = 0;
    if (!code.contains(range, hint)) continue;
    if (go) search_part(range);
    for (auto gap = first_gap(gaps, range); gap != gaps.end() && gap->begin < range.end; ++gap) {
      const Range<LinkAddr> part = intersect(*gap, range);
      if (part.empty()) continue;
      if (program && part.contains(elf.entry())) search.search_entry(elf.entry(), part.end);
      if (!go && part.size() >= kSmallestPatternGap) search_part(part);
      if (may_hold_libc && part.size() >= kSmallestPatternGap) search.search_exit({part.begin, part.begin + std::min(part.size(), kMaxSearchedBytes)}, exit);
      if (!go && part.size() >= kSmallestStartCode) search.search_crtbegin(part);
      if (table.stats.fdes == 0 && by_frame_pointer.size() < kMaxPatches) {
        by_frame_pointer.push_back({static_cast<uint32_t>(part.begin - table.base), static_cast<uint32_t>(part.end - table.base),
                                    make_rule(CFA_FRAME_POINTER)});
      }
    }
  }
  for (const CodeRule& patch : search.patches()) table.stats.signal_trampolines += patch.rule.cfa_kind == CFA_SIGNAL;
  for (const elf::Section& section : elf.sections()) {
    const bool init = is_init_section(section.name) && section.size <= kMaxInitBytes;
    if ((section.flags & SHF_EXECINSTR) == 0 || !(init || is_stub_section(section.name)) || section.size > kMaxSearchedBytes) continue;
    const Range<LinkAddr> whole{section.address, section.address + section.size};
    size_t hint = 0;
    const auto gap = first_gap(gaps, whole);
    if (gap == gaps.end() || gap->begin > whole.begin || gap->end < whole.end || !code.contains(whole, hint)) continue;
    if (init) search.add_init(whole);
    else search.add_stubs(section.name, whole);
  }
  std::vector<CodeRule> go_code;
  if (go) go_code = within(find_go_rules(pclntab, table.base), gaps, table.base);
  std::vector<CodeRule> compiled;
  if (!go && table.stats.covered_bytes * 2 < sections->total_bytes()) {
    compiled = within(find_compiled_code_rules(elf, sections->ranges(), table.base), gaps, table.base);
  }
  // An image without any FDE has no table unless something is to be said; it is walked by frame pointer as a whole.
  if (table.stats.fdes == 0 && search.patches().empty() && go_code.empty() && compiled.empty()) return;
  apply(std::move(by_frame_pointer), table);
  apply(std::move(compiled), table);
  apply(std::move(go_code), table);
  apply(search.take(), table);
}

}  // namespace cicada::unwind
