// SPDX-License-Identifier: Apache-2.0
// Parameters of functions by their names in the source, and where each is when the function begins: before its first instruction.
//
//   a location (list) that says a register there      that register: right for the compiler's clones, too
//   one that says a place above the return address    the stack
//   one that says a place that is written later       by the calling convention, from the types of all parameters (System V ABI, AMD64, 3.2.3)
//
// What is not certain is left open. The file is a stranger's: work is paid from a budget. Threads: any.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "abi/event_fields.h"
#include "symbolize/dwarf/entry_units.h"

namespace cicada::symbolize {

enum class ParameterProblem : uint8_t {
  kNone,
  kOptimizedAway,  // the function has no use for it, or the compiler has put its own in
  kFloatingPoint,
  kNoNumber,   // a struct, or wider than 64 bits
  kUncertain,  // what stands before it may take one register or none
};

struct FunctionParameter {
  std::string name;
  event_field place{};  // of struct pt_regs; `bytes` 0: it cannot be read
  ParameterProblem problem = ParameterProblem::kNone;
  bool by_convention = false;  // not so if the compiler has changed the function's arguments
};

struct FunctionParameters {
  bool is_described = false;  // a function of the debug information begins there
  std::vector<FunctionParameter> parameters;  // in their order; those that have a name
};

inline constexpr size_t kMaxParameters = 64, kMaxParameterNameBytes = 256;  // of a function; others are left out

// Of the function of `home` whose entry that is and that begins at `address`. `alternate`: the dwz file, or null.
FunctionParameters read_parameters(EntryUnits& home, EntryUnits* alternate, uint64_t function, uint64_t address, WorkBudget& budget);

}  // namespace cicada::symbolize
