// SPDX-License-Identifier: Apache-2.0
#include "elf/usdt_operands.h"

#include <sys/user.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <optional>

namespace cicada::elf {
namespace {

struct Register {
  std::string_view name;  // of 8 bytes
  uint16_t offset;
  std::string_view names_of_4, of_2, of_1;
};
// struct pt_regs of user space is struct user_regs_struct.
constexpr Register kRegisters[] = {
    {"rax", offsetof(user_regs_struct, rax), "eax", "ax", "al"},      {"rbx", offsetof(user_regs_struct, rbx), "ebx", "bx", "bl"},      {"rcx", offsetof(user_regs_struct, rcx), "ecx", "cx", "cl"},
    {"rdx", offsetof(user_regs_struct, rdx), "edx", "dx", "dl"},      {"rsi", offsetof(user_regs_struct, rsi), "esi", "si", "sil"},     {"rdi", offsetof(user_regs_struct, rdi), "edi", "di", "dil"},
    {"rbp", offsetof(user_regs_struct, rbp), "ebp", "bp", "bpl"},     {"rsp", offsetof(user_regs_struct, rsp), "esp", "sp", "spl"},     {"r8", offsetof(user_regs_struct, r8), "r8d", "r8w", "r8b"},
    {"r9", offsetof(user_regs_struct, r9), "r9d", "r9w", "r9b"},      {"r10", offsetof(user_regs_struct, r10), "r10d", "r10w", "r10b"}, {"r11", offsetof(user_regs_struct, r11), "r11d", "r11w", "r11b"},
    {"r12", offsetof(user_regs_struct, r12), "r12d", "r12w", "r12b"}, {"r13", offsetof(user_regs_struct, r13), "r13d", "r13w", "r13b"}, {"r14", offsetof(user_regs_struct, r14), "r14d", "r14w", "r14b"},
    {"r15", offsetof(user_regs_struct, r15), "r15d", "r15w", "r15b"}, {"rip", offsetof(user_regs_struct, rip), "eip", "ip", ""}};

struct Part {
  uint16_t offset = 0;
  uint8_t bytes = 0;
};

std::optional<Part> find_register(std::string_view name) {
  if (name.size() < 2 || name[0] != '%') return std::nullopt;
  name.remove_prefix(1);
  for (const Register& one : kRegisters) {
    if (name == one.name) return Part{one.offset, 8};
    if (name == one.names_of_4) return Part{one.offset, 4};
    if (name == one.of_2) return Part{one.offset, 2};
    if (name == one.of_1) return Part{one.offset, 1};
    // ah, bh, ch, dh: the second byte.
    if (one.of_1.ends_with('l') && one.of_1.size() == 2 && name.size() == 2 && name[0] == one.of_1[0] && name[1] == 'h') return Part{static_cast<uint16_t>(one.offset + 1), 1};
  }
  return std::nullopt;
}

// All of the text: a sign, then a decimal or 0x number. More than 63 bits wrap around, as the assembler takes them.
std::optional<int64_t> parse_number(std::string_view text) {
  const bool is_negative = text.starts_with('-');
  if (is_negative || text.starts_with('+')) text.remove_prefix(1);
  const bool is_hexadecimal = text.starts_with("0x");
  if (is_hexadecimal) text.remove_prefix(2);
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, is_hexadecimal ? 16 : 10);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return static_cast<int64_t>(is_negative ? 0 - number : number);
}

// DISPLACEMENT(BASE,INDEX,SCALE), each of which may be missing.
bool parse_memory(std::string_view text, event_field& field) {
  const size_t open = text.find('(');
  if (open == std::string_view::npos || text.back() != ')') return false;
  field.kind = FIELD_IN_MEMORY;
  field.offset = field.index = NO_REGISTER;
  if (open != 0) {
    const auto displacement = parse_number(text.substr(0, open));
    if (!displacement || *displacement < std::numeric_limits<int32_t>::min() || *displacement > std::numeric_limits<int32_t>::max()) return false;
    field.number = *displacement;
  }
  std::string_view parts[3], inside = text.substr(open + 1, text.size() - open - 2);
  size_t count = 0;
  for (bool more = true; more; ++count) {
    if (count == std::size(parts)) return false;
    const size_t comma = inside.find(',');
    more = comma != std::string_view::npos;
    parts[count] = inside.substr(0, comma);
    if (more) inside.remove_prefix(comma + 1);
  }
  // Relative to %rip it is of a symbol, whose address is not in the note.
  const auto take_register = [](std::string_view name, uint16_t& offset) {
    const auto found = find_register(name);
    if (!found || found->bytes != 8 || found->offset == offsetof(user_regs_struct, rip)) return false;
    offset = found->offset;
    return true;
  };
  if (!parts[0].empty() && !take_register(parts[0], field.offset)) return false;
  if (!parts[1].empty() && !take_register(parts[1], field.index)) return false;
  if (field.offset == NO_REGISTER && field.index == NO_REGISTER) return false;
  if (count < 3 || parts[2].empty()) return true;
  constexpr std::string_view kScales[] = {"1", "2", "4", "8"};
  const auto* scale = std::find(std::begin(kScales), std::end(kScales), parts[2]);
  if (scale == std::end(kScales)) return false;
  field.index_shift = static_cast<uint8_t>(scale - std::begin(kScales));
  return true;
}

// SIZE@OPERAND
std::optional<event_field> parse_operand(std::string_view text) {
  const size_t at = text.find('@');
  if (at == std::string_view::npos || at == 0 || at + 1 == text.size()) return std::nullopt;
  std::string_view size = text.substr(0, at);
  event_field field{};
  if (size[0] == '-') {
    field.is_signed = 1;
    size.remove_prefix(1);
  }
  if (size != "1" && size != "2" && size != "4" && size != "8") return std::nullopt;
  field.bytes = static_cast<uint8_t>(size[0] - '0');
  const std::string_view operand = text.substr(at + 1);
  if (operand[0] == '$') {
    const auto number = parse_number(operand.substr(1));
    if (!number) return std::nullopt;
    field.kind = FIELD_CONSTANT;
    field.number = *number;
    return field;
  }
  if (operand[0] == '%') {
    const auto found = find_register(operand);
    if (!found) return std::nullopt;
    // Of a char in %edi the low byte is the argument; of a long in %edi there is no more than an int.
    field.bytes = std::min(field.bytes, found->bytes);
    field.offset = found->offset;
    return field;
  }
  return parse_memory(operand, field) ? std::optional(field) : std::nullopt;
}

}  // namespace

