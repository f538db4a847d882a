// SPDX-License-Identifier: Apache-2.0
#include "bpf_source/bpf_source.h"

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <mutex>
#include <thread>

#include "abi/event_cookie.h"
#include "base/diagnostics.h"
#include "base/latency_histogram.h"
#include "base/monotonic_clock.h"
#include "base/parallel.h"
#include "base/scoped_short_slice.h"
#include "bpf_source/ambiguous_events.h"
#include "bpf_source/blocked_threads.h"
#include "bpf_source/bpf_kernel_names.h"
#include "bpf_source/bpf_mappings.h"
#include "bpf_source/function_probes.h"
#include "bpf_source/machine_rules.h"
#include "bpf_source/own_processes.h"
#include "bpf_source/privileges.h"
#include "bpf_source/sample_accounting.h"
#include "bpf_source/table_loader.h"
#include "bpf_source/target_time.h"
#include "bpf_source/uprobe_links.h"
#include "ingest/batching.h"
#include "ingest/record_pipeline.h"
#include "process/procfs/proc_fs.h"
#include "process/procfs/proc_readers.h"
#include "profile/cpu_time.h"

namespace cicada::bpf_source {
namespace {

constexpr uint64_t kCycleNs = 1'000'000'000;
// perf's rings wake nobody until they are a quarter full: a wakeup for each record (ten for a dynamic program) costs who maps more than
// the record. After an exec, fork or exit the tracker looks at them each millisecond: that is when programs map.
constexpr uint32_t kWakeupBytes = 64 << 10;
// A first look at the targets' mappings before sampling starts; what is not done by then is done while sampling.
constexpr int kFirstScanMs = 500;
constexpr int kLastSyncMs = 1000;
constexpr auto kFreeing = std::chrono::milliseconds(5);
constexpr uint64_t kMostFreeingNs = 500'000'000;
constexpr long kStormDrainNs = 8'000'000;
constexpr double kWarnUnsampled = 0.02;
constexpr int kSoonMs = 2, kFollowUpPolls = 2;

std::string quantiles(const LatencyHistogram& latency) {
  if (latency.count() == 0) return "";
  const auto us = [&](double quantile) { return static_cast<double>(latency.quantile_ns(quantile)) * 1e-3; };
  return fmt::format(" (median {:.0f} us, 90 % {:.0f} us, 99 % {:.0f} us)", us(0.5), us(0.9), us(0.99));
}

// Pids in the kernel's records are those of the initial namespace; elsewhere they would be read as other processes.
Result<void> check_visibility() {
  const process::ProcVisibility seen = process::proc_visibility();
  if (!seen.mounted) return make_error(ErrorKind::kUnsupported, "/proc: not mounted; mount -t proc proc /proc");
  if (!seen.initial_pid_namespace) {
    return make_error(ErrorKind::kUnsupported, "this is a pid namespace of its own (a container): {}", kPidNamespaceRemedy);
  }
  if (seen.hidepid != 0 && !seen.others_visible) {
    diagnostics().warn("/proc", "mounted with hidepid={}: programs that run already stay unnamed; CAP_SYS_PTRACE or mount -o remount,hidepid=0 /proc helps",
                       seen.hidepid);
  }
  return {};
}

profile::Unit unit_of(const PerfEvents::Event& event) {
  switch (event.type.kind) {
    case EventKind::kCounter: return profile::Unit::kEvents;
    case EventKind::kTracepoint:
    case EventKind::kUserFunction:
    case EventKind::kKernelFunction:
    case EventKind::kKernelPlace: return event.unit;
    case EventKind::kWait:
    case EventKind::kWake: return profile::Unit::kNanoseconds;
    case EventKind::kTimer:
    case EventKind::kClock: break;
  }
  return profile::Unit::kSamples;
}

profile::Spent spent_of(EventKind kind) {
  if (kind == EventKind::kWait) return profile::Spent::kWaiting;
  return kind == EventKind::kWake ? profile::Spent::kOthersWaiting : profile::Spent::kRunning;
}

// Nothing: no event is the time that threads wait.
std::optional<WaitOptions> wait_options(const SamplingConfig& config, std::span<const PerfEvents::Event> events) {
  const auto find = [&](EventKind kind) { return std::find_if(events.begin(), events.end(), [&](const PerfEvents::Event& event) { return event.type.kind == kind; }); };
  const auto waits = find(EventKind::kWait), wakes = find(EventKind::kWake);
  if (waits == events.end()) return std::nullopt;
  return WaitOptions{static_cast<uint32_t>(waits - events.begin()), waits->period, config.min_wait_ns, config.max_wait_ns, config.kernel_thread_waits,
                     wakes == events.end() ? NO_EVENT : static_cast<uint32_t>(wakes - events.begin())};
}

bool is_any_probe(std::span<const PerfEvents::Event> events) {
  return std::any_of(events.begin(), events.end(), [](const PerfEvents::Event& event) { return is_probe(event.type.kind); });
}

bool asks_for_numbers(const event_fields& fields) { return fields.filters != 0 || fields.value.bytes != 0 || fields.group.bytes != 0; }

bool asks_for_registers(const event_fields& fields) {
  const auto is_register = [](const event_field& field) { return field.bytes != 0 && field.kind == FIELD_OF_RECORD; };
  return is_register(fields.value) || is_register(fields.group) || std::any_of(fields.filter, fields.filter + fields.filters, [&](const field_filter& one) { return is_register(one.field); });
}

// Places have their own (function_finder.h): what is asked of arguments of USDT probes, and of arguments by name.
bool has_fields_by_place(const PerfEvents::Event& event) { return event.place.is_usdt || !event.arguments.empty(); }

std::vector<FunctionProbes::Event> function_events(std::span<const PerfEvents::Event> events) {
  std::vector<FunctionProbes::Event> functions;
  for (size_t i = 0; i < events.size(); ++i) {
    const PerfEvents::Event& event = events[i];
    if (event.type.kind != EventKind::kUserFunction) continue;
    const bool needs_arguments = !event.place.at_return && !event.place.is_usdt && asks_for_registers(event.fields);
    FunctionPlace place = event.place;
    if (place.image.find('/') != std::string::npos) place.image = std::filesystem::absolute(place.image).lexically_normal();
    functions.push_back({{event.type.name, std::move(place), needs_arguments, event.times_calls, event.fields, event.arguments}, event_cookie(static_cast<uint32_t>(i), static_cast<uint32_t>(event.period))});
  }
  return functions;
}

// Publishes like BpfMappings, and tells who wants to know of what is published: tables of targets are compiled before they are missed (for the whole machine
// when a sample first needs them), language machines have rules for the code that they generate, Java's are asked where that is, and functions are looked for.
class ObservedPublisher final : public BpfMappings {
 public:
  ObservedPublisher(BpfObject& kernel, TableLoader& loader, bool eager, const process::ImageRegistry& images, ingest::JavaMachines& java, MachineRules& machines,
                    FunctionProbes* functions)
      : BpfMappings(kernel), loader_(loader), eager_(eager), images_(images), java_(java), machines_(machines), functions_(functions) {}
  process::PublishOutcome publish(uint32_t address_space, std::span<const process::BlockOperation> operations) override {
    for (const auto& op : operations) {
      if (op.change == process::BlockChange::kDelete || op.value.image == 0) continue;
      if (eager_) loader_.request(op.value.image);
      if (functions_ != nullptr) functions_->note_image(op.value.image);
      machines_.note_mapping(address_space, op.value.image);
      if (is_java(op.value.image)) java_.note_library(address_space, RuntimeAddr(op.value.bias));
    }
    return BpfMappings::publish(address_space, operations);
  }

