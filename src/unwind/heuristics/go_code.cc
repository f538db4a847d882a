// SPDX-License-Identifier: Apache-2.0
//   header: magic, 0, 0, 1, 8 | functions, files, text start, names, …, …, pc tables, functions' table      (words, offsets from the header)
//   functions' table: { entry - text start, offset of _func } × n, end                                        (32 bits each)
//   _func: entry, name, …, pc table of the stack pointer (word 4), …, id, flags
//   pc table: { zigzag difference of value, difference of pc } × n, 0                                         (varints; value begins at -1)
#include "unwind/heuristics/go_code.h"

#include <optional>

namespace cicada::unwind {
namespace {

constexpr uint32_t kGo118 = 0xfffffff0, kGo120 = 0xfffffff1;
constexpr uint8_t kTopFrame = 1, kWritesStackPointer = 2;
constexpr uint64_t kMaxSteps = 2 << 20;  // as many as 170 MB of code have; tables are shared, a hostile one could be asked for by all functions
constexpr uint64_t kMaxFrameBytes = 1 << 28;
constexpr uint64_t kMaxNameBytes = 1024;  // a longer name is none of those that are looked for

class PclnTable {
 public:
  static std::optional<PclnTable> read(Bytes bytes) {
    PclnTable table(bytes);
    if (!table.read_header()) return std::nullopt;
    return table;
  }

  // Calls found(begin, end, rule) for every range of every function, in order of address.
  template <typename Found>
  void for_each_range(Found&& found) {
    ByteCursor functions(bytes_, functions_);
    uint32_t entry = functions.u32();
    for (uint64_t i = 0; i < count_; ++i) {
      const uint32_t function = functions.u32(), next = functions.u32();
      if (functions.failed() || next < entry || steps_ > kMaxSteps) return;
      if (entry != next) read_function(entry, next, functions_ + function, found);
      entry = next;
    }
  }
  LinkAddr text() const { return text_; }

 private:
  explicit PclnTable(Bytes bytes) : bytes_(bytes) {}

  bool read_header() {
    ByteCursor header(bytes_);
    magic_ = header.u32();
    header.skip(2);
    const uint8_t quantum = header.u8(), word = header.u8();
    count_ = header.u64();
    header.u64();
    text_ = LinkAddr(header.u64());
    names_ = header.u64();
    header.skip(16);
    pc_tables_ = header.u64();
    functions_ = header.u64();
    return !header.failed() && (magic_ == kGo118 || magic_ == kGo120) && quantum == 1 && word == 8 && text_.value != 0 &&
           functions_ <= bytes_.size() && count_ <= bytes_.size() / 8;
  }

  template <typename Found>
  void read_function(uint32_t entry, uint32_t end, uint64_t offset, Found&& found) {
    ByteCursor function(bytes_, offset);
    function.skip(4);
    const uint32_t name = function.u32();
    function.skip(8);
    const uint32_t pc_table = function.u32();
    function.skip(magic_ == kGo118 ? 17 : 21);
    const uint8_t flags = function.u8();
    if (function.failed()) return;
    // sigtramp is the first frame on its stack, but what was interrupted is behind it.
    if ((flags & kTopFrame) != 0 && name_at(name).find("igtramp") == std::string_view::npos) {
      unwind_rule outermost{};
      outermost.cfa_kind = CFA_OUTERMOST;
      return found(entry, end, outermost);
    }
    if ((flags & kWritesStackPointer) != 0 || pc_table == 0) return;
    ByteCursor steps(bytes_, pc_tables_ + pc_table);
    uint64_t depth = ~uint64_t{0};  // -1; what is negative is too large
    uint64_t pc = entry;
    while (pc < end) {
      const uint64_t difference = steps.uleb128();
      if (steps.failed() || (difference == 0 && pc != entry) || ++steps_ > kMaxSteps) return;
      depth += difference >> 1 ^ (0 - (difference & 1));
      const uint64_t next = pc + steps.uleb128();
      if (steps.failed() || next <= pc || next > end || depth > kMaxFrameBytes || depth % 8 != 0) return;
      // A frame begins with the caller's frame pointer.
      found(static_cast<uint32_t>(pc), static_cast<uint32_t>(next), stack_pointer_plus(static_cast<int32_t>(depth) + 8, depth == 0 ? 0 : -2));
      pc = next;
    }
  }

  std::string_view name_at(uint32_t offset) const {
    return text_at(bytes_, names_ + offset, kMaxNameBytes);
  }

  Bytes bytes_;
  uint32_t magic_ = 0;
  uint64_t count_ = 0, names_ = 0, pc_tables_ = 0, functions_ = 0, steps_ = 0;
  LinkAddr text_;
};

}  // namespace

Bytes find_pclntab(const elf::ElfFile& elf) {
  const elf::Section* section = elf.find_section(".gopclntab");
  if (section == nullptr) section = elf.find_section(".data.rel.ro.gopclntab");
  return section == nullptr ? Bytes() : elf.contents(*section);
}

std::vector<CodeRule> find_go_rules(Bytes pclntab, LinkAddr base) {
  std::vector<CodeRule> rules;
  auto table = PclnTable::read(pclntab);
  if (!table || table->text() < base || table->text() - base > 0xffffffff) return rules;
  const uint64_t text = table->text() - base;
  table->for_each_range([&](uint32_t begin, uint32_t end, const unwind_rule& rule) {
    if (text + end <= 0xffffffff) rules.push_back({static_cast<uint32_t>(text + begin), static_cast<uint32_t>(text + end), rule});
  });
  return rules;
}

}  // namespace cicada::unwind
