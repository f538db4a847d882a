// SPDX-License-Identifier: Apache-2.0
// Unoptimised code stores its arguments first and describes them where they are then, which is not true yet where a function begins. So the calling convention says where
// they come from, and it can only be followed from the first argument on: one whose class is not known leaves all behind it open.
#include "symbolize/dwarf/parameters.h"

#include <dwarf.h>
#include <sys/user.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <utility>

namespace cicada::symbolize {
namespace {

using Kind = AttributeValue::Kind;

constexpr int kMaxTypeHops = 64;  // typedef -> const -> …
constexpr uint64_t kWorkPerEntry = 64;

// By their numbers in DWARF.
constexpr std::array<uint16_t, 16> kRegisters{offsetof(user_regs_struct, rax), offsetof(user_regs_struct, rdx), offsetof(user_regs_struct, rcx), offsetof(user_regs_struct, rbx),
                                              offsetof(user_regs_struct, rsi), offsetof(user_regs_struct, rdi), offsetof(user_regs_struct, rbp), offsetof(user_regs_struct, rsp),
                                              offsetof(user_regs_struct, r8),  offsetof(user_regs_struct, r9),  offsetof(user_regs_struct, r10), offsetof(user_regs_struct, r11),
                                              offsetof(user_regs_struct, r12), offsetof(user_regs_struct, r13), offsetof(user_regs_struct, r14), offsetof(user_regs_struct, r15)};
constexpr std::array<uint8_t, 6> kOfArguments{5, 4, 1, 2, 8, 9};
constexpr uint32_t kVectorRegisters = 8;
constexpr uint64_t kMostBytesInRegisters = 16;  // of a struct

struct Reference {
  EntryUnits* units = nullptr;  // null: to nothing
  uint64_t entry = 0;
};

struct Entry {
  std::shared_ptr<const DwarfUnit> unit;
  uint16_t tag = 0;
  bool has_children = false;
  uint64_t children = 0;  // where they begin
  std::string_view name;
  AttributeValue type, origin, location, frame_base, low, high, ranges;
  std::optional<uint64_t> byte_size, encoding, convention;
};

struct ValueType {
  enum class Class : uint8_t {
    kUnknown,
    kNone,       // void
    kInteger,
    kFloat,      // takes none of the registers of integers
    kMemory,     // copied to the stack
    kReference,  // its address is passed instead
    kStruct,     // one of the last two, or in registers
  };
  Class is = Class::kUnknown;
  uint64_t bytes = 0;
  bool is_signed = false;
};
using Class = ValueType::Class;

// Those of later years are known to no <dwarf.h> yet.
bool is_c(uint64_t language) { return language == DW_LANG_C89 || language == DW_LANG_C || language == DW_LANG_C99 || language == DW_LANG_C11 || language == 0x2c || language == 0x3e; }
bool is_cpp(uint64_t language) {
  return language == DW_LANG_C_plus_plus || language == DW_LANG_C_plus_plus_03 || language == DW_LANG_C_plus_plus_11 || language == DW_LANG_C_plus_plus_14 || language == 0x2a || language == 0x2b || language == 0x3a;
}

// Where a parameter is described to be.
struct Location {
  enum class Is : uint8_t {
    kAbsent,
    kRegister,
    kVectorRegister,
    kOnStack,     // what the caller has put there
    kStoredLater  // in the function's own frame
  };
  Is is = Is::kAbsent;
  uint64_t number = 0;  // of the register; bytes above the return address
  bool is_reference = false;  // kStoredLater: what is stored is where it is
};

Location parse_location(Bytes expression, bool is_for_whole_function, bool frame_base_is_cfa) {
  using Is = Location::Is;
  ByteCursor cursor(expression);
  const uint8_t operation = cursor.u8();
  if (cursor.failed()) return {};
  if (operation >= DW_OP_reg0 && operation <= DW_OP_reg15 && cursor.at_end()) return {Is::kRegister, static_cast<uint64_t>(operation - DW_OP_reg0)};
  if (operation > DW_OP_reg15 && operation <= DW_OP_reg31 && cursor.at_end()) return {Is::kVectorRegister, 0};
  if (operation == DW_OP_regx) {
    const uint64_t number = cursor.uleb128();
    return !cursor.failed() && cursor.at_end() && number < kRegisters.size() ? Location{Is::kRegister, number} : Location{};
  }
  if (operation == DW_OP_fbreg) {
    const int64_t offset = cursor.sleb128();
    if (!cursor.failed() && cursor.at_end() && frame_base_is_cfa && offset >= 0) return {Is::kOnStack, static_cast<uint64_t>(offset)};
  }
  if (operation >= DW_OP_breg0 && operation <= DW_OP_breg31) cursor.sleb128();
  else if (operation != DW_OP_fbreg) return {};
  const bool is_reference = !cursor.at_end() && cursor.u8() == DW_OP_deref && cursor.at_end();
  return !cursor.failed() && is_for_whole_function ? Location{Is::kStoredLater, 0, is_reference} : Location{};
}

struct Formal {
  std::string_view name;
  ValueType type;
  Location location;
};

class ParameterReader {
 public:
  ParameterReader(EntryUnits& home, EntryUnits* alternate, WorkBudget& budget) : home_(home), alternate_(alternate), budget_(budget) {}

