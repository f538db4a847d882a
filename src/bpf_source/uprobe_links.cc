// SPDX-License-Identifier: Apache-2.0
#include "bpf_source/uprobe_links.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <limits>

#include "base/kernel_setting.h"
#include "bpf_source/privileges.h"

namespace cicada::bpf_source {
namespace {

constexpr uint32_t kReturn = 1;  // BPF_F_UPROBE_MULTI_RETURN
constexpr int kSemaphoreShift = 32;  // in perf_event_attr.config (/sys/bus/event_source/devices/uprobe/format/ref_ctr_offset)
constexpr int kNotSupported = 524;       // the kernel's ENOTSUPP
constexpr size_t kMostRefused = 256;     // a few of all functions of a library; each costs the kernel some milliseconds

// The part of union bpf_attr, which Debian 12's headers do not have.
struct UprobeMulti {
  uint32_t program_fd = 0, target_fd = 0, attach_type = kAttachUprobeMulti, flags = 0;
  uint64_t path = 0, offsets = 0, reference_counters = 0, cookies = 0;
  uint32_t count = 0, probe_flags = 0, pid = 0, padding = 0;
};
static_assert(offsetof(UprobeMulti, path) == 16 && offsetof(UprobeMulti, count) == 48);

Error attach_error(int error) {
  constexpr const char* what = "attach";
  if (error == EPERM || error == EACCES) return make_error(ErrorKind::kPermission, "{}: not permitted; {}", what, privileges_remedy());
  if (error == EINVAL || error == kNotSupported || error == ENOEXEC) return make_error(ErrorKind::kInvalid, "{}: the kernel cannot probe an instruction there", what);
  return errno_error(error, what);
}

Result<UniqueFd> attach_together(int program_fd, const std::string& path, const UprobePlaces& places) {
  std::vector<uint64_t> offsets, semaphores, cookies;
  for (const UprobePlace& place : places.places) {
    offsets.push_back(place.offset.value);
    semaphores.push_back(place.semaphore.value);
    cookies.push_back(place.cookie);
  }
  UprobeMulti attributes;
  attributes.program_fd = static_cast<uint32_t>(program_fd);
  attributes.path = reinterpret_cast<uintptr_t>(path.c_str());
  attributes.offsets = reinterpret_cast<uintptr_t>(offsets.data());
  attributes.reference_counters = reinterpret_cast<uintptr_t>(semaphores.data());
  attributes.cookies = reinterpret_cast<uintptr_t>(cookies.data());
  attributes.count = static_cast<uint32_t>(offsets.size());
  attributes.probe_flags = places.at_return ? kReturn : 0;
  UniqueFd link(static_cast<int>(::syscall(SYS_bpf, BPF_LINK_CREATE, &attributes, sizeof attributes)));
  if (!link) return attach_error(errno);
  return link;
}

// One that cannot be probed makes the kernel refuse all: it is looked for by halves.
Result<void> attach_all(int program_fd, const std::string& path, const UprobePlaces& places, UprobeLinks& attached) {
  Result<UniqueFd> link = attach_together(program_fd, path, places);
  if (link) {
    attached.links.push_back(std::move(*link));
    return {};
  }
  if (link.error().kind() != ErrorKind::kInvalid || attached.refused.size() == kMostRefused) return link.error();
  if (places.places.size() == 1) {
    attached.refused.push_back(places.places.front().offset);
    return {};
  }
  const size_t half = places.places.size() / 2;
  TRY(attach_all(program_fd, path, {places.file, places.places.first(half), places.at_return}, attached));
  return attach_all(program_fd, path, {places.file, places.places.subspan(half), places.at_return}, attached);
}

// Opened on one CPU; its program runs on all of them.
Result<void> attach_one(int program_fd, const std::string& path, const UprobePlace& place, bool at_return, std::vector<UniqueFd>& links) {
  const auto type = find_number_in("/sys/bus/event_source/devices/uprobe/type");
  if (!type) return make_error(ErrorKind::kUnsupported, "this kernel has no uprobes (CONFIG_UPROBE_EVENTS)");
  if (place.semaphore.value > std::numeric_limits<uint32_t>::max()) return attach_error(EINVAL);
  perf_event_attr attributes{};
  attributes.size = sizeof attributes;
  attributes.type = static_cast<uint32_t>(*type);
  attributes.config = (at_return ? 1 : 0) | place.semaphore.value << kSemaphoreShift;
  attributes.config1 = reinterpret_cast<uintptr_t>(path.c_str());
  attributes.config2 = place.offset.value;
  attributes.sample_period = 1;
  UniqueFd event(static_cast<int>(::syscall(SYS_perf_event_open, &attributes, -1, 0, -1, PERF_FLAG_FD_CLOEXEC)));
  if (!event) return attach_error(errno);
  LIBBPF_OPTS(bpf_link_create_opts, options, .perf_event = {.bpf_cookie = place.cookie});
  UniqueFd link(::bpf_link_create(program_fd, event.get(), BPF_PERF_EVENT, &options));
  if (!link) return attach_error(errno);
  links.push_back(std::move(link));
  links.push_back(std::move(event));
  return {};
}

}  // namespace

bool has_uprobe_multi() {
  btf* types = ::btf__load_vmlinux_btf();
  const bool found = types != nullptr && ::btf__find_by_name_kind(types, "bpf_uprobe_multi_link", BTF_KIND_STRUCT) > 0;
  ::btf__free(types);
  return found;
}

Result<UprobeLinks> attach_uprobes(int program_fd, bool multi, const UprobePlaces& places) {
  const std::string path = fmt::format("/proc/self/fd/{}", places.file);
  UprobeLinks attached;
  if (multi) TRY(attach_all(program_fd, path, places, attached));
  for (const UprobePlace& place : multi ? std::span<const UprobePlace>() : places.places) {
    const Result<void> done = attach_one(program_fd, path, place, places.at_return, attached.links);
    if (!done && done.error().kind() != ErrorKind::kInvalid) return done.error();
    if (!done) attached.refused.push_back(place.offset);
  }
  if (attached.links.empty()) return attach_error(EINVAL);
  return attached;
}

}  // namespace cicada::bpf_source
