// SPDX-License-Identifier: Apache-2.0
#include "bpf_source/kernel_arguments.h"

#include <algorithm>
#include <optional>

#include <fmt/ranges.h>

#include "base/near_names.h"
#include "bpf_source/field_name.h"

namespace cicada::bpf_source {
namespace {

using symbolize::FunctionParameter;
using symbolize::ParameterProblem;

constexpr uint32_t kMostBytesInRegisters = 16;  // of a struct
bool is_in_memory(const KernelArgument& argument) { return argument.struct_bytes > kMostBytesInRegisters; }

}  // namespace

symbolize::FunctionParameters describe_kernel_function(const KernelTypes& types, const std::string& function) {
  symbolize::FunctionParameters all;
  const std::optional<KernelSignature> signature = types.find_function(function);
  if (!signature) return all;
  all.is_described = true;
  // Where a large struct is returned to is the first argument. How small ones are passed is not looked at.
  const bool returns_struct = signature->result && signature->result->struct_bytes != 0, returns_in_memory = returns_struct && is_in_memory(*signature->result);
  size_t next = returns_in_memory ? 1 : 0;
  bool is_certain = !returns_struct || returns_in_memory;
  for (const KernelArgument& argument : signature->arguments) {
    if (all.parameters.size() == symbolize::kMaxParameters) break;
    FunctionParameter parameter;
    parameter.name = argument.name;
    if (argument.bytes == 0) {
      parameter.problem = ParameterProblem::kNoNumber;
      is_certain = is_certain && is_in_memory(argument);
    } else {
      const auto whole = find_register({fmt::format("arg{}", next++), 0, false}, false);
      if (is_certain && whole) {
        parameter.place = event_field{};
        parameter.place.offset = whole->offset;
        parameter.place.bytes = argument.bytes;
        parameter.place.is_signed = argument.is_signed ? 1 : 0;
        parameter.by_convention = true;
      } else {
        parameter.problem = ParameterProblem::kUncertain;
      }
    }
    if (!parameter.name.empty()) all.parameters.push_back(std::move(parameter));
  }
  return all;
}

Result<void> find_kernel_arguments(std::span<EventSpec> events) {
  std::optional<KernelTypes> types;
  for (EventSpec& event : events) {
    if (event.type.kind != EventKind::kKernelFunction || event.arguments.empty()) continue;
    if (!types) types.emplace(TRY(KernelTypes::open()));
    const symbolize::FunctionParameters known = describe_kernel_function(*types, event.place.function);
    if (!known.is_described) return make_error(ErrorKind::kNotFound, "{}: this kernel does not describe {}, as those of modules and what assembler has: arg0 to arg5 need no description", event.type.name, event.place.function);
    std::vector<std::string> names;
    for (const FunctionParameter& one : known.parameters) names.push_back(one.name);
    std::vector<event_field> arguments;
    for (const std::string& name : event.arguments) {
      const auto found = std::find_if(known.parameters.begin(), known.parameters.end(), [&](const FunctionParameter& one) { return one.name == name; });
      if (found == known.parameters.end()) {
        const std::string near = near_names(name, names);
        return make_error(ErrorKind::kNotFound, "{}: {} has no parameter {}{}; it has {}", event.type.name, event.place.function, name, near.empty() ? "" : fmt::format("; did you mean {}?", near),
                          names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", ")));
      }
      if (found->place.bytes == 0)
        return make_error(ErrorKind::kUnsupported, "{}: {} of {} {}", event.type.name, name, event.place.function, found->problem == ParameterProblem::kNoNumber ? "is no number" : "is in none of the registers that are known");
      arguments.push_back(found->place);
    }
    CHECK(bind_arguments(event.fields, arguments) == ArgumentProblem::kNone);
    event.arguments.clear();
  }
  return {};
}

}  // namespace cicada::bpf_source
