// SPDX-License-Identifier: Apache-2.0
// Places in the kernel that its types (BTF) describe: functions, where they begin (fentry) or return (fexit), and raw tracepoints. A program is called there
// with an array of the arguments, eight bytes each, and where a function returns with what it returns behind them.
//
// Source: Documentation/bpf/btf.rst; kernel/bpf/trampoline.c; include/trace/bpf_probe.h. Threads: any.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "bpf_source/event_spec.h"

struct btf;

namespace cicada::bpf_source {

// As the type says how large it is, and whether it has a sign.
struct KernelArgument {
  std::string name;  // empty: the types say none
  std::string type;
  uint16_t offset = 0;  // in the array, in bytes
  uint8_t bytes = 0;    // 0: no number
  bool is_signed = false;
  uint32_t struct_bytes = 0;  // of a structure that is handed over as it is
};

struct KernelSignature {
  std::vector<KernelArgument> arguments;
  std::optional<KernelArgument> result;  // of a function, but void; its name is retval
};

class KernelTypes {
 public:
  // Those of the kernel itself, without modules. Fails: kUnsupported (it has none, or they cannot be read).
  static Result<KernelTypes> open();
  // `text`: types as the kernel has them.
  static Result<KernelTypes> parse(std::span<const uint8_t> text);

  std::optional<KernelSignature> find_function(const std::string& name) const;
  std::optional<KernelSignature> find_tracepoint(const std::string& name) const;
  // Those that BPF programs take: who would wait for a lock that it has gets an error instead (rqspinlock, Linux 6.16).
  bool locks_know_their_owners() const;
  // By name.
  std::vector<std::string> functions() const;
  std::vector<std::string> tracepoints() const;

 private:
  explicit KernelTypes(btf* types);
  KernelSignature signature_of(uint32_t prototype, bool is_tracepoint) const;
  KernelArgument describe(uint32_t type) const;
  std::vector<std::string> names(uint32_t kind, std::string_view prefix) const;
  std::shared_ptr<btf> types_;
};

// "prev, next" or "arg0 to arg3": what can be asked for. `at_return`: retval, too.
std::string list_fields(const KernelSignature& signature, bool at_return);
// An argument by its name, or arg0, arg1, …; retval. In TYPE(…) its low bits. Fails (kNotFound, kUnsupported): what there is instead.
Result<event_field> find_field(const KernelSignature& signature, bool at_return, std::string_view asked);

// Looks up fields of events of this kind. Fails: kNotFound, with names that may have been meant; kUnsupported, also of a tracepoint of the other kind that would stop this kernel
// (is_passed_under_locks()); kInvalid (more than MAX_KERNEL_PLACES).
Result<void> find_kernel_places(std::span<EventSpec> events);

}  // namespace cicada::bpf_source
