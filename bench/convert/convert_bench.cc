// SPDX-License-Identifier: Apache-2.0
// `convert_bench make FILE SAMPLES` writes a synthetic profile (format by extension).
// `convert_bench IN OUT` converts and prints the seconds it took, elapsed and CPU, reading included: what `cicada convert` does, without the
// command line.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include "profile/synthetic_profile_for_test.h"
#include "sink/profile_reader.h"
#include "sink/sink_registry.h"

namespace {
double seconds(const timespec& time) { return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9; }
}  // namespace

int main(int argc, char** argv) {
  using namespace cicada;
  timespec begin{};
  ::clock_gettime(CLOCK_MONOTONIC, &begin);
  if (argc < 3) return 2;
  const bool make = argc == 4 && std::strcmp(argv[1], "make") == 0;
  const auto profile = make ? Result<profile::Profile>(profile::make_synthetic_profile(
                                  {.samples = std::strtoull(argv[3], nullptr, 10), .stacks = 200000, .functions = 20000, .depth = 60, .processes = 200, .threads = 4, .cpus = 16}))
                            : sink::read_profile(argv[1]);
  if (!profile) {
    std::fprintf(stderr, "%s\n", profile.error().message().c_str());
    return 1;
  }
  const auto out = sink::make_sink(argv[2], {});
  const auto done = out ? (*out)->finish(*profile) : Result<void>(out.error());
  if (!done) {
    std::fprintf(stderr, "%s\n", done.error().message().c_str());
    return 1;
  }
  timespec used{}, now{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  std::printf("%.3f %.3f\n", seconds(now) - seconds(begin), seconds(used));
  return 0;
}
