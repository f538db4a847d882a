// SPDX-License-Identifier: Apache-2.0
#include "bpf_session.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <sys/auxv.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cinttypes>
#include <cstring>
#include <fstream>

#include "abi/event_fields.h"
#include "abi/settings.h"
#include "cicada.skel.h"
#include "process/tracking/address_blocks.h"
#include "process/tracking/block_difference.h"
#include "unwind/row_compiler.h"
#include "unwind/rows/table_layout.h"

namespace cicada::native {
namespace {

constexpr uint32_t kSlabChunks = 512;  // 32 MiB

struct MapsLine {
  uint64_t begin = 0, end = 0, offset = 0;
  std::string path;
};

std::vector<MapsLine> executable_mappings(pid_t pid) {
  std::vector<MapsLine> lines;
  std::ifstream maps(fmt::format("/proc/{}/maps", pid));
  for (std::string line; std::getline(maps, line);) {
    MapsLine m;
    char permissions[5] = {};
    int path_at = 0;
    if (std::sscanf(line.c_str(), "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %*s %*s %n", &m.begin, &m.end, permissions, &m.offset, &path_at) < 4)
      continue;
    if (permissions[2] != 'x') continue;
    if (path_at > 0 && static_cast<size_t>(path_at) < line.size()) m.path = line.substr(static_cast<size_t>(path_at));
    lines.push_back(std::move(m));
  }
  return lines;
}

uint64_t start_boottime_ns(pid_t pid) {
  std::ifstream stat(fmt::format("/proc/{}/stat", pid));
  std::string text((std::istreambuf_iterator<char>(stat)), {});
  const size_t close = text.rfind(')');
  if (close == std::string::npos) return 0;
  uint64_t ticks = 0;
  const char* at = text.c_str() + close + 1;
  for (int field = 3; field <= 22; field++) {
    while (*at == ' ') at++;
    if (field == 22) ticks = std::strtoull(at, nullptr, 10);
    while (*at != '\0' && *at != ' ') at++;
  }
  return ticks * 10'000'000;
}

}  // namespace

Result<std::unique_ptr<BpfSession>> BpfSession::open(const Options& options) {
  ::libbpf_set_print([](libbpf_print_level level, const char* format, va_list arguments) {
    return level == LIBBPF_WARN ? std::vfprintf(stderr, format, arguments) : 0;
  });
  std::unique_ptr<BpfSession> session(new BpfSession);
  session->skeleton_ = cicada_bpf::open();
  if (session->skeleton_ == nullptr) return errno_error(errno, "open the BPF object");
  cicada_bpf& bpf = *session->skeleton_;
  bpf.rodata->filter_mode = options.filter_mode;
  bpf.rodata->kernel_stacks = options.kernel_stacks ? 1 : 0;
  bpf.rodata->cache_levels = options.cache_levels;
  bpf.rodata->deferred_kib_ns = options.deferred_kib_ns;
  ::bpf_map__set_max_entries(bpf.maps.exec_mappings, options.mapping_blocks);
  ::bpf_map__set_max_entries(bpf.maps.frame_caches, static_cast<uint32_t>(::libbpf_num_possible_cpus()));
  ::bpf_map__set_max_entries(bpf.maps.request_copies, static_cast<uint32_t>(::libbpf_num_possible_cpus()));
  if (const int error = cicada_bpf::load(&bpf); error != 0) return errno_error(-error, "load the BPF object");

  void* places = ::mmap(nullptr, ::bpf_map__max_entries(bpf.maps.unwind_places) * sizeof(unwind_place), PROT_READ | PROT_WRITE,
                        MAP_SHARED, ::bpf_map__fd(bpf.maps.unwind_places), 0);
  if (places == MAP_FAILED) return errno_error(errno, "mmap unwind_places");
  session->places_ = {static_cast<unwind_place*>(places), ::bpf_map__max_entries(bpf.maps.unwind_places)};

  LIBBPF_OPTS(bpf_map_create_opts, create, .map_flags = BPF_F_MMAPABLE | BPF_F_INNER_MAP);
  const int slab = ::bpf_map_create(BPF_MAP_TYPE_ARRAY, "slab", sizeof(uint32_t), UNWIND_CHUNK_BYTES, kSlabChunks, &create);
  if (slab < 0) return errno_error(errno, "create a slab");
  session->slab_fd_ = UniqueFd(slab);
  void* bytes = ::mmap(nullptr, uint64_t{kSlabChunks} * UNWIND_CHUNK_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, slab, 0);
  if (bytes == MAP_FAILED) return errno_error(errno, "mmap a slab");
  session->slab_ = {static_cast<uint8_t*>(bytes), uint64_t{kSlabChunks} * UNWIND_CHUNK_BYTES};
  const uint32_t zero = 0;
  if (::bpf_map_update_elem(::bpf_map__fd(bpf.maps.unwind_slabs), &zero, &slab, BPF_ANY) != 0) return errno_error(errno, "insert a slab");

  session->ring_ = ::ring_buffer__new(
      ::bpf_map__fd(bpf.maps.events),
      [](void* self, void* data, size_t size) {
        static_cast<BpfSession*>(self)->consume({static_cast<const uint8_t*>(data), size});
        return 0;
      },
      session.get(), nullptr);
  if (session->ring_ == nullptr) return errno_error(errno, "map the ring");
  return session;
}

BpfSession::~BpfSession() {
  stop();
  if (ring_ != nullptr) ::ring_buffer__free(ring_);
  if (!slab_.empty()) ::munmap(slab_.data(), slab_.size());
  if (!places_.empty()) ::munmap(places_.data(), places_.size_bytes());
  if (skeleton_ != nullptr) cicada_bpf::destroy(skeleton_);
}

Result<uint32_t> BpfSession::load_image(const std::string& path, const elf::ElfFile& elf) {
  if (auto known = images_.find(path); known != images_.end()) return known->second;
  const auto image = static_cast<uint32_t>(image_paths_.size());
  image_paths_.push_back(path);
  images_[path] = image;
  unwind_place& place = places_[image % places_.size()];
  const unwind::UnwindRows table = TRY(unwind::compile_rows(elf));
  unwind_place built{};
  if (table.empty()) {
    built.image = image;
    built.flags = UNWIND_PLACE_NO_CFI;
    place = built;
    return image;
  }
  const auto layout = unwind::TableLayout::plan(table, slab_used_);
  if (slab_used_ + layout.size_bytes() > slab_.size()) return make_error(ErrorKind::kLimit, "{}: slab full", path);
  layout.write(table, image, slab_, built);
  slab_used_ = (slab_used_ + layout.size_bytes() + 63) & ~uint64_t{63};
  built.image = image;
  built.slab = 0;
  built.flags = UNWIND_PLACE_LOADED;
  place = built;
  std::atomic_thread_fence(std::memory_order_seq_cst);
  return image;
}

Result<size_t> BpfSession::publish(uint32_t address_space, const std::vector<mapping_value>& mappings) {
  std::vector<Range<RuntimeAddr>> ranges;
  for (const mapping_value& m : mappings) ranges.push_back({RuntimeAddr(m.begin), RuntimeAddr(m.end)});
  const auto blocks = process::minimal_blocks(ranges);
  for (const process::AddressBlock& block : blocks) {
    const mapping_key key = process::to_mapping_key(address_space, block.base, block.prefix_bits);
    if (::bpf_map_update_elem(::bpf_map__fd(skeleton_->maps.exec_mappings), &key, &mappings[block.range], BPF_ANY) != 0)
      return errno_error(errno, "insert a mapping");
  }
  return blocks.size();
}

Result<uint32_t> BpfSession::add_process(pid_t pid) {
  std::vector<mapping_value> mappings;
  for (const MapsLine& line : executable_mappings(pid)) {
    mapping_value value{line.begin, line.end, 0, 0, 0};
    if (line.path.empty()) {
      value.flags = MAPPING_JIT;
    } else if (line.path == "[vdso]") {
      const auto* bytes = reinterpret_cast<const uint8_t*>(::getauxval(AT_SYSINFO_EHDR));
      auto elf = TRY(elf::ElfFile::parse_copy({bytes, line.end - line.begin}, "[vdso]"));
      value.image = TRY(load_image(line.path, elf));
      value.bias = line.begin;
    } else if (line.path[0] == '/') {
      auto elf = TRY(elf::ElfFile::open(line.path));
      value.image = TRY(load_image(line.path, elf));
      const auto bias = elf::find_bias(elf.segments(), RuntimeAddr(line.begin), FileOffset(line.offset), line.end - line.begin);
      if (!bias) continue;
      value.bias = *bias;
    } else {
      continue;
    }
    mappings.push_back(value);
  }
  const uint32_t address_space = std::atomic_ref(skeleton_->data->next_address_space).fetch_add(1);
  TRY(publish(address_space, mappings));
  const process_value process{start_boottime_ns(pid), 0, address_space, PROCESS_TARGET, 0};
  if (::bpf_map_update_elem(::bpf_map__fd(skeleton_->maps.processes), &pid, &process, BPF_NOEXIST) != 0)
    return errno_error(errno, fmt::format("add process {}", pid));
  return address_space;
}

Result<size_t> BpfSession::add_fictive_processes(size_t processes, size_t mappings_each) {
  size_t entries = 0;
  for (size_t p = 0; p < processes; p++) {
    std::vector<mapping_value> mappings;
    uint64_t at = 0x7f0000000000 + (p << 28);
    for (size_t m = 0; m < mappings_each; m++) {
      const uint64_t size = 0x1000 * (1 + (m * 37 + p * 11) % 300);
      mappings.push_back({at, at + size, at, static_cast<uint32_t>(1 + m), 0});
      at += size + 0x1000 * (1 + (m * 53) % 700);
    }
    entries += TRY(publish(std::atomic_ref(skeleton_->data->next_address_space).fetch_add(1), mappings));
  }
  return entries;
}

Result<void> BpfSession::attach_lifecycle() {
  auto& programs = skeleton_->progs;
  auto& links = skeleton_->links;
  for (auto [program, link] : {std::pair{programs.on_fork, &links.on_fork}, {programs.on_exec, &links.on_exec},
                               {programs.on_exit, &links.on_exit}, {programs.on_free, &links.on_free}}) {
    *link = ::bpf_program__attach(program);
    if (*link == nullptr) return errno_error(errno, "attach a lifecycle program");
  }
  return {};
}

Result<void> BpfSession::start(unsigned frequency_hz, const std::vector<int>& cpus) {
  perf_event_attr attr{};
  attr.type = PERF_TYPE_SOFTWARE;
  attr.config = PERF_COUNT_SW_CPU_CLOCK;
  attr.freq = 1;
  attr.sample_freq = frequency_hz;
  return start(attr, event_cookie(0, 1), cpus);
}

Result<void> BpfSession::start(const perf_event_attr& attributes, uint64_t cookie, const std::vector<int>& cpus) {
  for (const int cpu : cpus) {
    perf_event_attr attr = attributes;
    attr.size = sizeof attr;
    UniqueFd event(static_cast<int>(::syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC)));
    if (event.get() < 0) return errno_error(errno, "perf_event_open");
    LIBBPF_OPTS(bpf_link_create_opts, options, .perf_event = {.bpf_cookie = cookie});
    UniqueFd link(::bpf_link_create(::bpf_program__fd(skeleton_->progs.on_perf_event), event.get(), BPF_PERF_EVENT, &options));
    if (!link) return errno_error(errno, "attach the sampler");
    if (::ioctl(event.get(), PERF_EVENT_IOC_ENABLE, 0) != 0) return errno_error(errno, "enable the event");
    events_.push_back(std::move(event));
    links_.push_back(std::move(link));
  }
  return {};
}