  FunctionParameters read(uint64_t function, uint64_t address) {
    const std::optional<Entry> entry = read_entry({&home_, function});
    if (!entry || !begins_at(*entry, address)) return {};
    address_ = address;
    is_cfa_ = entry->frame_base.block.size() == 1 && entry->frame_base.block[0] == DW_OP_call_frame_cfa;
    read_formals(&home_, *entry);
    const std::vector<Location> passed = passed_by_convention(*entry);
    FunctionParameters all;
    all.is_described = true;
    for (size_t i = 0; i < formals_.size(); ++i) {
      if (!formals_[i].name.empty() && formals_[i].name.size() <= kMaxParameterNameBytes) all.parameters.push_back(describe(formals_[i], i < passed.size() ? passed[i] : Location{}));
    }
    add_removed(*entry, all);
    return all;
  }

 private:
  // Entries of the same file are found by their offset.
  Reference follow(const Reference& from, const AttributeValue& value) const {
    if (value.kind == Kind::kReference) return {from.units, value.number};
    if (value.kind == Kind::kAlternateReference) return {alternate_, value.number};
    return {};
  }

  std::optional<Entry> read_entry(const Reference& at) {
    if (at.units == nullptr || !budget_.spend(kWorkPerEntry)) return std::nullopt;
    Entry entry;
    entry.unit = at.units->find(at.entry);
    if (entry.unit == nullptr) return std::nullopt;
    const AbbrevTable& abbrevs = entry.unit->abbrevs();
    ByteCursor cursor(entry.unit->sections().info.first(entry.unit->header().end), at.entry);
    const AbbrevTable::Abbrev* abbrev = abbrevs.find(cursor.uleb128());
    if (abbrev == nullptr) return std::nullopt;
    entry.tag = abbrev->tag;
    entry.has_children = abbrev->has_children;
    for (const AttributeSpec* spec = abbrevs.specs_begin(*abbrev); spec != abbrevs.specs_end(*abbrev) && !cursor.failed(); ++spec) {
      if (!budget_.spend(1)) return std::nullopt;
      if (!take_attribute(entry, cursor, *spec)) skip_form(cursor, spec->form, entry.unit->header().format);
    }
    if (cursor.failed()) return std::nullopt;
    entry.children = cursor.position();
    return entry;
  }

