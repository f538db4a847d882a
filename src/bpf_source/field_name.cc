// SPDX-License-Identifier: Apache-2.0
#include "bpf_source/field_name.h"

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "elf/usdt_operands.h"

namespace cicada::bpf_source {
namespace {

// struct pt_regs of x86-64, which programs of functions are called with.
struct Registers {
  uint64_t r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di;
};
// System V ABI, AMD64, 3.2.3; the kernel's functions, too.
constexpr std::pair<std::string_view, size_t> kArguments[] = {{"arg0", offsetof(Registers, di)}, {"arg1", offsetof(Registers, si)}, {"arg2", offsetof(Registers, dx)},
                                                              {"arg3", offsetof(Registers, cx)}, {"arg4", offsetof(Registers, r8)}, {"arg5", offsetof(Registers, r9)}};
constexpr std::pair<std::string_view, size_t> kReturned[] = {{"retval", offsetof(Registers, ax)}};

bool is_name(std::string_view text) {
  constexpr std::string_view kLetters = "_abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
  return !text.empty() && text.find_first_not_of(kLetters) == std::string_view::npos;
}

event_field argument_field(uint16_t number, const FieldName& name) {
  event_field field{};
  field.kind = FIELD_OF_ARGUMENT;
  field.offset = number;
  field.bytes = name.bytes != 0 ? name.bytes : WHOLE_ARGUMENT;
  field.is_signed = name.is_signed ? 1 : 0;
  return field;
}

}  // namespace

std::optional<FieldName> parse_field_name(std::string_view text) {
  if (is_name(text)) return FieldName{std::string(text)};
  constexpr std::pair<std::string_view, uint8_t> kBits[] = {{"8(", 1}, {"16(", 2}, {"32(", 4}, {"64(", 8}};
  if (text.empty() || (text[0] != 's' && text[0] != 'u') || text.back() != ')') return std::nullopt;
  const auto* found = std::find_if(std::begin(kBits), std::end(kBits), [&](const auto& one) { return text.substr(1).starts_with(one.first); });
  if (found == std::end(kBits)) return std::nullopt;
  const std::string_view name = text.substr(1 + found->first.size(), text.size() - found->first.size() - 2);
  if (!is_name(name)) return std::nullopt;
  return FieldName{std::string(name), found->second, text[0] == 's'};
}

std::optional<event_field> low_part(const event_field& field, const FieldName& name) {
  if (name.bytes == 0) return field;
  if (name.bytes > field.bytes) return std::nullopt;
  event_field low = field;
  low.bytes = name.bytes;
  low.is_signed = name.is_signed ? 1 : 0;
  return low;
}

std::optional<event_field> find_register(const FieldName& name, bool at_return) {
  const std::span<const std::pair<std::string_view, size_t>> all = at_return ? std::span<const std::pair<std::string_view, size_t>>(kReturned) : kArguments;
  const auto found = std::find_if(all.begin(), all.end(), [&](const auto& one) { return one.first == name.name; });
  if (found == all.end()) return std::nullopt;
  event_field whole{};
  whole.offset = static_cast<uint16_t>(found->second);
  whole.bytes = 8;
  return low_part(whole, name);
}

bool may_be_argument(std::string_view name) {
  constexpr std::string_view kDigits = "0123456789";
  const bool is_numbered = name.starts_with("arg") && name.find_first_not_of(kDigits, 3) == std::string_view::npos;
  return !is_numbered && name != "retval" && kDigits.find(name[0]) == std::string_view::npos;
}

event_field name_argument(std::vector<std::string>& names, const FieldName& name) {
  const auto known = std::find(names.begin(), names.end(), name.name);
  const auto number = static_cast<uint16_t>(known - names.begin());
  if (known == names.end()) names.push_back(name.name);
  return argument_field(number, name);
}

std::optional<event_field> find_argument(const FieldName& name) {
  for (uint16_t i = 0; i < elf::kMaxUsdtArguments; ++i) {
    if (name.name == "arg" + std::to_string(i)) return argument_field(i, name);
  }
  return std::nullopt;
}

ArgumentProblem bind_arguments(event_fields& fields, std::span<const event_field> arguments) {
  std::vector<event_field*> asked{&fields.value, &fields.group};
  for (uint32_t i = 0; i < fields.filters; ++i) asked.push_back(&fields.filter[i].field);
  for (event_field* field : asked) {
    if (field->bytes == 0 || field->kind != FIELD_OF_ARGUMENT) continue;
    if (field->offset >= arguments.size()) return ArgumentProblem::kMissing;
    event_field bound = arguments[field->offset];
    if (bound.bytes == 0) return ArgumentProblem::kUnreadable;
    if (field->bytes <= bound.bytes) {
      bound.bytes = field->bytes;
      bound.is_signed = field->is_signed;
    }
    *field = bound;
  }
  return ArgumentProblem::kNone;
}

const char* registers_of(bool at_return) { return at_return ? "retval" : "arg0 to arg5"; }

}  // namespace cicada::bpf_source