std::vector<event_field> parse_usdt_operands(std::string_view text) {
  std::vector<event_field> fields;
  for (size_t at = 0; fields.size() < kMaxUsdtArguments;) {
    at = text.find_first_not_of(" \t", at);
    if (at == std::string_view::npos) break;
    int depth = 0;
    size_t end = at;
    for (; end < text.size() && (depth > 0 || (text[end] != ' ' && text[end] != '\t')); ++end) depth += text[end] == '(' ? 1 : text[end] == ')' ? -1 : 0;
    fields.push_back(parse_operand(text.substr(at, end - at)).value_or(event_field{}));
    at = end;
  }
  return fields;
}

bool is_usdt_operand(const event_field& field) {
  const auto is_register = [](uint16_t offset) { return offset % 8 == 0 && offset + size_t{8} <= sizeof(user_regs_struct); };
  if (field.bytes != 0 && field.bytes != 1 && field.bytes != 2 && field.bytes != 4 && field.bytes != 8) return false;
  if (field.is_signed > 1) return false;
  if (field.kind == FIELD_CONSTANT) return true;
  if (field.kind == FIELD_OF_RECORD) return size_t{field.offset} + field.bytes <= sizeof(user_regs_struct);
  if (field.kind != FIELD_IN_MEMORY || field.index_shift > 3 || (field.offset == NO_REGISTER && field.index == NO_REGISTER)) return false;
  return (field.offset == NO_REGISTER || is_register(field.offset)) && (field.index == NO_REGISTER || is_register(field.index));
}

}  // namespace cicada::elf
