// SPDX-License-Identifier: Apache-2.0
#include "bpf_source/perf_events.h"

#include <gtest/gtest.h>

namespace cicada::bpf_source {
namespace {

TEST(PerfEvents, NamesTheCpuThatIsNotThere) {
  PerfEventOptions options;
  options.cpus = {4000};
  const auto events = PerfEvents::open(options, -1);
  ASSERT_FALSE(events);
  EXPECT_NE(events.error().message().find("CPU 4000"), std::string::npos) << events.error().message();
}

}  // namespace
}  // namespace cicada::bpf_source
