// SPDX-License-Identifier: Apache-2.0
// Samples by thread and in time order: what formats with a time line are made of.
#pragma once
#include <algorithm>
#include <vector>

#include "profile/call_tree.h"

namespace cicada::sink {

struct ThreadSamples {
  profile::ThreadId thread;
  std::vector<profile::SampleIndex> samples;  // by time
};

// Threads that have samples with a leaf (see build_call_tree), in the order of the profile's table.
inline std::vector<ThreadSamples> group_by_thread(const profile::ProfileSnapshot& profile, const std::vector<uint32_t>& leaf_of_sample) {
  std::vector<ThreadSamples> threads(profile.threads().size());
  const profile::Samples& columns = profile.samples();
  for (size_t i = 0; i < leaf_of_sample.size(); ++i)
    if (leaf_of_sample[i] != profile::kNoNode) threads[columns.thread[i].value].samples.push_back(static_cast<uint32_t>(i));
  for (size_t t = 0; t < threads.size(); ++t) {
    threads[t].thread = profile::ThreadId(t);
    std::stable_sort(threads[t].samples.begin(), threads[t].samples.end(),
                     [&](uint32_t a, uint32_t b) { return columns.time_ns[a] < columns.time_ns[b]; });
  }
  std::erase_if(threads, [](const ThreadSamples& thread) { return thread.samples.empty(); });
  return threads;
}

}  // namespace cicada::sink
