// SPDX-License-Identifier: Apache-2.0
// Arguments of functions of the kernel by their names in the source. BTF, which the kernel has of itself, says their names and types; where they are says the calling
// convention. Threads: any.
#pragma once
#include <span>
#include <string>

#include "base/result.h"
#include "bpf_source/event_spec.h"
#include "bpf_source/kernel_places.h"
#include "symbolize/dwarf/parameters.h"

namespace cicada::bpf_source {

// Puts in where the arguments are that events of functions of the kernel name; the names are gone then. Fails: kNotFound (no such argument or function),
// kUnsupported (it is no number, or in no register; a kernel without BTF).
Result<void> find_kernel_arguments(std::span<EventSpec> events);

// Of a function as the kernel's types describe it; not described: there is none of that name.
symbolize::FunctionParameters describe_kernel_function(const KernelTypes& types, const std::string& function);

}  // namespace cicada::bpf_source