  // False: nobody wants it, and it was not read.
  bool take_attribute(Entry& entry, ByteCursor& cursor, const AttributeSpec& spec) {
    const auto read = [&] { return entry.unit->read(cursor, spec); };
    switch (spec.name) {
      case DW_AT_name:
        entry.name = read().text;
        return budget_.spend(entry.name.size());
      case DW_AT_type: entry.type = read(); return true;
      case DW_AT_abstract_origin: case DW_AT_specification: entry.origin = read(); return true;
      case DW_AT_location: entry.location = read(); return true;
      case DW_AT_frame_base: entry.frame_base = read(); return true;
      case DW_AT_low_pc: entry.low = read(); return true;
      case DW_AT_high_pc: entry.high = read(); return true;
      case DW_AT_ranges: entry.ranges = read(); return true;
      case DW_AT_byte_size: entry.byte_size = constant(read()); return true;
      case DW_AT_encoding: entry.encoding = constant(read()); return true;
      case DW_AT_calling_convention: entry.convention = constant(read()); return true;
      default: return false;
    }
  }
  static std::optional<uint64_t> constant(const AttributeValue& value) { return value.kind == Kind::kConstant ? std::optional(value.number) : std::nullopt; }

  bool begins_at(const Entry& function, uint64_t address) {
    std::vector<std::pair<uint64_t, uint64_t>> ranges;
    function.unit->append_pc_ranges(function.low, function.high, function.ranges, ranges, budget_);
    return !ranges.empty() && ranges.front().first == address;
  }

  // Offsets of its parameters' entries, in order.
  std::vector<uint64_t> list_formals(const Entry& function) {
    std::vector<uint64_t> all;
    if (!function.has_children) return all;
    const DwarfUnit& unit = *function.unit;
    ByteCursor cursor(unit.sections().info.first(unit.header().end), function.children);
    bool is_in_pack = false;  // of a template's parameters: one below the function
    for (uint64_t depth = 0; !cursor.at_end() && budget_.spend(8);) {
      const uint64_t offset = cursor.position();
      const uint64_t code = cursor.uleb128();
      if (code == 0) {
        if (depth == 0) break;
        if (--depth == 0) is_in_pack = false;
        continue;
      }
      const AbbrevTable::Abbrev* abbrev = unit.abbrevs().find(code);
      if (abbrev == nullptr) break;
      if (depth == (is_in_pack ? 1 : 0) && abbrev->tag == DW_TAG_formal_parameter && all.size() < kMaxParameters) all.push_back(offset);
      if (depth == 0) is_in_pack = abbrev->has_children && abbrev->tag == DW_TAG_GNU_formal_parameter_pack;
      unit.abbrevs().skip(cursor, *abbrev, unit.header().format);
      depth += abbrev->has_children ? 1 : 0;
    }
    return all;
  }

  void read_formals(EntryUnits* units, const Entry& function) {
    for (const uint64_t offset : list_formals(function)) {
      Formal formal;
      Reference at{units, offset};
      bool has_type = false;
      for (int hop = 0; hop < kMaxHops; ++hop) {
        const std::optional<Entry> entry = read_entry(at);
        if (!entry) break;
        if (hop == 0) formal.location = read_location(*entry);
        if (formal.name.empty()) formal.name = entry->name;
        if (!has_type && entry->type.kind != Kind::kNone) {
          formal.type = read_type(follow(at, entry->type));
          has_type = true;
        }
        at = follow(at, entry->origin);
      }
      formals_.push_back(formal);
    }
  }

  Location read_location(const Entry& formal) {
    if (formal.location.kind == Kind::kBlock) return parse_location(formal.location.block, true, is_cfa_);
    const std::optional<Bytes> expression = formal.unit->find_location(formal.location, address_, budget_);
    return expression ? parse_location(*expression, false, is_cfa_) : Location{};
  }

