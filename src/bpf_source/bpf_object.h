// SPDX-License-Identifier: Apache-2.0
// The loaded BPF object: its settings, programs, maps and counters. Nothing outside this file pair sees the skeleton.
//
// Owns programs and maps; destruction detaches and frees everything. Threads: load on one, the accessors on any; consume() on the
// drain thread only.
#pragma once
#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "abi/call.h"
#include "abi/counters.h"
#include "abi/java_code.h"
#include "abi/event_fields.h"
#include "abi/map_version.h"
#include "abi/mapping.h"
#include "abi/process_update.h"
#include "abi/settings.h"
#include "abi/unwind_table.h"
#include "base/process_key.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "bpf_source/sampling_config.h"

namespace cicada::bpf_source {

// Whether this kernel has the tracepoint where waits are taken; if not, it needs kprobes for them.
bool can_take_waits_by_tracepoint();

// Of the event that is the time threads wait (bpf/waiting.bpf.c).
struct WaitOptions {
  uint32_t event = 0;      // its index
  uint64_t period_ns = 0;  // waits as long as that are all kept
  uint64_t min_ns = 0, max_ns = ~uint64_t{0};  // others are left out
  bool kernel_threads = false;
  uint32_t wake_event = NO_EVENT;  // the index of that which tells who ended them
};

struct BpfObjectOptions {
  TargetKind targets = TargetKind::kMachine;
  bool kernel_frames = true, user_frames = true;
  bool include_idle = false;
  std::optional<WaitOptions> waits = {};
  bool tracepoints = false, user_functions = false, kernel_functions = false;  // some are sampled
  struct KernelPlace {
    uint32_t event = 0, hits = 1;   // as struct kernel_place
    std::string name;               // of a function or tracepoint
    uint64_t attach_type = 0;       // enum bpf_attach_type: BPF_TRACE_FENTRY, …_FEXIT, …_RAW_TP
    size_t arguments = 0;           // of a tracepoint
  };
  std::vector<KernelPlace> kernel_places = {};  // MAX_KERNEL_PLACES at most
  bool times_calls = false;               // of some of these functions (bpf/calls.bpf.h)
  bool uprobe_multi = false;              // uprobe_links.h
  bool place_fields = false;              // some places have fields of their own
  bool texts = false;                     // some hits are grouped by texts
  std::vector<event_fields> fields = {};  // what is asked of their numbers, by event; MAX_EVENTS at most
  std::vector<int> cpus = {};  // only waits that end there, and tracepoints that are passed there; empty: all
  asked_tasks asked = {};
  unwind_mode unwind = UNWIND_AUTO;
  uint32_t ring_bytes = 16 << 20;           // a power of two
  uint32_t max_mapping_blocks = 256 << 10;  // of the LPM trie, allocated as used
  uint32_t deferred_kib_per_second = 64 << 10;  // of stack copies, and CPU; each counts as 16 KiB more than it has
};

// One CPU's counters of one event, as the programs keep them.
struct CpuCounters {
  int cpu = 0;
  std::array<uint64_t, COUNTER_COUNT> counts{};
  uint64_t value_sum = 0;  // of the samples that reached the program
};

class BpfObject {
 public:
  // Fails: kPermission (which capability), kUnsupported (kernel too old, no BTF), or the verifier's last words.
  static Result<std::unique_ptr<BpfObject>> load(const BpfObjectOptions& options);
  ~BpfObject();
  BpfObject(const BpfObject&) = delete;
  BpfObject& operator=(const BpfObject&) = delete;

  // Of options.waits. First what takes them where they end, which can take long; then, from now on they are seen, or no longer.
  Result<void> attach_ends_of_waits();
  Result<void> attach_waits();
  void detach_waits();
  // Waits are counted from now on, or until now; what was waited before or after is left out.
  void count_waits_from_now();
  void count_waits_until_now();
  // A look at the threads that do not run (bpf/blocked.bpf.c): each read() of one struct blocked_thread gives the next, where the mode is to take
  // them; 0 at the end. While waits are attached.
  Result<UniqueFd> look_at_threads(blocked_mode mode);
  // How long threads ran (struct thread_time). From now on, or no longer, the ring tells of those that end.
  Result<void> attach_ends_of_threads();
  void detach_ends_of_threads();
  // Each read() gives one of those that live; 0 at the end.
  Result<UniqueFd> look_at_thread_times();
  // Lifecycle programs: from now on forks, execs and exits are followed.
  Result<void> attach_lifecycle();