 private:
  bool is_java(uint32_t image) {
    const auto [at, is_new] = is_java_.try_emplace(image, false);
    if (is_new) {
      const auto found = images_.find(image);
      at->second = found && found->path.ends_with("/libjvm.so");
    }
    return at->second;
  }

  TableLoader& loader_;
  const bool eager_;
  const process::ImageRegistry& images_;
  ingest::JavaMachines& java_;
  MachineRules& machines_;
  FunctionProbes* const functions_;  // null: none is probed
  std::unordered_map<uint32_t, bool> is_java_;  // by image
};

}  // namespace

// Order matters: what is below borrows what is above, and threads end before what they use.
struct BpfSource::Parts {
  ~Parts() {
    if (java) java->stop();  // both ask the tracker
    if (machines) machines->stop();
  }

  SamplingConfig config;
  // First: these hold nothing of what is opened later.
  std::shared_ptr<process::ProcReaders> proc_readers = std::make_shared<process::ProcReaders>(process::ProcReaders::Options{});
  std::unique_ptr<BpfObject> kernel;
  std::unique_ptr<process::ImageRegistry> images;
  std::unique_ptr<ingest::ImageUnwinders> unwinders;
  std::unique_ptr<TableStore> store;
  std::unique_ptr<MachineRules> machines;
  std::unique_ptr<TableLoader> loader;
  std::unique_ptr<ingest::JavaMachines> java;
  std::unique_ptr<FunctionProbes> functions;  // null: none is probed
  std::unique_ptr<ObservedPublisher> mappings;
  ingest::JitRecorder jit_recorder{proc_readers};  // the tracker tells it of exits
  std::shared_ptr<process::ProcessMetadataCache> metadata;
  std::unique_ptr<ingest::MetadataReader> metadata_reader;  // the tracker tells it of execs
  std::unique_ptr<ingest::Tracker> tracker;
  std::mutex pause_mutex;  // of events, once started
  std::optional<PerfEvents> events;
  bool samples_waits = false, paused = false;
  bool times_calls = false;
  BpfObject::CallsByEvent gone_calls{};  // with their processes
  bool accounts_threads = false;  // how long they ran
  std::optional<TargetTime> target_time;
  std::unique_ptr<ingest::RecordPipeline> pipeline;
  std::vector<UniqueFd> target_fds;  // pidfds
  uint64_t opened_ns = monotonic_ns(), sampling_ns = 0;
  uint64_t next_cycle_ns = 0;
  ingest::Pace pace{kStormDrainNs};
  int follow_up_polls = 0;
  std::optional<ScopedShortSlice> prompt;  // the loop, from start to stop
  LatencyHistogram drain_gaps;  // from one look at the ring to the next
  uint64_t last_drain_ns = 0;
  uint64_t emptied_ns = 0;                                // the last look that left nothing in the ring
  uint64_t generation_began_ns = 0, forgotten_ns = 0;     // of a compaction under way
  uint64_t looks_in_generation = 0;

