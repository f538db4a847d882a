// SPDX-License-Identifier: Apache-2.0
#include "bpf_source/bpf_object.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <mutex>
#include <random>
#include <unordered_map>

#include "abi/settings.h"
#include "base/diagnostics.h"
#include "base/kernel_setting.h"
#include "bpf_source/privileges.h"
#include "bpf_source/uprobe_links.h"
#include "cicada.skel.h"
#include "base/monotonic_clock.h"
#include "process/procfs/maps_file.h"

namespace cicada::bpf_source {
namespace {

constexpr size_t kKeptOfLog = 64 << 10;
constexpr size_t kCallsAtOnce = 4096;  // more than share a bucket of the table
constexpr uint64_t kRecordsPerLook = 64;    // between two looks at the clock
constexpr uint64_t kSliceNs = 20'000'000;  // of one consume()
constexpr uint32_t kFewestWaitSets = 1 << 14, kMostWaitSets = 1 << 20;  // 64 bytes each

// libbpf's complaints of the last load, kept for the error message; the verifier's verdict is in the last lines.
std::mutex g_log_mutex;
std::string g_log;

int keep_log(libbpf_print_level level, const char* format, va_list arguments) {
  if (level != LIBBPF_WARN) return 0;
  va_list again;
  va_copy(again, arguments);
  const int length = std::vsnprintf(nullptr, 0, format, again);
  va_end(again);
  if (length <= 0) return length;
  std::string text(static_cast<size_t>(length) + 1, '\0');
  std::vsnprintf(text.data(), text.size(), format, arguments);
  text.pop_back();
  const std::lock_guard lock(g_log_mutex);
  g_log += text;
  if (g_log.size() > kKeptOfLog) g_log.erase(0, g_log.size() - kKeptOfLog);
  return length;
}

std::string last_log_lines() {
  const std::lock_guard lock(g_log_mutex);
  constexpr size_t kKeep = 1000;
  return g_log.size() > kKeep ? "…" + g_log.substr(g_log.size() - kKeep) : g_log;
}

Error load_error(int error) {
  if (error == EPERM || (error == EACCES && last_log_lines().empty())) {  // the verifier says EACCES, too
    return make_error(ErrorKind::kPermission,
                      "load the BPF programs: not permitted; {}; `cicada doctor` tells more", privileges_remedy());
  }
  utsname host{};
  ::uname(&host);
  if (::access("/sys/kernel/btf/vmlinux", R_OK) != 0) {
    return make_error(ErrorKind::kUnsupported, "kernel {} has no BTF (/sys/kernel/btf/vmlinux): cicada needs one built with CONFIG_DEBUG_INFO_BTF=y (Debian's are)",
                      host.release);
  }
  int major = 0, minor = 0;
  if (std::sscanf(host.release, "%d.%d", &major, &minor) == 2 && (major < 6 || (major == 6 && minor < 1))) {
    return make_error(ErrorKind::kUnsupported, "kernel {} is too old: cicada's programs need Linux 6.1 or newer (on Debian 11: upgrade, or install a newer kernel)", host.release);
  }
  return errno_error(error, fmt::format("load the BPF programs into kernel {}", host.release)).within(last_log_lines());
}

uint32_t threads_of_machine() {
  uint32_t running = 0, all = 0;
  std::ifstream load("/proc/loadavg");
  std::string text;
  std::getline(load, text);
  const size_t slash = text.find('/');
  if (slash != std::string::npos) std::sscanf(text.c_str() + slash, "/%u", &all);
  return std::max(running, all);
}

// Else it is a tracepoint.
bool is_function_of_kernel(const BpfObjectOptions::KernelPlace& place) { return place.attach_type != BPF_TRACE_RAW_TP; }

template <typename T>
struct MappedArray {
  std::span<T> values;
  MappedArray() = default;
  MappedArray(MappedArray&& other) noexcept : values(std::exchange(other.values, {})) {}
  MappedArray& operator=(MappedArray&& other) noexcept {
    std::swap(values, other.values);
    return *this;
  }
  ~MappedArray() {
    if (!values.empty()) ::munmap(const_cast<std::remove_const_t<T>*>(values.data()), bytes());
  }
  size_t bytes() const { return (values.size_bytes() + 4095) & ~size_t{4095}; }
};

Result<UniqueFd> begin_look(const bpf_program* program, bpf_link*& link) {
  if (link == nullptr) link = ::bpf_program__attach_iter(program, nullptr);
  if (link == nullptr) return errno_error(errno, "off-cpu: attach an iterator over threads");
  UniqueFd look(::bpf_iter_create(bpf_link__fd(link)));
  if (!look) return errno_error(errno, "off-cpu: begin a look at all threads");
  return look;
}

template <typename T>
Result<MappedArray<T>> map_array(const bpf_map* map) {
  const size_t count = bpf_map__max_entries(map);
  const size_t bytes = (count * sizeof(T) + 4095) & ~size_t{4095};
  void* at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, bpf_map__fd(map), 0);
  if (at == MAP_FAILED) return errno_error(errno, fmt::format("mmap BPF array {}", bpf_map__name(map)));
  ::madvise(at, bytes, MADV_DONTFORK);
  MappedArray<T> array;
  array.values = {static_cast<T*>(at), count};
  return array;
}

// A fork copies the entry of each page of a BPF map's memory, as of no other shared memory: the ring has 8,192 for 16 MiB, which libbpf maps twice in a row. No child
// reads it. libbpf does not say where it is.
void keep_ring_from_children(uint64_t ring_bytes) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    const auto entry = process::find_maps_entry(line);
    if (entry && entry->path == "anon_inode:bpf-map" && entry->range.size() > 2 * ring_bytes) ::madvise(reinterpret_cast<void*>(entry->range.begin.value), entry->range.size(), MADV_DONTFORK);
  }
}

}  // namespace