  ValueType read_type(Reference at) {
    std::optional<uint64_t> bytes;  // of an enum, whose type has the sign
    for (int hop = 0; hop < kMaxTypeHops; ++hop) {
      const std::optional<Entry> entry = read_entry(at);
      if (!entry) break;
      switch (entry->tag) {
        case DW_TAG_typedef: case DW_TAG_const_type: case DW_TAG_volatile_type: case DW_TAG_restrict_type: case DW_TAG_atomic_type: break;
        case DW_TAG_pointer_type: case DW_TAG_reference_type: case DW_TAG_rvalue_reference_type: return integer(entry->byte_size.value_or(8), false);
        case DW_TAG_base_type: return base_type(*entry, bytes);
        case DW_TAG_enumeration_type:
          bytes = entry->byte_size;
          if (entry->type.kind == Kind::kNone) return base_type(*entry, bytes);
          break;
        case DW_TAG_structure_type: case DW_TAG_class_type: case DW_TAG_union_type: return class_type(*entry);
        default: return {};
      }
      if (entry->type.kind == Kind::kNone) return {};
      at = follow(at, entry->type);
    }
    return {};
  }

  static ValueType base_type(const Entry& entry, std::optional<uint64_t> enum_bytes) {
    const uint64_t bytes = enum_bytes.value_or(entry.byte_size.value_or(0));
    switch (entry.encoding.value_or(DW_ATE_unsigned)) {
      case DW_ATE_float: case DW_ATE_complex_float: case DW_ATE_imaginary_float: case DW_ATE_decimal_float: return {Class::kFloat, bytes, false};
      case DW_ATE_signed: case DW_ATE_signed_char: return integer(bytes, true);
      case DW_ATE_boolean: case DW_ATE_unsigned: case DW_ATE_unsigned_char: case DW_ATE_address: case DW_ATE_UTF: return integer(bytes, false);
      default: return {};
    }
  }
  // Of 128 bits: two registers, or none.
  static ValueType integer(uint64_t bytes, bool is_signed) {
    return bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8 ? ValueType{Class::kInteger, bytes, is_signed} : ValueType{};
  }

  // C++ passes a reference to a copy where copying is not trivial.
  static ValueType class_type(const Entry& entry) {
    const uint64_t bytes = entry.byte_size.value_or(0);
    if (entry.convention == DW_CC_pass_by_reference) return {Class::kReference, bytes, false};
    const bool is_by_value = entry.convention == DW_CC_pass_by_value || is_c(entry.unit->language);
    return {is_by_value && bytes > kMostBytesInRegisters ? Class::kMemory : Class::kStruct, bytes, false};
  }

  // Nothing: it cannot be known, or the function is called otherwise.
  std::optional<ValueType> returned_type(const Entry& function) {
    Reference at{&home_, 0};
    std::optional<Entry> entry = function;
    for (int hop = 0; hop < kMaxHops && entry; ++hop) {
      if (entry->convention && entry->convention != DW_CC_normal) return std::nullopt;
      if (entry->type.kind != Kind::kNone) return read_type(follow(at, entry->type));
      if (entry->origin.kind == Kind::kNone) return ValueType{Class::kNone, 0, false};
      at = follow(at, entry->origin);
      entry = read_entry(at);
    }
    return std::nullopt;
  }