  // Until the targets' mappings are published, and their tables and Java machines known: two looks that find nothing new, kFirstScanMs at most.
  void wait_for_tables() const {
    const uint64_t deadline = monotonic_ns() + uint64_t{kFirstScanMs} * 1'000'000;
    uint64_t before = ~uint64_t{0};
    while (monotonic_ns() < deadline) {
      tracker->sync(kFirstScanMs);
      const uint64_t requested = loader->requested();
      const bool idle = tracker->caught_up_ns() != 0 && loader->idle() && java->is_settled();
      if (idle && requested == before) return;
      before = idle ? requested : ~uint64_t{0};
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
  }
  // Until all that is mapped is known.
  void wait_for_first_scan() const {
    const uint64_t deadline = monotonic_ns() + uint64_t{kFirstScanMs} * 1'000'000;
    while (monotonic_ns() < deadline && tracker->caught_up_ns() == 0) tracker->sync(kFirstScanMs);
  }
  // By event.
  std::vector<std::vector<CpuCount>> count_fired() const {
    std::vector<std::vector<CpuCount>> fired;
    for (size_t i = 0; i < events->events().size(); ++i) fired.push_back(events->counts(i));
    return fired;
  }
  std::vector<std::vector<CpuCounters>> count_outcomes() const {
    std::vector<std::vector<CpuCounters>> outcomes;
    for (size_t i = 0; i < events->events().size(); ++i) outcomes.push_back(kernel->counters(static_cast<uint32_t>(i)));
    return outcomes;
  }
  // Of each event that times calls. Those under way are found where nothing begins or returns any more; until then they are what is missing.
  std::vector<std::optional<OpenCalls>> open_calls(const std::vector<std::vector<CpuCounters>>& outcomes, bool at_end) const {
    const BpfObject::CallsByEvent found = times_calls && at_end ? kernel->count_calls() : BpfObject::CallsByEvent{};
    std::vector<std::optional<OpenCalls>> calls(outcomes.size());
    for (size_t i = 0; i < outcomes.size(); ++i) {
      if (!events->events()[i].times_calls) continue;
      const uint64_t missing = calls_without_outcome(outcomes[i]);
      calls[i] = {at_end ? found[i] : missing - std::min(missing, gone_calls[i]), gone_calls[i], at_end};
    }
    return calls;
  }
  // Once a second: a table that fills is freed of what nobody will return from.
  void tidy_calls(const std::vector<std::vector<CpuCounters>>& outcomes) {
    uint64_t all = 0;
    for (const auto& calls : open_calls(outcomes, false)) all += calls ? calls->under_way : 0;
    if (all <= MAX_CALLS / 2) return;
    const BpfObject::CallsByEvent gone = kernel->remove_calls_of_ended_processes();
    for (size_t i = 0; i < gone.size(); ++i) gone_calls[i] += gone[i];
  }
  void account(profile::Profile& profile, const std::vector<std::vector<CpuCount>>& fired, const std::vector<std::vector<CpuCounters>>& outcomes, bool at_end) const {
    const auto calls = open_calls(outcomes, at_end);
    // Of all events of a kind together: the first has it.
    uint64_t tracepoints = BpfObject::skipped_by(kernel->tracepoint_program_fd()), of_kernel = BpfObject::skipped_by(kernel->kernel_function_program_fd());
    for (size_t i = 0; i < fired.size(); ++i) {
      const PerfEvents::Event& event = events->events()[i];
      const int own_program = events->program_of_place(i);
      const uint64_t skipped = own_program >= 0 ? BpfObject::skipped_by(own_program) : event.type.kind == EventKind::kTracepoint ? std::exchange(tracepoints, 0) : event.type.kind == EventKind::kKernelFunction ? std::exchange(of_kernel, 0) : 0;
      fill_account(profile.header.events[i], {fired[i], event, !config.include_idle, skipped, calls[i]}, outcomes[i], pipeline->assembler().counts(static_cast<uint8_t>(i)));
    }
  }
  // Some event has as many samples as were asked for.
  bool has_enough() const {
    const auto all = events->events();
    for (size_t i = 0; i < all.size(); ++i)
      if (all[i].stop_after != 0 && pipeline->assembler().counts(static_cast<uint8_t>(i)).samples >= all[i].stop_after) return true;
    return false;
  }
  // Of records that come another way.
  std::function<void(std::span<const uint8_t> record)> taker() {
    return [this](std::span<const uint8_t> record) { pipeline->take(record, monotonic_ns()); };
  }
  // Threads that ended last: the kernel frees them, and tells of it, some 20 ms later, on a busy machine more (bpf/thread_times.bpf.c).
  void wait_for_freed_threads() {
    const uint64_t until_ns = monotonic_ns() + kMostFreeingNs;
    for (;;) {
      while (!kernel->consume(taker(), 0, {})) {
      }
      if (pipeline->settle_thread_times() || monotonic_ns() > until_ns) return;
      std::this_thread::sleep_for(kFreeing);
    }
  }
  void drain_ring() {
    while (!look(0)) {
    }
  }
  // One look at the ring. False: there is more.
  bool look(int timeout_ms, std::span<const int> wake_fds = {}) {
    const uint64_t looked_ns = monotonic_ns();
    if (last_drain_ns != 0) drain_gaps.add(looked_ns - last_drain_ns);
    last_drain_ns = looked_ns;
    const bool emptied = kernel->consume(taker(), timeout_ms, wake_fds);
    pipeline->end_batch(looked_ns, emptied);
    if (emptied) emptied_ns = looked_ns;
    ++looks_in_generation;
    return emptied;
  }
};

BpfSource::BpfSource(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
BpfSource::~BpfSource() = default;

Result<std::unique_ptr<BpfSource>> BpfSource::open(const SamplingConfig& config, std::shared_ptr<ImageReader> image_reader,
                                                    ingest::LifecycleCallbacks callbacks) {
  auto parts = std::make_unique<Parts>();
  parts->config = config;
  // Children come and go: only if nobody is left there is nothing to do.
  for (const Pid pid : config.pids) {
    const int fd = static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));
    if (fd >= 0) parts->target_fds.emplace_back(fd);
    else if (errno != ESRCH) return errno_error(errno, fmt::format("watch process {}", pid));
  }
  if (!config.pids.empty() && parts->target_fds.empty()) return make_error(ErrorKind::kGone, "process {}: it has ended", config.pids.front());
  TRY(check_visibility());
  BpfObjectOptions options;
  options.targets = config.targets;
  options.kernel_frames = config.kernel_frames && config.stacks;
  options.user_frames = config.stacks;
  options.include_idle = config.include_idle;
  options.unwind = config.unwind;
  options.asked = config.asked;
  parts->events = TRY(PerfEvents::plan(config.events));
  options.waits = wait_options(config, parts->events->events());
  options.cpus = config.events.cpus;
  const auto events = parts->events->events();
  const auto has = [&](EventKind kind) { return std::any_of(events.begin(), events.end(), [&](const PerfEvents::Event& event) { return event.type.kind == kind; }); };
  options.tracepoints = has(EventKind::kTracepoint);
  options.user_functions = has(EventKind::kUserFunction);
  options.kernel_functions = has(EventKind::kKernelFunction);
  for (size_t i = 0; i < events.size(); ++i)
    if (events[i].type.kind == EventKind::kKernelPlace) options.kernel_places.push_back({static_cast<uint32_t>(i), static_cast<uint32_t>(events[i].period), events[i].place.function, events[i].type.config, events[i].argument_count});
  options.uprobe_multi = options.user_functions && has_uprobe_multi();
  for (const PerfEvents::Event& event : events) {
    options.fields.push_back(has_fields_by_place(event) ? event_fields{} : event.fields);
    options.place_fields = options.place_fields || (has_fields_by_place(event) && asks_for_numbers(event.fields));
    options.times_calls = options.times_calls || event.times_calls;
    options.texts = options.texts || event.fields.group_text != TEXT_NONE;
  }
  parts->times_calls = options.times_calls;
  parts->samples_waits = options.waits.has_value();
  parts->kernel = TRY(BpfObject::load(options));
  BpfObject& kernel = *parts->kernel;
  TRY(parts->events->open({kernel.sampling_program_fd(), kernel.tracepoint_program_fd(), kernel.kernel_function_program_fd(), kernel.kernel_place_program_fds()}));
  parts->images = std::make_unique<process::ImageRegistry>(process::ImageRegistry::Options{.opener = {.readers = parts->proc_readers}});
  parts->store = std::make_unique<TableStore>(
      TableStore::Maps{kernel.slabs_fd(), kernel.places(), kernel.image_usage(), kernel.eviction_epoch()}, config.max_map_memory_bytes);
  if (options.user_functions) {
    if (!image_reader) return make_error(ErrorKind::kUnsupported, "{}: nobody reads programs for this recording", events.front().type.name);
    parts->functions = std::make_unique<FunctionProbes>(FunctionProbes::Options{kernel.user_function_program_fd(), options.uprobe_multi, config.targets == TargetKind::kMachine,
                                                                                [&kernel](uint32_t index, const event_fields& fields) { return kernel.set_place_fields(index, fields); }},
                                                        function_events(events), *parts->images, image_reader);
  }
  parts->unwinders = std::make_unique<ingest::ImageUnwinders>(*parts->images, image_reader);
  parts->machines = std::make_unique<MachineRules>(MachineRules::Ports{
      [&tracker = parts->tracker](uint32_t image) { return tracker ? tracker->table().find_spaces(image) : std::vector<uint32_t>(); },
      [&kernel](uint32_t space, const unwind_rule& rule) {
        kernel.set_machine_rule(space, rule);
        kernel.forget_frames(space);
      }});
  parts->loader = std::make_unique<TableLoader>(*parts->store, *parts->unwinders, few_threads(),
                                                [machines = parts->machines.get()](uint32_t image, const unwind::UnwindRows& rows) { machines->note_rows(image, rows); });
  const bool machine = config.targets == TargetKind::kMachine;
  parts->java = std::make_unique<ingest::JavaMachines>(ingest::JavaMachines::Ports{
      [&tracker = parts->tracker](uint32_t space) { return tracker ? tracker->table().find_user(space) : 0; },
      [&kernel](uint32_t space, const java_code* code) {
        kernel.set_java_code(space, code);
        kernel.forget_frames(space);
      },
      [&kernel](uint32_t space) { kernel.forget_frames(space); }});
  parts->mappings =
      std::make_unique<ObservedPublisher>(kernel, *parts->loader, !machine && config.stacks && config.unwind != UNWIND_FRAME_POINTER, *parts->images, *parts->java, *parts->machines, parts->functions.get());
  callbacks.on_exit = [recorder = &parts->jit_recorder, on_exit = std::move(callbacks.on_exit)](const process::ProcessInfo& process) {
    recorder->note_exit(process.pid);
    if (on_exit) on_exit(process);
  };
  parts->metadata = std::make_shared<process::ProcessMetadataCache>(process::ProcessMetadataCache::Options{
      .read_memory = [readers = parts->proc_readers](Pid pid, const std::string& path, size_t max_bytes, const std::stop_token& stop) {
        return readers->read_file(process::owner_of(pid), path, max_bytes, stop);
      }});
  parts->metadata_reader = std::make_unique<ingest::MetadataReader>(parts->metadata, config.read_environments,
                                                                    config.with_arguments ? process::Arguments::kAll : process::Arguments::kProgram);
  if (config.read_environments) {
    callbacks.on_exec = [reader = parts->metadata_reader.get(),
                         on_exec = std::move(callbacks.on_exec)](const process::ProcessInfo& process) {
      reader->request({process.pid, process::to_ticks(process.start_ns)}, process::owner_of(process.pid));
      if (on_exec) on_exec(process);
    };
  }
  for (const PerfEvents::Event& event : parts->events->events())
    diagnostics().info(event.type.name, "opened on {} CPUs, {}", parts->events->cpu_count(),
                       event.frequency_hz != 0 ? fmt::format("{} Hz", event.frequency_hz) : fmt::format("every {}", event.period));
  // Subscribed first, attached second, scanned third: nothing falls between.
  auto mapping_events = std::make_unique<process::MappingEvents>(TRY(process::MappingEvents::open({.ring_pages = 64, .wakeup_bytes = kWakeupBytes})));
  const auto read_maps = [readers = parts->proc_readers](uint32_t owner, std::span<const Pid> pids, const std::stop_token& stop) {
    return readers->read_maps(owner, pids, stop);
  };
  static_assert(process::MapsScanner::kMaxAtOnce <= process::ProcReaders::kMaxPids);
  parts->tracker = TRY(ingest::Tracker::open(
      std::move(mapping_events), *parts->mappings, *parts->images,
      {machine, config.events.period == 0 ? config.events.frequency_hz : 0, std::move(callbacks), parts->metadata, read_maps}));
  TRY(kernel.attach_lifecycle());
  diagnostics().info("BPF programs", "loaded and attached in {:.0f} ms", static_cast<double>(monotonic_ns() - parts->opened_ns) * 1e-6);
  if (machine) {
    for (const Pid pid : TRY(process::list_processes())) {
      if (const Result<void> adopted = parts->tracker->adopt(pid); !adopted && adopted.error().kind() != ErrorKind::kGone) {
        diagnostics().warn(fmt::format("process {}", pid), "{}", adopted.error().message());
      }
    }
  }
  for (const Pid pid : config.pids) {
    if (const Result<void> adopted = parts->tracker->adopt(pid); !adopted && adopted.error().kind() != ErrorKind::kGone) return adopted.error();
    diagnostics().info(fmt::format("process {}", pid), "watched");
    if (config.from_exec) TRY(kernel.sample_from_exec(pid));
  }
  size_t gone = 0;
  for (const Tid tid : config.tids) {
    const Result<Pid> owner = process::read_process_of(tid);
    const Result<void> adopted = owner ? parts->tracker->adopt(*owner) : owner.error();
    if (adopted) {
      TRY(kernel.add_target_thread(tid));
      continue;
    }
    if (adopted.error().kind() != ErrorKind::kGone || ++gone == config.tids.size()) return make_error(adopted.error().kind(), "thread {}: {}", tid, adopted.error().kind() == ErrorKind::kGone ? "it has ended" : adopted.error().message());
  }
  parts->tracker->start();
  if (parts->samples_waits) TRY(kernel.attach_ends_of_waits());
  if (!machine) parts->wait_for_tables();
  if (is_any_probe(events))
    for (const Pid pid : own_processes()) kernel.leave_out_of_probes(pid);
  const std::set<std::string> inherited = config.from_exec && !config.pids.empty() ? own_files_of(config.pids.front()) : std::set<std::string>{};
  if (!machine) TRY(refuse_ambiguous(config.events.events, *parts->images, image_reader, inherited));
  if (parts->functions) {
    if (machine) parts->wait_for_first_scan();
    TRY(parts->functions->find(inherited));
  }
  return std::unique_ptr<BpfSource>(new BpfSource(std::move(parts)));
}

Result<void> BpfSource::start(profile::Profile& profile) {
  Parts& p = *parts_;
  p.pipeline = std::make_unique<ingest::RecordPipeline>(
      profile, ingest::RecordPipeline::Parts{*p.tracker, *p.images, *p.unwinders, *p.loader, p.jit_recorder, *p.java, *p.metadata_reader, *p.metadata});
  profile.header.events.clear();
  for (const PerfEvents::Event& event : p.events->events()) {
    profile.header.events.push_back({.name = event.type.name,
                                     .unit = unit_of(event),
                                     .spent = spent_of(event.type.kind),
                                     .value = event.value == 0 ? 1 : event.value,
                                     .period = event.period,
                                     .frequency_hz = event.frequency_hz,
                                     .sample_ns = event.type.kind == EventKind::kTimer ? event.period : 0});
  }
  for (const std::string& warning : p.events->warnings()) profile.header.warnings.push_back(warning);
  p.next_cycle_ns = monotonic_ns() + kCycleNs;
  p.prompt.emplace(ScopedShortSlice::kAheadOfUsual);
  p.target_time.emplace(p.config);
  p.accounts_threads = p.samples_waits && p.target_time->is_countable();
  if (p.accounts_threads) TRY(p.kernel->attach_ends_of_threads());
  TRY(p.events->enable());
  if (p.functions) TRY(p.functions->attach());
  if (p.samples_waits) TRY(p.kernel->attach_waits());
  if (p.accounts_threads) {
    p.pipeline->begin_thread_times();
    TRY(take_thread_times(*p.kernel, p.taker()));
  }
  if (p.samples_waits) TRY(note_blocked_threads(*p.kernel));
  p.sampling_ns = monotonic_ns();
  return {};
}

Result<bool> BpfSource::drain(profile::Profile& profile, int timeout_ms, std::span<const int> wake_fds) {
  Parts& p = *parts_;
  // The kernel side wakes us for one exec a millisecond; those right after it are found by looking again soon.
  const uint64_t before = p.pipeline->lifecycle_records();
  if (p.pace.storm()) timeout_ms = 0;  // it has paused already
  p.look(p.follow_up_polls > 0 ? std::min(timeout_ms, kSoonMs) : timeout_ms, wake_fds);
  const uint64_t came = p.pipeline->lifecycle_records() - before;
  p.follow_up_polls = came != 0 ? kFollowUpPolls : std::max(0, p.follow_up_polls - 1);
  p.pace.turn(came);
  const uint64_t now = monotonic_ns();
  if (now >= p.next_cycle_ns) {
    p.next_cycle_ns = now + kCycleNs;
    p.pipeline->end_cycle();
    const std::lock_guard lock(p.pause_mutex);
    p.events->follow_hotplug();
    p.target_time->look();
    const auto outcomes = p.count_outcomes();  // before what fired: an interrupt in between is lost, not one too many
    if (p.times_calls) p.tidy_calls(outcomes);
    p.account(profile, p.count_fired(), outcomes, false);
  }
  return !p.has_enough();
}

Result<void> BpfSource::stop(profile::Profile& profile) {
  Parts& p = *parts_;
  bool paused = false, accounts_threads = false;
  {
    const std::lock_guard lock(p.pause_mutex);
    p.events->disable();
    profile.header.target_cpu_ns = p.target_time->used_ns(p.tracker->table().pids());  // now: detaching takes a while
    if (p.functions) p.functions->detach();
    if (p.samples_waits) p.kernel->count_waits_until_now();
    paused = p.paused;
    accounts_threads = p.accounts_threads;
  }
  if (accounts_threads) {
    p.pipeline->end_thread_times();
    const Result<void> taken = take_thread_times(*p.kernel, p.taker());
    if (!taken) profile.header.warnings.push_back(fmt::format("how long threads ran is known from samples only: {}", taken.error().message()));
  }
  if (p.samples_waits && !paused) {
    const Result<void> taken = take_blocked_threads(*p.kernel, {[&] { p.drain_ring(); }, p.taker()});
    if (!taken) profile.header.warnings.push_back(fmt::format("waits that have not ended are missing: {}", taken.error().message()));
  }
  if (p.samples_waits) p.kernel->detach_waits();
  p.prompt.reset();
  const auto fired = p.count_fired();
  p.drain_ring();
  p.tracker->sync(kLastSyncMs);
  p.pipeline->finish();
  if (accounts_threads) p.wait_for_freed_threads();
  p.unwinders->stop();
  p.account(profile, fired, p.count_outcomes(), true);
  const auto& rows = profile.header.events;
  const auto clock = std::find_if(rows.begin(), rows.end(), [](const profile::Event& event) { return event.sample_ns != 0; });
  const profile::EventId timer{static_cast<uint8_t>(clock == rows.end() ? 0 : clock - rows.begin())};
  if (const profile::Unsampled gap = profile::find_unsampled(profile, timer); gap.share() >= kWarnUnsampled) {
    profile.header.warnings.push_back(fmt::format("{:.0f} % of the target's CPU time has no samples ({} stored, about {} expected): percentages are of what is stored",
                                                  100 * gap.share(), gap.stored, gap.expected));
  }
  if (p.functions)
    for (std::string& warning : p.functions->warnings()) profile.header.warnings.push_back(std::move(warning));
  const auto note = [&](const char* text, uint64_t value) { profile.header.events[0].counts.push_back({text, value, false}); };
  note("stacks not finished: queue of deferred unwinding full", p.pipeline->assembler().requests_refused());
  note("records that could not be decoded", p.pipeline->malformed());
  p.tracker->stop();
  return {};
}

// The flag first: a sample that is taken while CPU after CPU is disabled is none.
uint64_t BpfSource::pause(bool paused) {
  const std::lock_guard lock(parts_->pause_mutex);
  if (!paused) parts_->kernel->count_waits_from_now();
  parts_->kernel->detach_ends_of_threads();
  parts_->accounts_threads = false;  // CPU time in a pause must not count, and it is not measured
  parts_->kernel->set_sampling_wanted(!paused);
  parts_->events->pause(paused);
  parts_->paused = paused;
  if (!paused && parts_->samples_waits) static_cast<void>(note_blocked_threads(*parts_->kernel));
  return parts_->target_time->pause(paused, parts_->tracker->table().pids());
}

// Two looks at the ring between the steps: records that were sent before the tags are cleared have arrived in the generation that goes.
bool BpfSource::prepare_compaction() {
  Parts& p = *parts_;
  if (p.generation_began_ns == 0) {
    p.pipeline->begin_generation();
    p.generation_began_ns = monotonic_ns();
    p.looks_in_generation = 0;
  } else if (p.forgotten_ns == 0 && p.looks_in_generation >= 2) {
    p.kernel->forget_sent_stacks();
    p.forgotten_ns = monotonic_ns();
  }
  return p.forgotten_ns != 0 && p.emptied_ns > p.forgotten_ns && p.pipeline->has_stored_until(p.forgotten_ns, p.emptied_ns);
}

void BpfSource::rebase(profile::RowCopier& ids) {
  parts_->pipeline->rebase(ids);
  parts_->generation_began_ns = parts_->forgotten_ns = 0;
}

bool BpfSource::targets_gone() const {
  const Parts& p = *parts_;
  if (p.config.targets == TargetKind::kThreads) {
    return std::none_of(p.config.tids.begin(), p.config.tids.end(), [](Tid tid) { return ::access(fmt::format("/proc/{}", tid).c_str(), F_OK) == 0; });
  }
  if (p.config.targets != TargetKind::kProcesses) return false;
  return std::all_of(p.target_fds.begin(), p.target_fds.end(), [](const UniqueFd& fd) {
    pollfd polled{fd.get(), POLLIN, 0};
    return ::poll(&polled, 1, 0) > 0;
  });
}

std::shared_ptr<process::ProcessMetadataCache> BpfSource::metadata() { return parts_->metadata; }
symbolize::ImageFiles& BpfSource::image_files() { return parts_->pipeline->files(); }
std::unique_ptr<symbolize::KernelNames> BpfSource::kernel_names() { return std::make_unique<BpfKernelNames>(*parts_->kernel); }
std::vector<symbolize::JitSymbol> BpfSource::take_jit_symbols() { return parts_->pipeline->take_jit_symbols(); }

std::vector<std::string> BpfSource::statistics() const {
  const Parts& p = *parts_;
  const TableStoreStats tables = p.store->stats();
  const process::ProcessTableCounts processes = p.tracker->table().counts();
  const process::ImageRegistryCounts images = p.images->counts();
  const process::MappingEventCounts events = p.tracker->event_counts();
  const auto since_open = [&](uint64_t time_ns) { return static_cast<double>(time_ns - std::min(time_ns, p.opened_ns)) * 1e-6; };
  std::vector<std::string> lines{
      fmt::format("unwind tables: {} loaded, {} KiB in {} slabs of {} KiB (limit {} KiB), {} evicted, {} refused", tables.tables,
                  tables.table_bytes >> 10, tables.slabs, tables.slab_bytes >> 10, p.config.max_map_memory_bytes >> 10, tables.evictions,
                  tables.refused),
      fmt::format("table builds: {} of {} images in {:.1f} ms", p.loader->compiled(), p.loader->requested(),
                  static_cast<double>(p.loader->working().count()) / 1000),
      fmt::format("processes: {} now, {} address spaces, {} mappings in {} blocks; {} forks, {} execs, {} exits ({} came and went "
                  "unsampled), {} copies on write",
                  processes.processes, processes.address_spaces, processes.mappings, processes.blocks, processes.forks, processes.execs,
                  processes.exits, processes.short_lived, processes.copies_on_write),
      fmt::format("mapping table: {} entries of {}, {} address spaces evicted, {} publish failures", p.mappings->trie_entries(),
                  BpfObjectOptions{}.max_mapping_blocks, processes.evicted_spaces, processes.publish_failures),
      fmt::format("scans of /proc/PID/maps: {}, {} discarded; {} files of /proc without an answer; orphan events: {}", processes.scans,
                  processes.scans_discarded, p.proc_readers->abandoned(), processes.orphan_events),
      fmt::format("mapping events: {} delivered, {} unwanted, {} lost, {} late", events.delivered, events.unwanted, events.lost,
                  events.late),
      fmt::format("mappings visible to the walk: {} after exec{}, {} after mmap{}", p.tracker->table().exec_latency().count(),
                  quantiles(p.tracker->table().exec_latency()), p.tracker->table().map_latency().count(),
                  quantiles(p.tracker->table().map_latency())),
      fmt::format("replaced code: {} mappings where others had been, {} not kept; {} stacks ended there, {} samples stored without their "
                  "user stack, because mappings came late",
                  processes.replaced_mappings, processes.stale_dropped, p.pipeline->assembler().stale(), p.pipeline->assembler().late()),
      fmt::format("back-fill: sampling after {:.0f} ms, all that was there known in {:.0f} ms", since_open(p.sampling_ns),
                  since_open(p.tracker->caught_up_ns())),
      fmt::format("ring drained {} times, longest gap {:.1f} ms; {} processes not described", p.drain_gaps.count(),
                  static_cast<double>(p.drain_gaps.longest_ns()) * 1e-6, p.metadata_reader->refused()),
      fmt::format("images: {} known, {} opened, {} failed, {} not ELF, {} replaced, {} could not be read", images.images, images.opened,
                  images.open_failed, images.not_elf, images.replaced, images.unreadable),
  };
  const auto& reads = p.unwinders->code_reads();
  if (const uint64_t count = reads.waits.count(); count != 0) {
    lines.push_back(fmt::format("code without CFI: {} KiB read in {} turns; stacks waited {:.0f} ms for the first, {:.0f} ms at most{}", reads.bytes >> 10, count,
                                static_cast<double>(reads.first_ns) * 1e-6, static_cast<double>(reads.waits.longest_ns()) * 1e-6, quantiles(reads.waits)));
  }
  if (p.functions) lines.push_back(p.functions->statistics());
  return lines;
}

}  // namespace cicada::bpf_source
