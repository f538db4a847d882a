// SPDX-License-Identifier: Apache-2.0
// module: sink
// The pprof reader, plain and gzipped.
#include "base/check.h"
#include "profile/call_tree.h"
#include "sink/profile_reader.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace cicada;
  const auto profile = sink::parse_pprof({data, size}, "fuzz");
  if (!profile) return 0;
  CHECK(profile->validate());
  std::vector<uint64_t> sums(profile->header.events.size());
  for (size_t i = 0; i < profile->sample_count(); ++i) sums.at(profile->samples().event[i].value) += profile->value(i);
  for (size_t i = 0; i < sums.size(); ++i) {
    profile::CallTreeOptions options;
    options.event = profile::EventId{static_cast<uint8_t>(i)};
    CHECK(profile::build_call_tree(*profile, options).total() == sums[i]);
  }
  return 0;
}
