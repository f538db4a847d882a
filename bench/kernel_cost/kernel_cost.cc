// SPDX-License-Identifier: Apache-2.0
// In-kernel cost of a sample of one process, from the kernel's own BPF statistics.
//
//   kernel_cost PID SECONDS [PROCESSES MAPPINGS [CACHES]]
//
// PROCESSES x MAPPINGS: what else fills the mapping trie. CACHES: 2 both, 1 without the frame cache, 0 without the mapping cache too.
//
// Prints: samples, mean frames, ns a sample, ns a frame, share of the frame cache. Every run of the program is charged, those that hit
// other processes too.
#include <fmt/format.h>
#include <sys/sysinfo.h>

#include <chrono>
#include <cstdlib>
#include <thread>

#include "bpf_session.h"

int main(int argc, char** argv) {
  using cicada::native::BpfSession;
  if (argc < 3) return 2;
  const auto pid = static_cast<pid_t>(std::atoi(argv[1]));
  const double seconds = std::atof(argv[2]);
  auto opened = BpfSession::open({.mapping_blocks = 1 << 20, .cache_levels = argc > 5 ? static_cast<uint32_t>(std::atoi(argv[5])) : 2});
  if (!opened) {
    fmt::print(stderr, "{}\n", opened.error().message());
    return 1;
  }
  BpfSession& session = **opened;
  if (argc > 4 && std::atoi(argv[3]) > 0) {
    const auto processes = static_cast<size_t>(std::atoi(argv[3])), mappings = static_cast<size_t>(std::atoi(argv[4]));
    auto entries = session.add_fictive_processes(processes, mappings);
    if (!entries) {
      fmt::print(stderr, "{}\n", entries.error().message());
      return 1;
    }
    fmt::print("trie: {} processes x {} mappings, {} entries ({:.2f} a mapping)\n", processes, mappings, *entries,
               static_cast<double>(*entries) / static_cast<double>(processes * mappings));
  }
  if (auto space = session.add_process(pid); !space) {
    fmt::print(stderr, "{}\n", space.error().message());
    return 1;
  }
  std::vector<int> cpus;
  for (int i = 0; i < ::get_nprocs(); i++) cpus.push_back(i);
  if (!session.start(999, cpus)) return 1;
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  while (std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    session.drain();
  }
  session.stop();
  session.drain();
  const auto stats = session.sampling_stats();
  const auto counts = session.counters();
  const auto stored = static_cast<double>(counts.counter[COUNTER_STORED]);
  double frames = 0, complete = 0;
  for (const sample_record& sample : session.samples()) {
    frames += sample.user_frames;
    complete += sample.end_reason == END_OUTERMOST || sample.end_reason == END_ZERO_RA;
  }
  const auto hits = static_cast<double>(counts.counter[COUNTER_FRAME_CACHE_HIT]);
  const auto misses = static_cast<double>(counts.counter[COUNTER_FRAME_CACHE_MISS]);
  fmt::print("cicada   samples {:.0f} frames {:.1f} complete {:.2f} % ns/sample {:.0f} ns/frame {:.1f} cache {:.1f} % runs {} stacks {}\n", stored,
             frames / stored, 100 * complete / stored, static_cast<double>(stats.run_ns) / stored, static_cast<double>(stats.run_ns) / frames,
             100 * hits / (hits + misses), stats.runs, session.stacks().size());
  return 0;
}
