// SPDX-License-Identifier: Apache-2.0
// A row holds until the next row's address, so the machine keeps the row before and, when the address moves on, gives it to
// every wanted address in between. Wanted addresses are sorted and a sequence ascends, so a single index walks along; at the
// beginning of a sequence it is found by binary search.
#include "symbolize/dwarf/line_table.h"

#include <dwarf.h>

#include <algorithm>
#include <array>


namespace cicada::symbolize {
namespace {

constexpr size_t kMaxEntries = 1 << 20;

// What a text begins with, for text_at().
Bytes bytes_of(std::string_view text_before_nul) { return {reinterpret_cast<const uint8_t*>(text_before_nul.data()), text_before_nul.size() + 1}; }
Bytes from(Bytes table, uint64_t offset) { return offset < table.size() ? table.subspan(offset) : Bytes(); }

struct Column {
  uint64_t content = 0, form = 0;
};

}  // namespace

std::optional<LineProgram> LineProgram::open(const DwarfSections& sections, uint64_t offset, std::string_view directory, WorkBudget& budget) {
  LineProgram lines;
  lines.directory_ = directory;
  ByteCursor cursor(sections.line, offset);
  uint64_t length = cursor.u32();
  if (length == 0xffffffff) {
    lines.format_.offset_size = 8;
    length = cursor.u64();
  }
  if (cursor.failed() || length > cursor.remaining()) return std::nullopt;
  const uint64_t end = cursor.position() + length;
  ByteCursor header(sections.line.first(end), cursor.position());
  lines.format_.version = header.u16();
  if (lines.format_.version < 2 || lines.format_.version > 5) return std::nullopt;
  if (lines.format_.version >= 5) {
    if (header.u8() != 8) return std::nullopt;  // address size
    header.u8();                                // segment selector size
  }
  const uint64_t header_length = lines.format_.offset_size == 8 ? header.u64() : header.u32();
  if (header.failed() || header_length > header.remaining()) return std::nullopt;
  const uint64_t program = header.position() + header_length;
  lines.program_ = sections.line.subspan(program, end - program);
  if (!budget.spend(header_length)) return std::nullopt;
  lines.min_instruction_bytes_ = header.u8();
  if (lines.format_.version >= 4) header.u8();  // maximum operations per instruction: VLIW only
  lines.default_is_statement_ = header.u8() != 0;
  lines.line_base_ = header.s8();
  lines.line_range_ = header.u8();
  lines.opcode_base_ = header.u8();
  if (lines.line_range_ == 0 || lines.opcode_base_ == 0) return std::nullopt;
  const Bytes operands = header.take(lines.opcode_base_ - 1U);
  lines.opcode_operands_.assign(operands.begin(), operands.end());
  const bool good = lines.format_.version >= 5 ? lines.read_tables_v5(header, sections, budget) : lines.read_tables_v4(header);
  if (!good || header.failed()) lines.files_.clear();  // lines without names are still lines
  return lines;
}

bool LineProgram::read_tables_v4(ByteCursor& cursor) {
  directories_.emplace_back();  // the unit's own
  while (!cursor.failed()) {
    const std::string_view directory = cursor.c_string();
    if (directory.empty()) break;
    directories_.push_back(bytes_of(directory));
  }
  files_.emplace_back();  // counts from one
  while (!cursor.failed()) {
    FileEntry file;
    const std::string_view name = cursor.c_string();
    if (name.empty()) break;
    file.name = bytes_of(name);
    file.directory = cursor.uleb128();
    cursor.uleb128();
    cursor.uleb128();
    files_.push_back(file);
  }
  return true;
}

bool LineProgram::read_tables_v5(ByteCursor& cursor, const DwarfSections& sections, WorkBudget& budget) {
  for (const bool is_file : {false, true}) {
    std::vector<Column> columns(cursor.u8());
    for (Column& column : columns) {
      column.content = cursor.uleb128();
      column.form = cursor.uleb128();
    }
    const uint64_t count = cursor.uleb128();
    if (cursor.failed() || (columns.empty() && count != 0) || count > kMaxEntries || !budget.spend(count * sizeof(FileEntry))) return false;
    for (uint64_t i = 0; i < count && !cursor.failed(); ++i) {
      FileEntry entry;
      for (const Column& column : columns) {
        Bytes text;
        uint64_t number = 0;
        const auto offset = [&] { return format_.offset_size == 8 ? cursor.u64() : cursor.u32(); };
        switch (column.form) {
          case DW_FORM_string: {
            const std::string_view inside = cursor.c_string();
            if (!cursor.failed()) text = bytes_of(inside);
            break;
          }
          case DW_FORM_line_strp: text = from(sections.line_str, offset()); break;
          case DW_FORM_strp: text = from(sections.str, offset()); break;
          case DW_FORM_udata: number = cursor.uleb128(); break;
          case DW_FORM_data1: number = cursor.u8(); break;
          case DW_FORM_data2: number = cursor.u16(); break;
          default: skip_form(cursor, static_cast<uint16_t>(std::min<uint64_t>(column.form, UINT16_MAX)), format_); break;
        }
        if (column.content == DW_LNCT_path) entry.name = text;
        if (column.content == DW_LNCT_directory_index) entry.directory = number;
      }
      if (is_file) {
        files_.push_back(entry);
      } else {
        directories_.push_back(entry.name);
      }
    }
  }
  return true;
}

template <typename Row>
void LineProgram::run(Row&& on_row) const {
  ByteCursor cursor(program_);
  uint64_t address = 0, file = 1, line = 1;
  bool is_statement = default_is_statement_;
  const auto append_row = [&](bool ends) { on_row(address, file, line, is_statement, ends); };
  // What each special opcode adds: two divisions less for most bytes of the program.
  struct Special {
    uint32_t address;
    int32_t line;
  };
  std::array<Special, 256> specials{};
  for (unsigned opcode = opcode_base_; opcode < specials.size(); ++opcode) {
    const unsigned adjusted = opcode - opcode_base_;
    specials[opcode] = {adjusted / line_range_ * min_instruction_bytes_, line_base_ + static_cast<int32_t>(adjusted % line_range_)};
  }
  while (!cursor.at_end()) {
    const uint8_t opcode = cursor.u8();
    if (opcode >= opcode_base_) {
      address += specials[opcode].address;
      line += static_cast<uint64_t>(int64_t{specials[opcode].line});
      append_row(false);
      continue;
    }
    switch (opcode) {
      case 0: {
        const uint64_t size = cursor.uleb128();
        const Bytes operand = cursor.take(size);
        if (cursor.failed() || operand.empty()) break;
        if (operand[0] == DW_LNE_end_sequence) {
          append_row(true);
          address = 0, file = 1, line = 1, is_statement = default_is_statement_;
        } else if (operand[0] == DW_LNE_set_address && operand.size() == 9) {
          address = ByteCursor(operand, 1).u64();
        }
        break;
      }
      case DW_LNS_copy: append_row(false); break;
      case DW_LNS_advance_pc: address += cursor.uleb128() * min_instruction_bytes_; break;
      case DW_LNS_advance_line: line += static_cast<uint64_t>(cursor.sleb128()); break;
      case DW_LNS_set_file: file = cursor.uleb128(); break;
      case DW_LNS_negate_stmt: is_statement = !is_statement; break;
      case DW_LNS_const_add_pc: address += uint64_t{(255U - opcode_base_) / line_range_} * min_instruction_bytes_; break;
      case DW_LNS_fixed_advance_pc: address += cursor.u16(); break;
      default:
        if (opcode > opcode_operands_.size()) return;
        for (uint8_t i = 0; i < opcode_operands_[opcode - 1U]; ++i) cursor.uleb128();
        break;
    }
  }
}

void LineProgram::find_lines(std::span<const uint64_t> addresses, std::span<LineOfAddress> out, WorkBudget& budget) const {
  if (!budget.spend(program_.size())) return;
  uint64_t row_address = 0;
  uint32_t row_file = 0, row_line = 0;
  bool has_row = false, tombstone = false;
  size_t next = 0;
  uint64_t next_address = 0;  // addresses[next], or the largest
  const auto seek = [&](uint64_t from) {
    next = static_cast<size_t>(std::lower_bound(addresses.begin(), addresses.end(), from) - addresses.begin());
    next_address = next < addresses.size() ? addresses[next] : UINT64_MAX;
  };
  run([&](uint64_t address, uint64_t file, uint64_t line, bool /*is_statement*/, bool ends) {
    if (has_row && address > next_address && !tombstone) {
      for (; next < addresses.size() && addresses[next] < address; ++next) {
        if (addresses[next] >= row_address && !out[next].found) out[next] = {row_file, row_line, true};
      }
      next_address = next < addresses.size() ? addresses[next] : UINT64_MAX;
    } else if (!has_row || address < row_address) {
      seek(address);
      tombstone = address == 0;  // the linker threw this function away
    }
    row_address = address;
    row_file = static_cast<uint32_t>(std::min<uint64_t>(file, UINT32_MAX));
    row_line = static_cast<uint32_t>(std::min<uint64_t>(line, UINT32_MAX));
    has_row = !ends;
  });
}

void LineProgram::find_code(std::string_view file, uint32_t line, CodeOfLine& found, WorkBudget& budget) {
  const std::string_view name = file.substr(file.rfind('/') + 1);
  std::vector<bool> is_meant(files_.size());
  bool any = false;
  for (size_t i = 0; i < files_.size() && budget.spend(name.size() + 1); ++i) {
    // Most have another name: their paths are not put together.
    if (!text_at(files_[i].name, 0).ends_with(name)) continue;
    const std::string_view path = file_path(i, budget);
    is_meant[i] = path == file || (path.ends_with(file) && path[path.size() - file.size() - 1] == '/');
    any = any || is_meant[i];
  }
  if (!any || !budget.spend(program_.size())) return;
  found.has_file = true;
  bool was_here = false, tombstone = false, has_row = false;
  std::vector<uint64_t> statements, others;  // compilers recommend places where a statement begins; not each line has one
  run([&](uint64_t address, uint64_t row_file, uint64_t row_line, bool is_statement, bool ends) {
    if (!has_row) tombstone = address == 0;
    has_row = !ends;
    const bool is_here = !ends && !tombstone && row_file < is_meant.size() && is_meant[row_file];
    if (is_here && row_line < line) found.before = std::max(found.before, static_cast<uint32_t>(row_line));
    if (is_here && row_line > line && row_line < found.after) found.after = static_cast<uint32_t>(row_line);
    const bool is_wanted = is_here && row_line == line;
    if (is_wanted && (is_statement || !was_here) && budget.spend(sizeof address)) (is_statement ? statements : others).push_back(address);
    was_here = is_wanted;
  });
  const std::vector<uint64_t>& best = statements.empty() ? others : statements;
  found.addresses.insert(found.addresses.end(), best.begin(), best.end());
}

std::string_view LineProgram::file_path(uint64_t index, WorkBudget& budget) {
  if (index >= files_.size()) return {};
  const auto found = paths_.find(index);
  if (found != paths_.end()) return found->second;
  const FileEntry& file = files_[index];
  std::string_view name = text_at(file.name, 0);
  if (name.starts_with("./")) name.remove_prefix(2);  // clang's way of saying "here"
  std::string path;
  if (!name.starts_with('/') && !name.empty()) {
    const bool of_unit = file.directory == 0 && format_.version < 5;
    const std::string_view directory = of_unit ? directory_ : file.directory < directories_.size() ? text_at(directories_[file.directory], 0) : std::string_view();
    if (!directory.starts_with('/') && !directory_.empty() && directory != directory_) path = std::string(directory_) + "/";
    if (!directory.empty() && directory != ".") path += std::string(directory) + "/";
  }
  path += name;
  if (!budget.spend(name.empty() ? kMaxTextAtBytes : path.size())) path.clear();
  return paths_.emplace(index, std::move(path)).first->second;
}

}  // namespace cicada::symbolize
