// SPDX-License-Identifier: Apache-2.0
// What a profile of N samples costs: bytes a sample, writing and loading its recording, aggregating it into call trees.
// Seconds are CPU seconds.
#include <malloc.h>
#include <unistd.h>

#include <ctime>
#include <cstdlib>
#include <filesystem>

#include "base/file_mapping.h"
#include "profile/synthetic_profile_for_test.h"
#include "sink/recording/recording_reader.h"
#include "sink/recording/recording_sink.h"

namespace {

using namespace cicada;

// Of this process, not of the clock on the wall: the machine may be shared.
double cpu_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
}

template <typename Work>
auto timed(const char* name, Work work) {
  const double start = cpu_seconds();
  auto result = work();
  std::printf("%-28s %8.3f s\n", name, cpu_seconds() - start);
  return result;
}

}  // namespace

int main(int argc, char** argv) {
  const size_t samples = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 10000000;
  const std::string path = fmt::format("/tmp/cicada-bench-{}.cicada", ::getpid());
  const size_t before = ::mallinfo2().uordblks + ::mallinfo2().hblkhd;
  profile::Profile made = profile::make_synthetic_profile({.samples = samples, .stacks = 200000, .functions = 20000, .depth = 60, .processes = 200, .threads = 4, .cpus = 16});
  const size_t bytes = ::mallinfo2().uordblks + ::mallinfo2().hblkhd - before;
  std::printf("%-28s %8zu\n%-28s %8zu\n", "samples", samples, "stacks (tree nodes)", made.stacks().size());
  std::printf("%-28s %8.1f (columns 24.0, the rest tables)\n", "bytes a sample in memory", static_cast<double>(bytes) / static_cast<double>(samples));
  const auto sink = sink::make_recording_sink(path, {});
  const auto written = timed("write .cicada", [&] { return sink->finish(made); });
  if (!written) return 1;
  std::printf("%-28s %8.2f\n", "bytes a sample on disk", static_cast<double>(std::filesystem::file_size(path)) / static_cast<double>(samples));
  made = {};
  const double start = cpu_seconds();
  const auto file = FileMapping::open(path);
  auto recording = timed("load .cicada", [&] { return sink::read_recording(file->bytes(), path); });
  const auto tree = timed("aggregate into a call tree", [&] { return profile::build_call_tree(recording->profile, {}); });
  std::printf("%-28s %8.3f s   (budget 2 s for 10 million)\n", "load + aggregate", cpu_seconds() - start);
  timed("the same, by process+thread", [&] { return profile::build_call_tree(recording->profile, {.group_by = {profile::GroupBy::kProcess, profile::GroupBy::kThread}}); });
  std::printf("%-28s %8zu\n", "nodes", tree.nodes.size());
  const bool right = tree.total() == samples;
  std::printf("%-28s %8s\n", "total equals samples", right ? "yes" : "NO");
  std::filesystem::remove(path);
  return right ? 0 : 1;
}