struct BpfObject::Impl {
  cicada_bpf* skeleton = nullptr;
  MappedArray<unwind_place> places;
  MappedArray<uint64_t> usage, stack_tags;
  MappedArray<address_space_state> spaces;
  MappedArray<kernel_symbol_batch> symbols;
  ring_buffer* ring = nullptr;
  const Consumer* consumer = nullptr;
  uint64_t records = 0, slice_ends_ns = 0;
  uint64_t urgent_consumed = 0;  // urgent_done before the last look at the ring
  size_t placed = 0;             // programs of place_programs() that are loaded
  bool by_function = false;      // waits end at a function of the kernel's, where it has no tracepoint for that
  std::mutex update_mutex;

  // Before loading: programs that this kernel has no place for are left out.
  Result<void> prepare_waits(const std::optional<WaitOptions>& waits) {
    auto& programs = skeleton->progs;
    const bool by_tracepoint = waits && can_take_waits_by_tracepoint();
    by_function = waits && !by_tracepoint;
    ::bpf_program__set_autoload(programs.on_switch, waits.has_value());
    ::bpf_program__set_autoload(programs.on_schedule_exit, by_tracepoint);
    ::bpf_program__set_autoload(programs.on_finish_task_switch, waits && !by_tracepoint);
    ::bpf_program__set_autoload(programs.on_each_task, waits.has_value());
    for (bpf_program* program : {programs.on_each_thread_time, programs.on_thread_exit, programs.on_thread_free}) ::bpf_program__set_autoload(program, waits.has_value());
    ::bpf_map__set_autocreate(skeleton->maps.ending_threads, waits.has_value());
    ::bpf_map__set_autocreate(skeleton->maps.wait_sets, waits.has_value());
    ::bpf_map__set_autocreate(skeleton->maps.ended_waits, waits.has_value());
    const bool wakes = waits && waits->wake_event != NO_EVENT;
    ::bpf_program__set_autoload(programs.on_waking, wakes);
    ::bpf_map__set_autocreate(skeleton->maps.wakings, wakes);
    if (!waits) return {};
    // There the ring buffer's lock may sleep, and programs that run under the scheduler's locks must not.
    if (first_line_of("/sys/kernel/realtime") == "1" && !by_tracepoint) return make_error(ErrorKind::kUnsupported, "off-cpu: not on a kernel with PREEMPT_RT that has no tracepoint sched_exit_tp");
    auto& settings = *skeleton->rodata;
    settings.wait_event = waits->event;
    settings.wake_event = waits->wake_event;
    settings.wait_period_ns = waits->period_ns;
    settings.min_wait_ns = waits->min_ns;
    settings.max_wait_ns = waits->max_ns;
    settings.include_kernel_threads = waits->kernel_threads ? 1 : 0;
    // A quarter full with today's threads.
    const uint32_t sets = std::clamp(std::bit_ceil(threads_of_machine()), kFewestWaitSets, kMostWaitSets);
    settings.wait_set_mask = sets - 1;
    ::bpf_map__set_max_entries(skeleton->maps.wait_sets, sets);
    return {};
  }

