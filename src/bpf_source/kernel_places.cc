// SPDX-License-Identifier: Apache-2.0
#include "bpf_source/kernel_places.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <linux/bpf.h>

#include <algorithm>
#include <cerrno>
#include <charconv>

#include <fmt/ranges.h>

#include "abi/settings.h"
#include "base/near_names.h"
#include "bpf_source/field_name.h"
#include "bpf_source/kernel_functions.h"

namespace cicada::bpf_source {
namespace {

constexpr size_t kSlotBytes = 8, kMostSteps = 32;  // from a type to what it is
constexpr std::string_view kTracepointPrefix = "btf_trace_";

bool is_qualifier(uint32_t kind) { return kind == BTF_KIND_CONST || kind == BTF_KIND_VOLATILE || kind == BTF_KIND_RESTRICT || kind == BTF_KIND_TYPE_TAG; }

uint32_t slots_of(uint64_t bytes) { return static_cast<uint32_t>(std::max<uint64_t>(1, (bytes + kSlotBytes - 1) / kSlotBytes)); }

// Of an argument that is there.
std::string type_of(const KernelSignature& signature, std::string_view asked) {
  for (size_t i = 0; i < signature.arguments.size(); ++i)
    if (asked == signature.arguments[i].name || asked == fmt::format("arg{}", i)) return signature.arguments[i].type;
  return signature.result ? signature.result->type : "";
}

// `name`: of a tracepoint, after its category or kind.
Result<void> check_locks(std::string_view name, std::optional<KernelTypes>& known) {
  if (!is_passed_under_locks(name.substr(name.find(':') + 1))) return {};
  if (!known) known.emplace(TRY(KernelTypes::open()));
  if (known->locks_know_their_owners()) return {};
  return make_error(ErrorKind::kUnsupported, "{}: locks are held there, also those that a sample is taken with, and this kernel would wait for itself for ever (Linux 6.16 and later do not); contention_begin can be probed", name);
}

}  // namespace

KernelTypes::KernelTypes(btf* types) : types_(types, &::btf__free) {}

Result<KernelTypes> KernelTypes::open() {
  btf* types = ::btf__load_vmlinux_btf();
  if (types == nullptr) return make_error(ErrorKind::kUnsupported, "the kernel's types (/sys/kernel/btf/vmlinux): {}", errno_error(errno, "read them").message());
  return KernelTypes(types);
}

Result<KernelTypes> KernelTypes::parse(std::span<const uint8_t> text) {
  btf* types = ::btf__new(text.data(), static_cast<uint32_t>(text.size()));
  if (types == nullptr) return make_error(ErrorKind::kUnsupported, "types of a kernel that cannot be read");
  return KernelTypes(types);
}

// What it is called as far as it is needed to know it: struct task_struct *, unsigned int, bool.
KernelArgument KernelTypes::describe(uint32_t type) const {
  KernelArgument found;
  std::string stars;
  bool is_pointer = false;
  for (size_t steps = 0; steps < kMostSteps; ++steps) {
    const btf_type* at = ::btf__type_by_id(types_.get(), type);
    if (at == nullptr) return found;
    const uint32_t kind = btf_kind(at);
    const char* name = ::btf__name_by_offset(types_.get(), at->name_off);
    if (kind == BTF_KIND_TYPEDEF && found.type.empty()) found.type = name;
    if (kind == BTF_KIND_PTR) {
      if (!is_pointer) found.bytes = kSlotBytes;
      is_pointer = true;
      stars += '*';
    } else if (!is_qualifier(kind) && kind != BTF_KIND_TYPEDEF) {
      const bool is_struct = kind == BTF_KIND_STRUCT || kind == BTF_KIND_UNION || kind == BTF_KIND_FWD;
      if (found.type.empty()) found.type = type == 0 ? "void" : kind == BTF_KIND_FUNC_PROTO ? "function" : fmt::format("{}{}", kind == BTF_KIND_UNION ? "union " : is_struct ? "struct " : btf_is_any_enum(at) ? "enum " : "", name);
      if (is_struct && !is_pointer) found.struct_bytes = at->size;
      const bool is_number = kind == BTF_KIND_INT || btf_is_any_enum(at);
      if (!is_pointer && is_number && (at->size == 1 || at->size == 2 || at->size == 4 || at->size == 8)) {
        found.bytes = static_cast<uint8_t>(at->size);
        found.is_signed = kind == BTF_KIND_INT ? (btf_int_encoding(at) & BTF_INT_SIGNED) != 0 : btf_kflag(at);
      }
      break;
    }
    type = at->type;
    if (type == 0) {
      if (found.type.empty()) found.type = "void";
      break;
    }
  }
  if (!stars.empty()) found.type += " " + stars;
  return found;
}

KernelSignature KernelTypes::signature_of(uint32_t prototype, bool is_tracepoint) const {
  KernelSignature signature;
  const btf_type* type = ::btf__type_by_id(types_.get(), prototype);
  if (type == nullptr || !btf_is_func_proto(type)) return signature;
  const btf_param* const parameters = btf_params(type);
  uint32_t slot = 0;
  for (uint32_t i = is_tracepoint ? 1 : 0; i < btf_vlen(type); ++i) {  // a tracepoint's first is what belongs to who listens
    if (parameters[i].type == 0) break;                               // "..."
    KernelArgument argument = describe(parameters[i].type);
    argument.name = ::btf__name_by_offset(types_.get(), parameters[i].name_off);
    argument.offset = static_cast<uint16_t>(slot * kSlotBytes);
    const int64_t bytes = ::btf__resolve_size(types_.get(), parameters[i].type);
    slot += slots_of(bytes < 0 ? 0 : static_cast<uint64_t>(std::min<int64_t>(bytes, 1024)));
    signature.arguments.push_back(std::move(argument));
  }
  if (is_tracepoint || type->type == 0) return signature;
  KernelArgument result = describe(type->type);
  result.name = "retval";
  result.offset = static_cast<uint16_t>(slot * kSlotBytes);
  signature.result = std::move(result);
  return signature;
}

std::optional<KernelSignature> KernelTypes::find_function(const std::string& name) const {
  const int32_t id = ::btf__find_by_name_kind(types_.get(), name.c_str(), BTF_KIND_FUNC);
  if (id <= 0) return std::nullopt;
  return signature_of(::btf__type_by_id(types_.get(), static_cast<uint32_t>(id))->type, false);
}

std::optional<KernelSignature> KernelTypes::find_tracepoint(const std::string& name) const {
  const int32_t id = ::btf__find_by_name_kind(types_.get(), fmt::format("{}{}", kTracepointPrefix, name).c_str(), BTF_KIND_TYPEDEF);
  if (id <= 0) return std::nullopt;
  const btf_type* pointer = ::btf__type_by_id(types_.get(), ::btf__type_by_id(types_.get(), static_cast<uint32_t>(id))->type);
  if (pointer == nullptr || !btf_is_ptr(pointer)) return std::nullopt;
  return signature_of(pointer->type, true);
}

bool KernelTypes::locks_know_their_owners() const {
  const btf_type* ring = ::btf__type_by_id(types_.get(), static_cast<uint32_t>(std::max(0, ::btf__find_by_name_kind(types_.get(), "bpf_ringbuf", BTF_KIND_STRUCT))));
  if (ring == nullptr || !btf_is_struct(ring)) return false;
  for (uint32_t i = 0; i < btf_vlen(ring); ++i) {
    const btf_member& member = btf_members(ring)[i];
    if (std::string_view(::btf__name_by_offset(types_.get(), member.name_off)) == "spinlock") return describe(member.type).type.find("rqspinlock") != std::string::npos;
  }
  return false;
}

std::vector<std::string> KernelTypes::names(uint32_t kind, std::string_view prefix) const {
  std::vector<std::string> all;
  for (uint32_t id = 1; id < ::btf__type_cnt(types_.get()); ++id) {
    const btf_type* type = ::btf__type_by_id(types_.get(), id);
    if (type == nullptr || btf_kind(type) != kind) continue;
    const std::string_view name = ::btf__name_by_offset(types_.get(), type->name_off);
    if (name.starts_with(prefix)) all.emplace_back(name.substr(prefix.size()));
  }
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}
std::vector<std::string> KernelTypes::functions() const { return names(BTF_KIND_FUNC, ""); }
std::vector<std::string> KernelTypes::tracepoints() const { return names(BTF_KIND_TYPEDEF, kTracepointPrefix); }

std::string list_fields(const KernelSignature& signature, bool at_return) {
  std::vector<std::string> names;
  for (size_t i = 0; i < signature.arguments.size(); ++i) {
    const KernelArgument& argument = signature.arguments[i];
    names.push_back(argument.name.empty() ? fmt::format("arg{} ({})", i, argument.type) : argument.name);
  }
  if (at_return && signature.result) names.emplace_back("retval");
  return names.empty() ? "nothing" : fmt::format("{}", fmt::join(names, ", "));
}

Result<event_field> find_field(const KernelSignature& signature, bool at_return, std::string_view asked) {
  const FieldName wanted = parse_field_name(asked).value_or(FieldName{std::string(asked)});
  const KernelArgument* found = nullptr;
  for (size_t i = 0; i < signature.arguments.size(); ++i)
    if (signature.arguments[i].name == wanted.name || wanted.name == fmt::format("arg{}", i)) found = &signature.arguments[i];
  if (at_return && signature.result && wanted.name == signature.result->name) found = &*signature.result;
  if (found == nullptr) return make_error(ErrorKind::kNotFound, "it hands over no {}, but {}", wanted.name, list_fields(signature, at_return));
  if (found->bytes == 0) return make_error(ErrorKind::kUnsupported, "{} is no number ({})", wanted.name, found->type);
  event_field field{};
  field.offset = found->offset;
  field.bytes = found->bytes;
  field.is_signed = found->is_signed ? 1 : 0;
  const std::optional<event_field> low = low_part(field, wanted);
  if (!low) return make_error(ErrorKind::kUnsupported, "{}: {} has {} bytes", asked, wanted.name, found->bytes);
  return *low;
}

Result<void> find_kernel_places(std::span<EventSpec> events) {
  std::optional<KernelTypes> known;
  size_t places = 0;
  for (EventSpec& event : events) {
    const bool is_tracepoint = event.type.kind == EventKind::kKernelPlace && event.type.config == BPF_TRACE_RAW_TP;
    if (event.type.kind == EventKind::kTracepoint || is_tracepoint) TRY(check_locks(event.type.name, known));
    if (event.type.kind != EventKind::kKernelPlace) continue;
    if (++places > MAX_KERNEL_PLACES) return make_error(ErrorKind::kInvalid, "{}: one too many; of fentry, fexit and rawtp there can be {} in a recording (k: and t: are not bounded so)", event.type.name, MAX_KERNEL_PLACES);
    if (!known) known.emplace(TRY(KernelTypes::open()));
    const std::string& name = event.place.function;
    const std::optional<KernelSignature> found = is_tracepoint ? known->find_tracepoint(name) : known->find_function(name);
    if (!found) {
      const std::string near = near_names(name, is_tracepoint ? known->tracepoints() : known->functions());
      return make_error(ErrorKind::kNotFound, "{}: this kernel's types describe no {} {}{}", event.type.name, is_tracepoint ? "tracepoint" : "function", name,
                        !near.empty() ? fmt::format("; did you mean {}?", near) : is_tracepoint ? " (a module's: t:CATEGORY:NAME)" : fmt::format(" (an inlined one cannot be probed, a module's may be: k:{})", name));
    }
    // By which functions call programs; without, the load fails with EPERM, which says something else.
    const bool can_call = known->find_function("register_ftrace_direct") || known->find_function("register_ftrace_direct_multi");
    if (!is_tracepoint && !can_call) return make_error(ErrorKind::kUnsupported, "{}: this kernel's functions call no programs (CONFIG_DYNAMIC_FTRACE_WITH_DIRECT_CALLS); where it has kprobes: {}:{}", event.type.name, event.place.at_return ? "kr" : "k", name);
    const auto find = [&](std::string_view field) { return find_field(*found, event.place.at_return, field); };
    const auto named = [&](Result<event_field> field) -> Result<event_field> {
      if (field) return field;
      return make_error(field.error().kind(), "{}: {}", event.type.name, field.error().message());
    };
    event.fields = {};
    if (!event.group.empty()) event.fields.group = TRY(named(find(event.group)));
    if (event.group_is_text) {
      const std::string type = type_of(*found, event.group);
      if (type != "char *" && type != "void *") return make_error(ErrorKind::kUnsupported, "{}: {} is not the address of a text ({})", event.type.name, event.group, type);
      event.fields.group_text = TEXT_OF_EITHER;
    }
    if (!event.value.empty()) event.fields.value = TRY(named(find(event.value)));
    for (const FieldComparison& one : event.filters) event.fields.filter[event.fields.filters++] = {TRY(named(find(one.field))), one.is, 0, one.number};
    // A thread asks for these: nothing is locked there.
    event.fields.has_time = is_tracepoint && (name == "sys_enter" || name == "sys_exit");
    event.argument_count = found->arguments.size();
  }
  return {};
}

}  // namespace cicada::bpf_source