  // Of the parameters from the first one on, as far as it is certain. None at all where the description says otherwise.
  std::vector<Location> passed_by_convention(const Entry& function) {
    using Is = Location::Is;
    if (!is_c(function.unit->language) && !is_cpp(function.unit->language)) return {};
    const auto returned = returned_type(function);
    const bool is_large = returned && returned->is == Class::kStruct && returned->bytes > kMostBytesInRegisters;
    if (!returned || returned->is == Class::kUnknown || (returned->is == Class::kStruct && !is_large)) return {};
    // Where it is returned to comes first.
    size_t integers = is_large || returned->is == Class::kMemory || returned->is == Class::kReference ? 1 : 0;
    uint32_t floats = 0;
    uint64_t stack = 0;
    bool is_stack_known = true;
    std::vector<Location> passed;
    for (const Formal& formal : formals_) {
      Class is = formal.type.is;
      if (is == Class::kStruct && formal.location.is_reference) is = Class::kReference;
      if (is == Class::kStruct && formal.location.is == Is::kOnStack) is = Class::kMemory;
      // What the compiler has removed is not passed; nobody knows whether it has.
      if (is == Class::kUnknown || is == Class::kNone || is == Class::kStruct || formal.location.is == Is::kAbsent) break;
      Location location;
      if (is == Class::kInteger || is == Class::kReference) {
        if (integers < kOfArguments.size()) location = {Is::kRegister, kOfArguments[integers++]};
        else if (is_stack_known) location = {Is::kOnStack, std::exchange(stack, stack + 8)};
      } else if (is == Class::kMemory || formal.type.bytes > 8 || ++floats > kVectorRegisters) {
        is_stack_known = false;  // its alignment is not known
      }
      passed.push_back(location);
    }
    for (size_t i = 0; i < formals_.size(); ++i) {
      if (formals_[i].location.is != Is::kRegister) continue;
      if (i >= passed.size() || formals_[i].type.is != Class::kInteger) continue;
      if (passed[i].is != Is::kRegister || passed[i].number != formals_[i].location.number) return {};
    }
    return passed;
  }

  static FunctionParameter describe(const Formal& formal, const Location& passed) {
    using Is = Location::Is;
    FunctionParameter parameter;
    parameter.name = formal.name;
    const auto failed = [&](ParameterProblem problem) {
      parameter.problem = problem;
      return parameter;
    };
    if (formal.type.is == Class::kFloat) return failed(ParameterProblem::kFloatingPoint);
    if (formal.type.is != Class::kInteger) return failed(ParameterProblem::kNoNumber);
    if (formal.location.is == Is::kAbsent) return failed(ParameterProblem::kOptimizedAway);
    parameter.by_convention = formal.location.is == Is::kStoredLater;
    const Location at = parameter.by_convention ? passed : formal.location;
    if (at.is != Is::kRegister && (at.is != Is::kOnStack || at.number > INT32_MAX)) return failed(ParameterProblem::kUncertain);
    parameter.place.bytes = static_cast<uint8_t>(formal.type.bytes);
    parameter.place.is_signed = formal.type.is_signed ? 1 : 0;
    if (at.is == Is::kRegister) {
      parameter.place.offset = kRegisters[at.number];
      return parameter;
    }
    parameter.place.kind = FIELD_IN_MEMORY;
    parameter.place.offset = offsetof(user_regs_struct, rsp);
    parameter.place.index = NO_REGISTER;
    parameter.place.number = static_cast<int64_t>(at.number) + 8;
    return parameter;
  }

  // What the source has and this copy has not.
  void add_removed(const Entry& function, FunctionParameters& all) {
    const std::optional<Entry> origin = function.origin.kind == Kind::kNone ? std::nullopt : read_entry(follow({&home_, 0}, function.origin));
    if (!origin) return;
    formals_.clear();
    read_formals(function.origin.kind == Kind::kAlternateReference ? alternate_ : &home_, *origin);
    for (const Formal& formal : formals_) {
      const bool is_there = std::any_of(all.parameters.begin(), all.parameters.end(), [&](const FunctionParameter& known) { return known.name == formal.name; });
      if (is_there || formal.name.empty() || formal.name.size() > kMaxParameterNameBytes || all.parameters.size() == kMaxParameters) continue;
      all.parameters.push_back({std::string(formal.name), {}, ParameterProblem::kOptimizedAway, false});
    }
  }

  EntryUnits& home_;
  EntryUnits* const alternate_;
  WorkBudget& budget_;
  std::vector<Formal> formals_;
  uint64_t address_ = 0;
  bool is_cfa_ = false;
};

}  // namespace

FunctionParameters read_parameters(EntryUnits& home, EntryUnits* alternate, uint64_t function, uint64_t address, WorkBudget& budget) {
  return ParameterReader(home, alternate, budget).read(function, address);
}

}  // namespace cicada::symbolize