void BpfSession::stop() {
  links_.clear();
  events_.clear();
}
void BpfSession::drain() { ::ring_buffer__consume(ring_); }

BpfSession::ProgramStats BpfSession::sampling_stats() const {
  bpf_prog_info info{};
  uint32_t size = sizeof info;
  if (::bpf_obj_get_info_by_fd(::bpf_program__fd(skeleton_->progs.on_perf_event), &info, &size) != 0) return {};
  return {info.run_time_ns, info.run_cnt};
}

event_counters BpfSession::counters(uint32_t event) const {
  std::vector<event_counters> per_cpu(static_cast<size_t>(::libbpf_num_possible_cpus()));
  event_counters sum{};
  if (::bpf_map_lookup_elem(::bpf_map__fd(skeleton_->maps.counters), &event, per_cpu.data()) != 0) return sum;
  for (const event_counters& one : per_cpu) {
    for (size_t i = 0; i < COUNTER_COUNT; i++) sum.counter[i] += one.counter[i];
    sum.value_sum += one.value_sum;
  }
  return sum;
}

void BpfSession::consume(std::span<const uint8_t> record) {
  uint32_t kind = 0;
  std::memcpy(&kind, record.data(), sizeof kind);
  if (kind == RECORD_SAMPLE) {
    sample_record sample;
    std::memcpy(&sample, record.data(), sizeof sample);
    samples_.push_back(sample);
  } else if (kind == RECORD_STACK) {
    stack_record header;
    std::memcpy(&header, record.data(), sizeof header);
    Stack stack{std::vector<uint64_t>(header.frame_count), header.side};
    std::memcpy(stack.frames.data(), record.data() + sizeof header, header.frame_count * sizeof(uint64_t));
    stacks_[header.hash] = std::move(stack);
  } else if (kind == RECORD_UNWIND_REQUEST) {
    requests_.emplace_back(record.begin(), record.end());
  } else {
    lifecycle_record lifecycle;
    std::memcpy(&lifecycle, record.data(), sizeof lifecycle);
    lifecycle_.push_back(lifecycle);
  }
}

std::vector<std::string> BpfSession::resolve(std::span<const uint64_t> addresses) {
  std::vector<std::string> names;
  auto batch = std::make_unique<kernel_symbol_batch>();
  batch->count = std::min<size_t>(addresses.size(), KERNEL_SYMBOL_BATCH);
  std::copy_n(addresses.begin(), batch->count, batch->addresses);
  const uint32_t zero = 0;
  const int fd = ::bpf_map__fd(skeleton_->maps.kernel_symbols);
  LIBBPF_OPTS(bpf_test_run_opts, run);
  if (::bpf_map_update_elem(fd, &zero, batch.get(), BPF_ANY) != 0 ||
      ::bpf_prog_test_run_opts(::bpf_program__fd(skeleton_->progs.resolve_kernel_symbols), &run) != 0 ||
      ::bpf_map_lookup_elem(fd, &zero, batch.get()) != 0)
    return names;
  for (uint64_t i = 0; i < batch->count; i++) names.emplace_back(batch->text[i]);
  return names;
}

}  // namespace cicada::native