  std::array<bpf_program*, MAX_KERNEL_PLACES> place_programs() const {
    const auto& programs = skeleton->progs;
    return {programs.on_kernel_place_0, programs.on_kernel_place_1, programs.on_kernel_place_2, programs.on_kernel_place_3};
  }
  // Before loading: a program is loaded for what it is attached to.
  Result<void> prepare_kernel_places(std::span<const BpfObjectOptions::KernelPlace> wanted) {
    const auto programs = place_programs();
    CHECK(wanted.size() <= programs.size());
    for (size_t i = 0; i < wanted.size(); ++i) {
      const BpfObjectOptions::KernelPlace& place = wanted[i];
      const bool is_function = is_function_of_kernel(place);
      ::bpf_program__set_autoload(programs[i], true);
      ::bpf_program__set_expected_attach_type(programs[i], static_cast<bpf_attach_type>(place.attach_type));
      if (const int error = ::bpf_program__set_attach_target(programs[i], 0, place.name.c_str()); error != 0) return errno_error(-error, fmt::format("{}: find it in the types of the kernel", place.name));
      // A function's program runs with preemption, where the kernel has that.
      skeleton->rodata->kernel_places[i] = {place.event, place.hits, is_function ? uint8_t{1} : uint8_t{0}, is_function ? uint8_t{1} : uint8_t{0}, {}};
    }
    placed = wanted.size();
    return {};
  }

  ~Impl() {
    if (ring != nullptr) ::ring_buffer__free(ring);
    if (skeleton != nullptr) cicada_bpf::destroy(skeleton);
  }
};

bool can_take_waits_by_tracepoint() {
  btf* types = ::btf__load_vmlinux_btf();
  const bool found = types != nullptr && ::btf__find_by_name_kind(types, "btf_trace_sched_exit_tp", BTF_KIND_TYPEDEF) > 0;
  ::btf__free(types);
  return found;
}

