// SPDX-License-Identifier: Apache-2.0
// Numbers that a probe hands over, by name: NAME, or its low bits as s8(NAME) … u64(NAME). Threads: any.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "abi/event_fields.h"

namespace cicada::bpf_source {

struct FieldName {
  std::string name;
  uint8_t bytes = 0;  // 0: as it is
  bool is_signed = false;
};

// Nothing: it is no such name.
std::optional<FieldName> parse_field_name(std::string_view text);
// The low part of a field. Nothing: it has not so many bytes.
std::optional<event_field> low_part(const event_field& field, const FieldName& name);
// Of a function, where it begins or returns: arg0 to arg5, or retval, in the registers of the calling convention. Nothing: it has none of that name.
std::optional<event_field> find_register(const FieldName& name, bool at_return);
// "arg0 to arg5", or "retval".
const char* registers_of(bool at_return);

// Whether an argument of a function may be called so in its source: not arg6, retval, or a number.
bool may_be_argument(std::string_view name);
// The same as FIELD_OF_ARGUMENT, by its place in `names`; it is added there.
event_field name_argument(std::vector<std::string>& names, const FieldName& name);

// Of a USDT probe: arg0 to arg11, as FIELD_OF_ARGUMENT. Nothing: it is no such name.
std::optional<event_field> find_argument(const FieldName& name);

// What keeps a place from handing over what is asked of its arguments.
enum class ArgumentProblem : uint8_t { kNone, kMissing, kUnreadable };
// Puts in where they are at a place (elf/usdt_operands.h, symbolize/dwarf/parameters.h). An argument has its own sign and size, if not more than its low bytes are asked for.
ArgumentProblem bind_arguments(event_fields& fields, std::span<const event_field> arguments);

}  // namespace cicada::bpf_source
