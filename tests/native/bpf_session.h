// SPDX-License-Identifier: Apache-2.0
// The kernel side alone: loads the BPF object, publishes one process' mappings and tables by hand, samples, and keeps what arrives.
// For tests/native and bench/kernel_cost; the product's loop is in src/bpf_source.
//
// Owns programs, maps and events. Threads: one.
#pragma once
#include <linux/perf_event.h>
#include <sys/types.h>

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "abi/counters.h"
#include "abi/end_reason.h"
#include "abi/frame.h"
#include "abi/mapping.h"
#include "abi/records.h"
#include "abi/unwind_table.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "elf/elf_file.h"

struct cicada_bpf;
struct ring_buffer;

namespace cicada::native {

struct Stack {
  std::vector<uint64_t> frames;  // leaf first
  uint8_t side = 0;
};

class BpfSession {
 public:
  struct Options {
    uint32_t filter_mode = 1;  // FILTER_TARGETS
    uint32_t mapping_blocks = 65536;
    uint64_t deferred_kib_ns = 15'259;
    bool kernel_stacks = true;
    uint32_t cache_levels = 2;
  };
  static Result<std::unique_ptr<BpfSession>> open(const Options& options);
  ~BpfSession();

  // Publishes mappings and tables of a running process and marks it a target; returns its address space id.
  Result<uint32_t> add_process(pid_t pid);
  // Mappings of processes that do not exist, for measuring a full trie. Returns the number of trie entries.
  Result<size_t> add_fictive_processes(size_t processes, size_t mappings_each);
  Result<void> attach_lifecycle();
  // cpu-clock on these CPUs, as event 0.
  Result<void> start(unsigned frequency_hz, const std::vector<int>& cpus);
  // A perf event of any kind on these CPUs; `cookie`: event_cookie().
  Result<void> start(const perf_event_attr& attributes, uint64_t cookie, const std::vector<int>& cpus);
  void stop();
  void drain();

  struct ProgramStats {
    uint64_t run_ns = 0, runs = 0;
  };
  ProgramStats sampling_stats() const;  // needs kernel.bpf_stats_enabled
  event_counters counters(uint32_t event = 0) const;  // summed over CPUs

  const std::vector<sample_record>& samples() const { return samples_; }
  const std::vector<lifecycle_record>& lifecycle() const { return lifecycle_; }
  const std::unordered_map<uint64_t, Stack>& stacks() const { return stacks_; }
  const std::vector<std::vector<uint8_t>>& requests() const { return requests_; }
  const std::string& image_path(uint32_t image) const { return image_paths_.at(image); }
  cicada_bpf* skeleton() { return skeleton_; }
  // Resolves with bpf_snprintf in the kernel.
  std::vector<std::string> resolve(std::span<const uint64_t> addresses);

 private:
  BpfSession() = default;
  Result<uint32_t> load_image(const std::string& path, const elf::ElfFile& elf);
  Result<size_t> publish(uint32_t address_space, const std::vector<mapping_value>& mappings);
  void consume(std::span<const uint8_t> record);

  cicada_bpf* skeleton_ = nullptr;
  ring_buffer* ring_ = nullptr;
  std::span<uint8_t> slab_;
  UniqueFd slab_fd_;
  uint64_t slab_used_ = 64;  // position 0 means "no block"
  std::span<unwind_place> places_;
  std::map<std::string, uint32_t> images_;
  std::vector<std::string> image_paths_{""};
  std::vector<UniqueFd> events_, links_;
  std::vector<sample_record> samples_;
  std::vector<lifecycle_record> lifecycle_;
  std::unordered_map<uint64_t, Stack> stacks_;
  std::vector<std::vector<uint8_t>> requests_;
};

}  // namespace cicada::native