BpfObject::BpfObject(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
BpfObject::~BpfObject() = default;

Result<std::unique_ptr<BpfObject>> BpfObject::load(const BpfObjectOptions& options) {
  {
    const std::lock_guard lock(g_log_mutex);
    g_log.clear();
  }
  ::libbpf_set_print(keep_log);
  auto impl = std::make_unique<Impl>();
  impl->skeleton = cicada_bpf::open();
  if (impl->skeleton == nullptr) return load_error(errno);
  cicada_bpf& skeleton = *impl->skeleton;
  auto& settings = *skeleton.rodata;
  settings.filter_mode = options.targets == TargetKind::kMachine     ? FILTER_ALL
                         : options.targets == TargetKind::kProcesses ? FILTER_TARGETS
                                                                     : FILTER_TIDS;
  static_assert(sizeof settings.asked == sizeof options.asked);
  std::memcpy(&settings.asked, &options.asked, sizeof options.asked);
  static_assert(sizeof settings.event_fields[0] == sizeof options.fields[0]);
  std::memcpy(&settings.event_fields, options.fields.data(), std::min<size_t>(options.fields.size(), MAX_EVENTS) * sizeof options.fields[0]);
  settings.unwind_mode = options.unwind;
  settings.include_idle = options.include_idle ? 1 : 0;
  settings.kernel_stacks = options.kernel_frames ? 1 : 0;
  settings.user_stacks = options.user_frames ? 1 : 0;
  std::random_device entropy;
  settings.hash_seed = uint64_t{entropy()} << 32 | entropy();
  settings.deferred_kib_ns = options.deferred_kib_per_second == 0 ? 0 : 1'000'000'000 / options.deferred_kib_per_second;
  settings.wakeup_bytes = options.ring_bytes / 8;
  settings.some_cpus = options.cpus.empty() ? 0 : 1;
  for (const int cpu : options.cpus) settings.cpu_bits[cpu / 64 % (MAX_CPUS / 64)] |= uint64_t{1} << (cpu % 64);
  ::bpf_program__set_autoload(skeleton.progs.on_tracepoint, options.tracepoints);
  ::bpf_program__set_autoload(skeleton.progs.on_kernel_function, options.kernel_functions);
  ::bpf_program__set_autoload(skeleton.progs.on_user_function, options.user_functions);
  if (options.uprobe_multi) ::bpf_program__set_expected_attach_type(skeleton.progs.on_user_function, static_cast<bpf_attach_type>(kAttachUprobeMulti));
  if (options.place_fields) ::bpf_map__set_max_entries(skeleton.maps.place_fields, MAX_PLACE_FIELDS);
  if (!options.texts) ::bpf_map__set_max_entries(skeleton.maps.group_texts, 1);
  const bool preemptible = options.user_functions || std::any_of(options.kernel_places.begin(), options.kernel_places.end(), is_function_of_kernel);
  settings.places_per_cpu = preemptible ? 2 : 1;
  if (!preemptible) ::bpf_map__set_max_entries(skeleton.maps.scratch, ::bpf_map__max_entries(skeleton.maps.scratch) - PREEMPTIBLE_SLOTS);
  const uint32_t places = settings.places_per_cpu * static_cast<uint32_t>(std::max(1, ::libbpf_num_possible_cpus()));
  if (!options.times_calls) ::bpf_map__set_max_entries(skeleton.maps.calls, 1);
  TRY(impl->prepare_waits(options.waits));
  TRY(impl->prepare_kernel_places(options.kernel_places));
  ::bpf_map__set_max_entries(skeleton.maps.events, options.ring_bytes);
  ::bpf_map__set_max_entries(skeleton.maps.exec_mappings, options.max_mapping_blocks);
  ::bpf_map__set_max_entries(skeleton.maps.frame_caches, places);
  ::bpf_map__set_max_entries(skeleton.maps.request_copies, places);
  if (const int error = cicada_bpf::load(impl->skeleton); error != 0) {
    const auto function = std::find_if(options.kernel_places.begin(), options.kernel_places.end(), is_function_of_kernel);
    // All others were loaded before: it is not a lack of privileges.
    const bool is_place = last_log_lines().find("'on_kernel_place_") != std::string::npos;
    if (error == -EPERM && is_place && function != options.kernel_places.end())
      return make_error(ErrorKind::kUnsupported, "f:, fr: {}: this kernel does not let its functions call programs (it may be locked down: /sys/kernel/security/lockdown); where it has kprobes: k:{}", function->name, function->name);
    return load_error(-error);
  }

  impl->places = TRY(map_array<unwind_place>(skeleton.maps.unwind_places));
  impl->usage = TRY(map_array<uint64_t>(skeleton.maps.usage));
  impl->stack_tags = TRY(map_array<uint64_t>(skeleton.maps.stack_tags));
  impl->spaces = TRY(map_array<address_space_state>(skeleton.maps.address_spaces));
  impl->symbols = TRY(map_array<kernel_symbol_batch>(skeleton.maps.kernel_symbols));
  Impl* raw = impl.get();
  impl->ring = ::ring_buffer__new(
      bpf_map__fd(skeleton.maps.events),
      [](void* context, void* data, size_t size) {
        Impl& self = *static_cast<Impl*>(context);
        (*self.consumer)({static_cast<const uint8_t*>(data), size});
        // A producer that is faster than we are must not keep us here for ever; a negative value ends libbpf's loop.
        return ++self.records % kRecordsPerLook == 0 && monotonic_ns() > self.slice_ends_ns ? -EAGAIN : 0;
      },
      raw, nullptr);
  if (impl->ring == nullptr) return errno_error(errno, "map the ring buffer");
  keep_ring_from_children(options.ring_bytes);
  std::unique_ptr<BpfObject> object(new BpfObject(std::move(impl)));
  for (size_t i = 0; i < options.kernel_places.size(); ++i) object->find_code_of_place(i, options.kernel_places[i]);
  return object;
}

Result<void> BpfObject::attach_ends_of_waits() {
  auto& programs = impl_->skeleton->progs;
  auto& links = impl_->skeleton->links;
  if (!impl_->by_function) {
    links.on_schedule_exit = ::bpf_program__attach(programs.on_schedule_exit);
    if (links.on_schedule_exit == nullptr) return errno_error(errno, "off-cpu: attach to the tracepoint sched_exit_tp");
  } else {
    // As the optimiser may have named its clones.
    for (const char* name : {"finish_task_switch.isra.0", "finish_task_switch", "finish_task_switch.constprop.0"}) {
      if (find_symbol(name) == 0) continue;
      links.on_finish_task_switch = ::bpf_program__attach_kprobe(programs.on_finish_task_switch, false, name);
      if (links.on_finish_task_switch == nullptr) return errno_error(errno, fmt::format("off-cpu: attach a kprobe to {}", name));
      break;
    }
    if (links.on_finish_task_switch == nullptr)
      return make_error(ErrorKind::kUnsupported, "off-cpu: this kernel has neither the tracepoint sched_exit_tp nor a function finish_task_switch (sysctl kernel.kptr_restrict=1 shows it)");
  }
  auto& addresses = *impl_->skeleton->bss;
  addresses.schedule_code = find_function("__schedule");
  addresses.wake_code = find_function("try_to_wake_up");
  addresses.entry_code = {find_symbol("__entry_text_start"), find_symbol("__entry_text_end")};
  if (impl_->skeleton->rodata->wake_event != NO_EVENT && (addresses.entry_code.begin == 0 || addresses.entry_code.end == 0))
    return make_error(ErrorKind::kUnsupported, "wakeups: the kernel does not say where it is entered, so threads and interrupts cannot be told apart (sysctl kernel.kptr_restrict=1 shows it)");
  const char* const of_threads[] = {"entry_SYSCALL_64_after_hwframe", "entry_SYSCALL_compat_after_hwframe", "entry_SYSENTER_compat_after_hwframe",
                                    "entry_INT80_compat", "asm_int80_emulation", "asm_exc_page_fault",
                                    // after an interrupt: signals, the end of the thread, work that was left for it
                                    "irqentry_exit", "irqentry_exit_to_user_mode", "exit_to_user_mode_prepare", "exit_to_user_mode_loop"};
  static_assert(std::size(of_threads) <= MAX_THREAD_CODE);
  for (size_t i = 0; i < std::size(of_threads); ++i) addresses.thread_code[i] = find_function(of_threads[i]);
  return {};
}

// Of a function's program the frames below the function are its own; of a tracepoint's those up to what called it.
void BpfObject::find_code_of_place(size_t index, const BpfObjectOptions::KernelPlace& place) {
  auto& code = impl_->skeleton->bss->place_code[index];
  if (is_function_of_kernel(place)) {
    code[0] = find_function(place.name.c_str());
    return;
  }
  code[0] = find_function(fmt::format("bpf_trace_run{}", place.arguments).c_str());
  code[1] = find_function(("__traceiter_" + place.name).c_str());
}

code_range BpfObject::find_function(const char* name) {
  const uint64_t address = find_symbol(name);
  if (address == 0) return {};
  const std::string text = resolve({&address, 1}).front();  // "__schedule+0x0/0x9a0"
  unsigned long long bytes = 0;
  if (const size_t slash = text.rfind('/'); slash != std::string::npos) std::sscanf(text.c_str() + slash, "/%llx", &bytes);
  return {address, address + bytes};
}

Result<void> BpfObject::attach_waits() {
  auto& links = impl_->skeleton->links;
  links.on_switch = ::bpf_program__attach(impl_->skeleton->progs.on_switch);
  if (links.on_switch == nullptr) return errno_error(errno, "off-cpu: attach to the tracepoint sched_switch");
  if (impl_->skeleton->rodata->wake_event != NO_EVENT) {
    links.on_waking = ::bpf_program__attach(impl_->skeleton->progs.on_waking);
    if (links.on_waking == nullptr) return errno_error(errno, "wakeups: attach to the tracepoint sched_waking");
  }
  count_waits_from_now();
  return {};
}

// No wait begins or ends any more; one that has just ended is still taken.
void BpfObject::detach_waits() {
  auto& links = impl_->skeleton->links;
  for (bpf_link** link : {&links.on_waking, &links.on_switch, &links.on_schedule_exit, &links.on_finish_task_switch}) ::bpf_link__destroy(std::exchange(*link, nullptr));
}

void BpfObject::count_waits_from_now() { std::atomic_ref(impl_->skeleton->bss->counted_since_ns).store(monotonic_ns()); }
void BpfObject::count_waits_until_now() { std::atomic_ref(impl_->skeleton->data->counted_until_ns).store(monotonic_ns()); }

Result<UniqueFd> BpfObject::look_at_threads(blocked_mode mode) {
  impl_->skeleton->bss->blocked_mode = mode;
  return begin_look(impl_->skeleton->progs.on_each_task, impl_->skeleton->links.on_each_task);
}

Result<void> BpfObject::attach_ends_of_threads() {
  auto& programs = impl_->skeleton->progs;
  auto& links = impl_->skeleton->links;
  const std::pair<bpf_program*, bpf_link**> ends[] = {{programs.on_thread_free, &links.on_thread_free}, {programs.on_thread_exit, &links.on_thread_exit}};
  for (const auto& [program, link] : ends) {
    if (*link == nullptr) *link = ::bpf_program__attach(program);
    if (*link == nullptr) return errno_error(errno, fmt::format("off-cpu: attach BPF program {}", bpf_program__name(program)));
  }
  return {};
}

void BpfObject::detach_ends_of_threads() {
  auto& links = impl_->skeleton->links;
  for (bpf_link** link : {&links.on_thread_exit, &links.on_thread_free}) ::bpf_link__destroy(std::exchange(*link, nullptr));
}

Result<UniqueFd> BpfObject::look_at_thread_times() {
  return begin_look(impl_->skeleton->progs.on_each_thread_time, impl_->skeleton->links.on_each_thread_time);
}

Result<void> BpfObject::attach_lifecycle() {
  auto& programs = impl_->skeleton->progs;
  auto& links = impl_->skeleton->links;
  const std::pair<bpf_program*, bpf_link**> all[] = {
      {programs.on_fork, &links.on_fork}, {programs.on_exec, &links.on_exec}, {programs.on_exit, &links.on_exit}, {programs.on_free, &links.on_free}};
  for (const auto& [program, link] : all) {
    *link = ::bpf_program__attach(program);
    if (*link == nullptr) return errno_error(errno, fmt::format("attach BPF program {}", bpf_program__name(program)));
  }
  return {};
}

int BpfObject::sampling_program_fd() const { return bpf_program__fd(impl_->skeleton->progs.on_perf_event); }
int BpfObject::tracepoint_program_fd() const { return bpf_program__fd(impl_->skeleton->progs.on_tracepoint); }
int BpfObject::user_function_program_fd() const { return bpf_program__fd(impl_->skeleton->progs.on_user_function); }
int BpfObject::kernel_function_program_fd() const { return bpf_program__fd(impl_->skeleton->progs.on_kernel_function); }
std::vector<int> BpfObject::kernel_place_program_fds() const {
  std::vector<int> fds;
  for (size_t i = 0; i < impl_->placed; ++i) fds.push_back(bpf_program__fd(impl_->place_programs()[i]));
  return fds;
}
uint64_t BpfObject::skipped_by(int program_fd) {
  bpf_prog_info info{};
  uint32_t size = sizeof info;
  return program_fd >= 0 && ::bpf_obj_get_info_by_fd(program_fd, &info, &size) == 0 ? info.recursion_misses : 0;
}
int BpfObject::processes_fd() const { return bpf_map__fd(impl_->skeleton->maps.processes); }
int BpfObject::mappings_fd() const { return bpf_map__fd(impl_->skeleton->maps.exec_mappings); }
int BpfObject::slabs_fd() const { return bpf_map__fd(impl_->skeleton->maps.unwind_slabs); }
std::span<unwind_place> BpfObject::places() const { return impl_->places.values; }
void BpfObject::forget_sent_stacks() {
  for (uint64_t& tag : impl_->stack_tags.values) std::atomic_ref(tag).store(0, std::memory_order_relaxed);
}
std::span<const uint64_t> BpfObject::image_usage() const { return impl_->usage.values; }
void BpfObject::forget_frames(uint32_t address_space) {
  const auto spaces = address_spaces();
  std::atomic_ref(spaces[address_space % spaces.size()].generation).fetch_add(1, std::memory_order_release);
}

void BpfObject::set_java_code(uint32_t address_space, const java_code* code) {
  const int fd = bpf_map__fd(impl_->skeleton->maps.java_codes);
  if (code == nullptr)
    ::bpf_map_delete_elem(fd, &address_space);
  else
    ::bpf_map_update_elem(fd, &address_space, code, BPF_ANY);
}
void BpfObject::set_machine_rule(uint32_t address_space, const unwind_rule& rule) {
  ::bpf_map_update_elem(bpf_map__fd(impl_->skeleton->maps.machine_rules), &address_space, &rule, BPF_ANY);
}
std::span<address_space_state> BpfObject::address_spaces() const { return impl_->spaces.values; }
volatile uint32_t* BpfObject::eviction_epoch() const { return &impl_->skeleton->bss->eviction_epoch; }

void BpfObject::set_sampling_wanted(bool wanted) {
  std::atomic_ref(const_cast<uint32_t&>(impl_->skeleton->data->sampling_wanted)).store(wanted ? 1 : 0);
}

Result<void> BpfObject::set_place_fields(uint32_t index, const event_fields& fields) {
  if (::bpf_map_update_elem(bpf_map__fd(impl_->skeleton->maps.place_fields), &index, &fields, BPF_ANY) == 0) return {};
  return errno_error(errno, "tell the kernel side where arguments are");
}

void BpfObject::walk_calls(const std::function<void(std::span<const call_key>)>& take) const {
  std::vector<call_key> keys(kCallsAtOnce);
  std::vector<call_begin> begins(kCallsAtOnce);
  uint64_t place = 0;
  void* from = nullptr;
  for (int failed = 0; failed == 0; from = &place) {
    auto count = static_cast<uint32_t>(kCallsAtOnce);
    failed = ::bpf_map_lookup_batch(bpf_map__fd(impl_->skeleton->maps.calls), from, &place, keys.data(), begins.data(), &count, nullptr);
    if (failed != 0 && errno != ENOENT) return;
    take(std::span(keys).first(count));
  }
}

BpfObject::CallsByEvent BpfObject::count_calls() const {
  CallsByEvent calls{};
  walk_calls([&](std::span<const call_key> keys) {
    for (const call_key& key : keys) ++calls[call_event(&key) % MAX_EVENTS];
  });
  return calls;
}

BpfObject::CallsByEvent BpfObject::remove_calls_of_ended_processes() {
  CallsByEvent removed{};
  std::unordered_map<uint32_t, bool> ended;
  walk_calls([&](std::span<const call_key> keys) {
    for (const call_key& key : keys) {
      const auto [known, is_new] = ended.try_emplace(key.pid, false);
      if (is_new) known->second = key.pid != 0 && ::kill(static_cast<pid_t>(key.pid), 0) != 0 && errno == ESRCH;
      if (known->second && ::bpf_map_delete_elem(bpf_map__fd(impl_->skeleton->maps.calls), &key) == 0) ++removed[call_event(&key) % MAX_EVENTS];
    }
  });
  return removed;
}

Result<void> BpfObject::add_target_thread(Tid tid) {
  const uint32_t one = 1;
  if (::bpf_map_update_elem(bpf_map__fd(impl_->skeleton->maps.target_tids), &tid, &one, BPF_ANY) == 0) return {};
  return errno_error(errno, fmt::format("make thread {} known to the kernel side", tid));
}

bool BpfObject::add_flag(Pid pid, process_flags flag) {
  process_value value{};
  const auto key = static_cast<uint32_t>(pid);
  if (::bpf_map_lookup_elem(processes_fd(), &key, &value) != 0) return false;
  value.flags |= flag;
  return ::bpf_map_update_elem(processes_fd(), &key, &value, BPF_EXIST) == 0;
}

Result<void> BpfObject::sample_from_exec(Pid pid) {
  if (!add_flag(pid, PROCESS_BEFORE_EXEC)) return errno_error(errno, fmt::format("leave out process {} until its exec", pid));
  return {};
}

void BpfObject::leave_out_of_probes(Pid pid) { add_flag(pid, PROCESS_OWN); }

uint32_t BpfObject::allocate_address_space() {
  return std::atomic_ref(impl_->skeleton->data->next_address_space).fetch_add(1, std::memory_order_relaxed);
}

bool BpfObject::update_process(process_update update) {
  const std::lock_guard lock(impl_->update_mutex);
  // A syscall program's context is copied back to where it came from; with a ctx_out the kernel refuses the call.
  LIBBPF_OPTS(bpf_test_run_opts, options, .ctx_in = &update, .ctx_size_in = sizeof update);
  const int failed = ::bpf_prog_test_run_opts(bpf_program__fd(impl_->skeleton->progs.update_process), &options);
  if (failed != 0) diagnostics().warn("process table", "processes that fork and then map stay with their parent's mappings: {}", errno_error(errno, "run update_process").message());
  return failed == 0 && update.done != 0;
}

void BpfObject::read_map_versions(map_version_batch& batch) {
  const std::lock_guard lock(impl_->update_mutex);
  LIBBPF_OPTS(bpf_test_run_opts, options, .ctx_in = &batch, .ctx_size_in = sizeof batch);
  if (::bpf_prog_test_run_opts(bpf_program__fd(impl_->skeleton->progs.read_map_versions), &options) == 0) return;
  for (map_version_query& query : batch.queries) query.version = 0;
}

bool BpfObject::consume(const Consumer& consumer, int timeout_ms, std::span<const int> wake_fds) {
  impl_->consumer = &consumer;
  const uint64_t waits_until_ns = monotonic_ns() + static_cast<uint64_t>(timeout_ms) * 1'000'000;
  impl_->slice_ends_ns = waits_until_ns + kSliceNs;
  // No wakeup per sample: the ring wakes us only when it fills, so what is there is taken after the wait as well.
  if (timeout_ms > 0) {
    const std::atomic_ref waits(impl_->skeleton->bss->reader_waits_until_ns);
    std::vector<pollfd> polled = {{::ring_buffer__epoll_fd(impl_->ring), POLLIN, 0}};
    for (const int fd : wake_fds) polled.push_back({fd, POLLIN, 0});
    waits.store(waits_until_ns);
    // Who looked before that store woke nobody.
    const bool something_came = std::atomic_ref(impl_->skeleton->bss->urgent_begun).load() != impl_->urgent_consumed;
    ::poll(polled.data(), polled.size(), something_came ? 0 : timeout_ms);
    waits.store(0);
  }
  impl_->urgent_consumed = std::atomic_ref(impl_->skeleton->bss->urgent_done).load();
  return ::ring_buffer__consume(impl_->ring) != -EAGAIN;
}

std::vector<CpuCounters> BpfObject::counters(uint32_t event) const {
  const int cpus = ::libbpf_num_possible_cpus();
  if (cpus <= 0) return {};
  constexpr size_t kStride = (sizeof(event_counters) + 7) / 8;
  std::vector<uint64_t> raw(kStride * static_cast<size_t>(cpus));
  if (::bpf_map_lookup_elem(bpf_map__fd(impl_->skeleton->maps.counters), &event, raw.data()) != 0) return {};
  std::vector<CpuCounters> out(static_cast<size_t>(cpus));
  for (size_t cpu = 0; cpu < out.size(); ++cpu) {
    event_counters values{};
    std::memcpy(&values, raw.data() + cpu * kStride, sizeof values);
    out[cpu].cpu = static_cast<int>(cpu);
    std::copy(std::begin(values.counter), std::end(values.counter), out[cpu].counts.begin());
    out[cpu].value_sum = values.value_sum;
  }
  return out;
}

uint64_t BpfObject::find_symbol(const char* name) {
  const std::lock_guard lock(impl_->update_mutex);
  kernel_symbol_batch& batch = impl_->symbols.values[0];
  std::snprintf(batch.text[0], KERNEL_SYMBOL_BYTES, "%s", name);
  batch.addresses[0] = 0;
  LIBBPF_OPTS(bpf_test_run_opts, options);
  return ::bpf_prog_test_run_opts(bpf_program__fd(impl_->skeleton->progs.find_kernel_symbol), &options) == 0 ? batch.addresses[0] : 0;
}

std::vector<std::string> BpfObject::resolve(std::span<const uint64_t> kernel_addresses) {
  const std::lock_guard lock(impl_->update_mutex);
  std::vector<std::string> names;
  names.reserve(kernel_addresses.size());
  kernel_symbol_batch& batch = impl_->symbols.values[0];
  for (size_t done = 0; done < kernel_addresses.size(); done += KERNEL_SYMBOL_BATCH) {
    const size_t count = std::min<size_t>(KERNEL_SYMBOL_BATCH, kernel_addresses.size() - done);
    std::copy_n(kernel_addresses.begin() + static_cast<ptrdiff_t>(done), count, batch.addresses);
    batch.count = count;
    LIBBPF_OPTS(bpf_test_run_opts, options);
    const int failed = ::bpf_prog_test_run_opts(bpf_program__fd(impl_->skeleton->progs.resolve_kernel_symbols), &options);
    for (size_t i = 0; i < count; ++i) {
      names.emplace_back(failed != 0 ? "" : std::string(batch.text[i], ::strnlen(batch.text[i], KERNEL_SYMBOL_BYTES)));
    }
  }
  return names;
}

}  // namespace cicada::bpf_source