  int sampling_program_fd() const;
  // Negative: nothing of that kind is sampled.
  int tracepoint_program_fd() const;
  int user_function_program_fd() const;
  int kernel_function_program_fd() const;
  std::vector<int> kernel_place_program_fds() const;  // of options.kernel_places, in order
  // Hits of tracepoints, or of functions, for which the kernel did not run the program. Kernels before 6.7 do not count them.
  static uint64_t skipped_by(int program_fd);
  int processes_fd() const;
  int mappings_fd() const;
  int slabs_fd() const;
  std::span<unwind_place> places() const;
  std::span<const uint64_t> image_usage() const;  // last-sampled time, ns, by image id modulo its size
  std::span<address_space_state> address_spaces() const;  // by id modulo its size
  volatile uint32_t* eviction_epoch() const;
  // Frames of it that are cached are looked up anew. Threads: any.
  void forget_frames(uint32_t address_space);
  // Null: it has none (any more). Where there is no room for it, its code is walked by frame pointer.
  void set_java_code(uint32_t address_space, const java_code* code);
  // Of all code that a machine in it has generated.
  void set_machine_rule(uint32_t address_space, const unwind_rule& rule);
  // False: the sampling program, should it run, takes no sample. Threads: any.
  void set_sampling_wanted(bool wanted);

  // What is asked of the numbers of places with that index in their cookie, before they are attached; less than MAX_PLACE_FIELDS. Of options.place_fields. Threads: any.
  Result<void> set_place_fields(uint32_t index, const event_fields& fields);
  // Of timed functions: calls that have begun and not returned, by event.
  using CallsByEvent = std::array<uint64_t, MAX_EVENTS>;
  CallsByEvent count_calls() const;
  // Takes those of processes away that have ended; returns how many.
  CallsByEvent remove_calls_of_ended_processes();

  Result<void> add_target_thread(Tid tid);
  // Of a process that is known to the kernel side and does not run: its samples are not wanted before its next exec.
  Result<void> sample_from_exec(Pid pid);
  // A process of this recording: probes do not see it, nor what it forks, but what that execs.
  void leave_out_of_probes(Pid pid);
  uint32_t allocate_address_space();
  // Every stack is sent again with its next sample.
  void forget_sent_stacks();
  // Compare and swap of a process' address space, inside the kernel. False: it was another one, or the process is unknown.
  bool update_process(process_update update);
  void read_map_versions(map_version_batch& batch);

  // Waits up to `timeout_ms` or until one of `wake_fds` is readable, then hands over the records in the ring. Records are valid during
  // the call. False: there is more, but the time slice is over and somebody else should have a look.
  using Consumer = std::function<void(std::span<const uint8_t> record)>;
  bool consume(const Consumer& consumer, int timeout_ms, std::span<const int> wake_fds);
  // Of one event; what belongs to none is in those of event 0.
  std::vector<CpuCounters> counters(uint32_t event) const;

  // "name+0x12/0x34 [module]" of each address, by the kernel itself; empty where the kernel cannot say.
  std::vector<std::string> resolve(std::span<const uint64_t> kernel_addresses);

  // 0: the kernel has no function of that name, or does not say where (kernel.kptr_restrict).
  uint64_t find_symbol(const char* name);

 private:
  struct Impl;
  explicit BpfObject(std::unique_ptr<Impl> impl);
  code_range find_function(const char* name);
  void find_code_of_place(size_t index, const BpfObjectOptions::KernelPlace& place);
  // Keys of `calls`, some at a time.
  void walk_calls(const std::function<void(std::span<const call_key>)>& take) const;
  bool add_flag(Pid pid, process_flags flag);  // of one that is known to the kernel side, and does not exec meanwhile
  std::unique_ptr<Impl> impl_;
};

}  // namespace cicada::bpf_source
