// SPDX-License-Identifier: Apache-2.0
// The BPF object on the real kernel: a forked child with a known chain, its tables published by hand. Needs root.
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <map>
#include <string>
#include <thread>

#include "bpf_session.h"
#include "abi/event_fields.h"
#include "abi/settings.h"
#include "bpf_source/bpf_object.h"
#include "cicada.skel.h"

namespace cicada::native {
namespace {

constexpr int kDepth = 60;
volatile uint64_t g_sink;
volatile bool g_forever = true;

// Where a child says that it is where it stays.
int g_ready_fd = -1;
[[gnu::noinline]] void say_ready() { [[maybe_unused]] const ssize_t written = ::write(g_ready_fd, "r", 1); }

[[gnu::noinline]] void chain_leaf() {
  say_ready();
  while (g_forever) g_sink = g_sink + 1;
}
[[gnu::noinline]] void chain_middle(int depth) {
  if (depth == 0)
    chain_leaf();
  else
    chain_middle(depth - 1);
  g_sink = g_sink + 1;  // no tail call
}
constexpr size_t kDeepBytes = 150 << 10, kSmallStack = 64 << 10;
[[gnu::noinline]] void chain_with_array() {
  volatile uint8_t array[kDeepBytes];
  for (size_t i = 0; i < kDeepBytes; i += 4096) array[i] = 1;
  chain_leaf();
  g_sink = g_sink + array[0];
}
// Above its stack is memory that can be read.
[[gnu::noinline]] void chain_of_thread() {
  auto* const memory = static_cast<uint8_t*>(::mmap(nullptr, 8 * kSmallStack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0));
  pthread_attr_t attributes;
  pthread_t thread;
  ::pthread_attr_init(&attributes);
  ::pthread_attr_setstack(&attributes, memory + kSmallStack, kSmallStack);
  ::pthread_create(&thread, &attributes, [](void*) -> void* { return chain_leaf(), nullptr; }, nullptr);
  ::pthread_join(thread, nullptr);
}
// Nothing says where its stack ends: it is neither the first one nor has the thread's own data at its end.
[[gnu::noinline]] void chain_elsewhere() {
  constexpr size_t kBytes = 32 * kSmallStack;
  static ucontext_t here, there;
  ::getcontext(&there);
  there.uc_stack.ss_sp = ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  there.uc_stack.ss_size = kBytes / 2;
  ::makecontext(&there, chain_leaf, 0);
  ::swapcontext(&here, &there);
}
// Each turn touches a page and goes to sleep.
[[gnu::noinline]] void chain_faults() {
  say_ready();
  constexpr size_t kBytes = 64 << 10;
  for (;;) {
    auto* const memory = static_cast<volatile uint8_t*>(::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    for (size_t i = 0; i < kBytes; i += 4096) memory[i] = 1;
    ::munmap(const_cast<uint8_t*>(memory), kBytes);
    ::usleep(100);
  }
}
[[gnu::noinline]] void chain_system_calls() {
  say_ready();
  for (;;) ::getppid();
}

struct Child {
  pid_t pid;
  template <typename Body>
  explicit Child(Body body) : pid(::fork()) {
    if (pid == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      body();
      ::_exit(0);
    }
  }
  ~Child() {
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
  }
};

struct ReadyPipe {
  int ends[2];
  ReadyPipe() {
    if (::pipe(ends) != 0) ADD_FAILURE() << "pipe";
    g_ready_fd = ends[1];
  }
  ~ReadyPipe() { ::close(ends[0]); }
  void wait() const {
    char byte = 0;
    ::close(ends[1]);
    if (::read(ends[0], &byte, 1) != 1) ADD_FAILURE() << "the child ended";
  }
};

// One that has come to its leaf: what is sampled before that, where the machine is crowded, is another stack.
struct ReadyChild {
  ReadyPipe ready;
  Child child;
  const pid_t pid;
  template <typename Body>
  explicit ReadyChild(Body body) : child(body), pid(child.pid) {
    ready.wait();
  }
};

std::vector<int> all_cpus() {
  std::vector<int> cpus;
  for (int i = 0; i < ::sysconf(_SC_NPROCESSORS_ONLN); i++) cpus.push_back(i);
  return cpus;
}

template <typename Condition>
bool wait_until(BpfSession& session, Condition condition) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(5);
  while (std::chrono::steady_clock::now() < deadline) {
    session.drain();
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

uint64_t own_bias() {
  std::ifstream maps("/proc/self/maps");
  std::string line;
  std::getline(maps, line);
  return std::strtoull(line.c_str(), nullptr, 16);
}

std::unique_ptr<BpfSession> open_session(const BpfSession::Options& options = {}) {
  auto session = BpfSession::open(options);
  if (!session) {
    ADD_FAILURE() << session.error().message();
    return nullptr;
  }
  return std::move(*session);
}

size_t count_samples(const BpfSession& session, pid_t pid) {
  return static_cast<size_t>(std::count_if(session.samples().begin(), session.samples().end(), [&](const auto& s) { return s.pid == pid; }));
}

TEST(PerfEvent, WalksAKnownChainToItsOutermostFrame) {
  auto session = open_session();
  ASSERT_TRUE(session);
  ReadyChild child([] { chain_middle(kDepth); });
  auto space = session->add_process(child.pid);
  ASSERT_TRUE(space) << space.error().message();
  ASSERT_TRUE(session->start(997, all_cpus()));
  ASSERT_TRUE(wait_until(*session, [&] { return count_samples(*session, child.pid) >= 100; }));
  session->stop();
  session->drain();
  const uint64_t bias = own_bias();
  size_t complete = 0, deep = 0, total = 0;
  for (const sample_record& sample : session->samples()) {
    if (sample.pid != child.pid) continue;
    total++;
    EXPECT_EQ(sample.address_space, *space);
    complete += sample.end_reason == END_OUTERMOST;
    const Stack& stack = session->stacks().at(sample.user_stack);
    ASSERT_EQ(stack.frames.size(), sample.user_frames);
    // kDepth + 1 frames of chain_middle, one return address (the recursive call) kDepth times.
    const auto leaf_call = std::count_if(stack.frames.begin(), stack.frames.end(), [&](uint64_t frame) {
      const uint64_t begin = reinterpret_cast<uint64_t>(&chain_middle) - bias;
      return frame_kind_of(frame) == FRAME_IMAGE && frame_link_address_of(frame) >= begin && frame_link_address_of(frame) < begin + 256;
    });
    deep += leaf_call >= kDepth + 1;
  }
  EXPECT_GE(complete * 1000, total * 999) << complete << " of " << total;
  EXPECT_GE(deep * 1000, total * 999) << deep << " of " << total;
}

TEST(PerfEvent, AddsUpToOneOutcomeEach) {
  auto session = open_session();
  ASSERT_TRUE(session);
  ReadyChild child([] { chain_middle(kDepth); });
  ASSERT_TRUE(session->add_process(child.pid));
  ASSERT_TRUE(session->start(4999, all_cpus()));
  ASSERT_TRUE(wait_until(*session, [&] { return count_samples(*session, child.pid) >= 1000; }));
  session->stop();
  session->drain();
  const event_counters counts = session->counters();
  EXPECT_EQ(counts.counter[COUNTER_STORED], session->samples().size());
  EXPECT_EQ(counts.counter[COUNTER_STACK_RECORDS] >= session->stacks().size(), true);
  EXPECT_GT(counts.counter[COUNTER_FRAME_CACHE_HIT], 10 * counts.counter[COUNTER_FRAME_CACHE_MISS]);
}

TEST(PerfEvent, WalksTheUserStackFromKernelMode) {
  auto session = open_session();
  ASSERT_TRUE(session);
  ReadyChild child([] { chain_system_calls(); });
  ASSERT_TRUE(session->add_process(child.pid));
  ASSERT_TRUE(session->start(997, all_cpus()));
  const auto in_kernel = [&] {
    return std::count_if(session->samples().begin(), session->samples().end(),
                         [](const sample_record& s) { return (s.flags & SAMPLE_IN_KERNEL) != 0; });
  };
  ASSERT_TRUE(wait_until(*session, [&] { return in_kernel() >= 30; }));
  session->stop();
  session->drain();
  std::vector<uint64_t> addresses;
  for (const sample_record& sample : session->samples()) {
    EXPECT_TRUE(sample.end_reason == END_OUTERMOST) << int{sample.end_reason};
    if (!(sample.flags & SAMPLE_IN_KERNEL)) continue;
    ASSERT_NE(sample.kernel_stack, 0u);
    const Stack& stack = session->stacks().at(sample.kernel_stack);
    EXPECT_EQ(stack.side, STACK_KERNEL);
    addresses.push_back(frame_address_of(stack.frames.back()));
  }
  const auto names = session->resolve(addresses);
  // Outermost is the way into the kernel: of the system call, but for the interrupts that came while user code ran.
  const auto calls = std::count_if(names.begin(), names.end(), [](const std::string& name) { return name.find("entry_SYSCALL_64") != std::string::npos; });
  EXPECT_GT(2 * calls, std::ssize(names)) << names.front();
}

TEST(PerfEvent, SendsRegistersAndStackWhereTheTableIsMissing) {
  auto session = open_session();
  ASSERT_TRUE(session);
  ReadyChild child([] { chain_middle(kDepth); });
  // A target whose mappings nobody published.
  const process_value process{1, 0, 77, PROCESS_TARGET, 0};
  ASSERT_EQ(::bpf_map_update_elem(::bpf_map__fd(session->skeleton()->maps.processes), &child.pid, &process, BPF_ANY), 0);
  ASSERT_TRUE(session->start(499, all_cpus()));
  ASSERT_TRUE(wait_until(*session, [&] { return session->requests().size() >= 20; }));
  session->stop();
  session->drain();
  unwind_request request;
  std::memcpy(&request, session->requests()[0].data(), sizeof request);
  EXPECT_EQ(request.pid, child.pid);
  EXPECT_EQ(request.end_reason, END_UNMAPPED_PC);
  EXPECT_GT(request.stack_bytes, 1000u);
  EXPECT_EQ(session->requests()[0].size(), sizeof request + request.stack_bytes);
  EXPECT_EQ(request.all_registers, 1);
  const auto misses = std::count_if(session->lifecycle().begin(), session->lifecycle().end(),
                                    [](const lifecycle_record& record) { return record.kind == RECORD_MISS; });
  EXPECT_GE(misses, 1);
}

// Verified instructions of each program that is loaded, by name. With everything asked for: the verifier drops what settings make dead.
std::map<std::string, uint32_t> verified_instructions(filter_mode mode) {
  const std::unique_ptr<cicada_bpf, decltype(&cicada_bpf__destroy)> skeleton(cicada_bpf__open(), &cicada_bpf__destroy);
  if (!skeleton) return {};
  const auto cpus = static_cast<unsigned>(::libbpf_num_possible_cpus());
  ::bpf_map__set_max_entries(skeleton->maps.frame_caches, cpus);
  ::bpf_map__set_max_entries(skeleton->maps.request_copies, cpus);
  auto& settings = *skeleton->rodata;
  settings.filter_mode = mode;
  settings.asked.users = settings.asked.processes = settings.asked.threads = settings.asked.cgroups = MAX_ASKED;
  settings.some_cpus = 1;
  settings.wake_event = 1;
  settings.include_kernel_threads = 1;
  // A program of one place knows what is asked of its numbers; the others look it up.
  event_field field{};
  field.bytes = 8;
  for (event_fields& fields : settings.event_fields) {
    fields.filters = MAX_FIELD_FILTERS;
    for (field_filter& filter : fields.filter) filter = {field, IS_LESS, 0, 0};
    fields.value = fields.group = field;
    fields.group_text = TEXT_OF_EITHER;
  }
  bpf_program* const place = skeleton->progs.on_kernel_place_0;
  ::bpf_program__set_autoload(place, true);
  ::bpf_program__set_expected_attach_type(place, BPF_TRACE_RAW_TP);
  if (::bpf_program__set_attach_target(place, 0, "sched_switch") != 0 || cicada_bpf__load(skeleton.get()) != 0) return {};
  std::map<std::string, uint32_t> verified;
  bpf_program* program = nullptr;
  bpf_object__for_each_program(program, skeleton->obj) {
    bpf_prog_info info{};
    uint32_t size = sizeof info;
    if (::bpf_program__autoload(program) && ::bpf_obj_get_info_by_fd(::bpf_program__fd(program), &info, &size) == 0)
      verified[::bpf_program__name(program)] = info.verified_insns;
  }
  return verified;
}

// What each start of a recording costs: the verifier's count does not depend on how busy the machine is. The kernel refuses a program at a million.
TEST(BpfObject, IsVerifiedInFewInstructions) {
  for (const filter_mode mode : {FILTER_ALL, FILTER_TARGETS, FILTER_TIDS}) {
    const std::map<std::string, uint32_t> verified = verified_instructions(mode);
    ASSERT_TRUE(verified.contains("on_perf_event") && verified.contains("on_schedule_exit") && verified.contains("on_kernel_place_0"));
    for (const auto& [name, count] : verified) {
      EXPECT_GT(count, 0u) << name;
      EXPECT_LT(count, name == "on_perf_event" ? 25'000u : 100'000u) << name;
    }
  }
}

// The ring and the arrays, that is. A fork copies the entry of each page of such memory.
TEST(BpfObject, KeepsItsMemoryFromChildren) {
  auto object = bpf_source::BpfObject::load({.ring_bytes = 1 << 20});
  ASSERT_TRUE(object) << object.error().message();
  std::ifstream file("/proc/self/smaps");
  uint64_t of_children = 0, kept = 0, size = 0;
  bool is_map = false;
  for (std::string line; std::getline(file, line);) {
    uint64_t begin = 0, end = 0;
    if (std::sscanf(line.c_str(), "%" SCNx64 "-%" SCNx64 " ", &begin, &end) == 2) size = end - begin, is_map = line.ends_with("anon_inode:bpf-map");
    if (is_map && line.starts_with("VmFlags:")) (line.find(" dc") == std::string::npos ? of_children : kept) += size;
  }
  EXPECT_GT(kept, 2u << 20);
  EXPECT_LT(of_children, 128u << 10) << "settings and counters";
}

TEST(PerfEvent, CopiesAStackToItsEnd) {
  auto session = open_session();
  ASSERT_TRUE(session);
  ReadyChild deep([] { chain_with_array(); }), thread([] { chain_of_thread(); }), elsewhere([] { chain_elsewhere(); });
  for (const ReadyChild* child : {&deep, &thread, &elsewhere}) {
    const process_value process{1, 0, 77, PROCESS_TARGET, 0};
    ASSERT_EQ(::bpf_map_update_elem(::bpf_map__fd(session->skeleton()->maps.processes), &child->pid, &process, BPF_ANY), 0);
  }
  std::vector<uint32_t> sizes[3];
  ASSERT_TRUE(session->start(499, all_cpus()));
  ASSERT_TRUE(wait_until(*session, [&] {
    for (std::vector<uint32_t>& of_child : sizes) of_child.clear();
    for (const auto& bytes : session->requests()) {
      unwind_request request;
      std::memcpy(&request, bytes.data(), sizeof request);
      if (request.tid != thread.pid) sizes[request.pid == thread.pid ? 1 : request.pid == elsewhere.pid ? 2 : 0].push_back(request.stack_bytes);  // which waits, or begins
    }
    return std::all_of(std::begin(sizes), std::end(sizes), [](const auto& of_child) { return of_child.size() >= 5; });
  }));
  session->stop();
  const auto [least, most] = std::minmax_element(sizes[0].begin(), sizes[0].end());
  EXPECT_GT(*least, kDeepBytes);
  EXPECT_LE(*most, uint32_t{DEFERRED_WHOLE_STACK_BYTES});
  EXPECT_LT(*std::max_element(sizes[1].begin(), sizes[1].end()), kSmallStack / 2);  // of which it uses little
  EXPECT_EQ(*std::max_element(sizes[2].begin(), sizes[2].end()), uint32_t{DEFERRED_STACK_BYTES});
}

perf_event_attr software_event(uint64_t config, uint64_t period) {
  perf_event_attr attr{};
  attr.type = PERF_TYPE_SOFTWARE;
  attr.config = config;
  attr.sample_period = period;
  return attr;
}

TEST(PerfEvent, EachHasItsOwnValuesAndCounters) {
  auto session = open_session();
  ASSERT_TRUE(session);
  ReadyChild child([] { chain_faults(); });
  ASSERT_TRUE(session->add_process(child.pid));
  ASSERT_TRUE(session->start(software_event(PERF_COUNT_SW_PAGE_FAULTS, 4), event_cookie(2, 0), all_cpus()));
  ASSERT_TRUE(session->start(software_event(PERF_COUNT_SW_CONTEXT_SWITCHES, 1), event_cookie(5, 0), all_cpus()));
  const auto of_event = [&](int event) {
    return static_cast<size_t>(std::count_if(session->samples().begin(), session->samples().end(), [&](const auto& s) { return s.event == event; }));
  };
  ASSERT_TRUE(wait_until(*session, [&] { return of_event(2) >= 100 && of_event(5) >= 100; }));
  session->stop();
  session->drain();
  const uint64_t begin = reinterpret_cast<uint64_t>(&chain_faults) - own_bias();
  size_t in_chain[6] = {};
  for (const sample_record& sample : session->samples()) {
    EXPECT_EQ(sample.value, sample.event == 2 ? 4u : 1u);
    EXPECT_EQ((sample.flags & SAMPLE_IN_KERNEL) != 0, sample.kernel_stack != 0);
    // The scheduler's registers are the kernel's; the walk takes the user's from the entry to the kernel.
    EXPECT_TRUE(sample.event == 2 || (sample.flags & SAMPLE_IN_KERNEL) != 0);
    EXPECT_EQ(sample.end_reason, END_OUTERMOST);
    const Stack& stack = session->stacks().at(sample.user_stack);
    in_chain[sample.event] += std::any_of(stack.frames.begin(), stack.frames.end(), [&](uint64_t frame) {
      return frame_kind_of(frame) == FRAME_IMAGE && frame_link_address_of(frame) - begin < 512;
    });
  }
  EXPECT_EQ(in_chain[2], of_event(2));
  EXPECT_EQ(in_chain[5], of_event(5));
  for (const uint32_t event : {2U, 5U}) {
    const event_counters counts = session->counters(event);
    EXPECT_EQ(counts.counter[COUNTER_STORED], of_event(static_cast<int>(event)));
    const uint64_t runs = counts.counter[COUNTER_STORED] + counts.counter[COUNTER_FILTERED] + counts.counter[COUNTER_IDLE];
    EXPECT_EQ(counts.value_sum, runs * (event == 2 ? 4 : 1));
  }
  EXPECT_EQ(session->counters(1).value_sum, 0u);
}

TEST(Lifecycle, FollowsForkExecAndExitOfATarget) {
  auto session = open_session();
  ASSERT_TRUE(session);
  ASSERT_TRUE(session->attach_lifecycle());
  const process_value self{1, 0, 5000, PROCESS_TARGET, 0};
  const pid_t own = ::getpid();
  ASSERT_EQ(::bpf_map_update_elem(::bpf_map__fd(session->skeleton()->maps.processes), &own, &self, BPF_ANY), 0);
  pid_t pid;
  {
    Child child([] { ::execl("/bin/true", "true", nullptr); });
    pid = child.pid;
    ASSERT_TRUE(wait_until(*session, [&] {
      return std::any_of(session->lifecycle().begin(), session->lifecycle().end(),
                         [&](const auto& record) { return record.kind == RECORD_EXIT && record.pid == pid; });
    }));
  }
  std::vector<uint32_t> kinds, spaces;
  for (const lifecycle_record& record : session->lifecycle()) {
    if (record.pid != pid) continue;
    kinds.push_back(record.kind);
    spaces.push_back(record.address_space);
  }
  EXPECT_EQ(kinds, (std::vector<uint32_t>{RECORD_FORK, RECORD_EXEC, RECORD_EXIT}));
  EXPECT_EQ(spaces[0], 5000u);       // shared, copy-on-write
  EXPECT_NE(spaces[1], spaces[0]);   // exec: new
  EXPECT_EQ(spaces[2], spaces[1]);
  EXPECT_TRUE(session->lifecycle()[0].flags & PROCESS_COW_PENDING);
  process_value left;
  EXPECT_TRUE(wait_until(*session, [&] {
    return ::bpf_map_lookup_elem(::bpf_map__fd(session->skeleton()->maps.processes), &pid, &left) != 0;
  }));
}

TEST(Lifecycle, AThreadIsNoProcess) {
  auto session = open_session();
  ASSERT_TRUE(session);
  ASSERT_TRUE(session->attach_lifecycle());
  const process_value self{1, 0, 5000, PROCESS_TARGET, 0};
  const pid_t own = ::getpid();
  ASSERT_EQ(::bpf_map_update_elem(::bpf_map__fd(session->skeleton()->maps.processes), &own, &self, BPF_ANY), 0);
  for (int i = 0; i < 10; i++) std::thread([] {}).join();
  session->drain();
  EXPECT_TRUE(std::none_of(session->lifecycle().begin(), session->lifecycle().end(), [&](const auto& record) { return record.pid == own; }));
}

}  // namespace
}  // namespace cicada::native
