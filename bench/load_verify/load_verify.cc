// SPDX-License-Identifier: Apache-2.0
// How long the kernel takes to load and verify each program, and how many instructions its verifier looked at.
//
//   load_verify [runs]      median and best of that many loads: of what a plain recording needs, as it loads it, and of the whole object
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "abi/event_fields.h"
#include "abi/settings.h"
#include "bpf_source/bpf_object.h"
#include "cicada.skel.h"

namespace {

using Clock = std::chrono::steady_clock;

struct ProgramCost {
  std::string name;
  unsigned instructions = 0;  // of the program
  unsigned verified = 0;      // looked at by the verifier
  unsigned verify_us = 0;
};

int print_errors(libbpf_print_level level, const char* format, va_list arguments) {
  return level == LIBBPF_WARN ? vfprintf(stderr, format, arguments) : 0;
}

// 0: the log has no such line.
unsigned number_behind(const char* log, const char* text) {
  const char* const found = std::strstr(log, text);
  return found ? static_cast<unsigned>(std::atoi(found + std::strlen(text))) : 0;
}

// Milliseconds from opened object to loaded programs; with `costs`, asks the verifier for its statistics.
double load_once(std::vector<ProgramCost>* costs) {
  cicada_bpf* skeleton = cicada_bpf__open();
  if (!skeleton) return -1;
  // As bpf_source/ does: one frame cache and one copy of a stack for each CPU there can be.
  bpf_map__set_max_entries(skeleton->maps.frame_caches, static_cast<unsigned>(libbpf_num_possible_cpus()));
  bpf_map__set_max_entries(skeleton->maps.request_copies, static_cast<unsigned>(libbpf_num_possible_cpus()));
  // A log buffer for each program: "verification time N usec" and "processed N insns" at log level 4.
  std::vector<std::vector<char>> logs;
  bpf_program* program = nullptr;
  if (costs) {
    bpf_object__for_each_program(program, skeleton->obj) {
      logs.emplace_back(64 << 10);
      bpf_program__set_log_buf(program, logs.back().data(), logs.back().size());
      bpf_program__set_log_level(program, 4);
    }
  }
  const auto begin = Clock::now();
  const int error = cicada_bpf__load(skeleton);
  const double ms = std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
  if (costs) {
    size_t i = 0;
    bpf_object__for_each_program(program, skeleton->obj) {
      ProgramCost cost{bpf_program__name(program), static_cast<unsigned>(bpf_program__insn_cnt(program)), 0, 0};
      const char* const log = logs[i++].data();
      cost.verified = number_behind(log, "processed ");
      cost.verify_us = number_behind(log, "verification time ");
      costs->push_back(cost);
    }
  }
  cicada_bpf__destroy(skeleton);
  return error ? -1 : ms;
}

double load_plain() {
  const auto begin = Clock::now();
  const auto object = cicada::bpf_source::BpfObject::load({});
  if (!object) fmt::print(stderr, "{}\n", object.error().message());
  return object ? std::chrono::duration<double, std::milli>(Clock::now() - begin).count() : -1;
}

}  // namespace

int main(int argc, char** argv) {
  libbpf_set_print(print_errors);
  libbpf_set_strict_mode(LIBBPF_STRICT_ALL);
  const int runs = argc > 1 ? std::max(1, std::atoi(argv[1])) : 11;
  std::vector<ProgramCost> costs;
  const double first = load_once(&costs);
  for (const ProgramCost& cost : costs)
    fmt::print("{:<24} {:>6} instructions {:>8} verified (limit 100,000) in {:>6.2f} ms\n", cost.name, cost.instructions, cost.verified,
               cost.verify_us / 1000.0);
  if (first < 0) {
    fmt::print(stderr, "the object does not load\n");
    return 1;
  }
  const auto print_times = [runs](const char* what, auto load, const char* limit) {
    std::vector<double> times;
    for (int i = 0; i < runs; i++) times.push_back(load());
    std::sort(times.begin(), times.end());
    fmt::print("load + verify, {}: median {:.1f} ms, best {:.1f} ms of {}{}\n", what, times[times.size() / 2], times[0], runs, limit);
    return times[0] >= 0;
  };
  const bool loaded = print_times("a plain recording", load_plain, " (limit 50 ms)") && print_times("whole object", [] { return load_once(nullptr); }, "");
  return loaded ? 0 : 1;
}
