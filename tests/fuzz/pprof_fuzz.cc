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
  uint64_t sum = 0;
  for (size_t i = 0; i < profile->sample_count(); ++i) sum += profile->value(i);
  CHECK(profile::build_call_tree(*profile, {}).total() == sum);
  return 0;
}
