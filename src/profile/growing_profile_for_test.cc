// SPDX-License-Identifier: Apache-2.0
#include "profile/growing_profile_for_test.h"

#include <string>

namespace cicada::profile {

Growing::Growing(uint32_t seed) : random_(seed) {
  profile.header.events = {{.name = "clock"}, {.name = "faults", .unit = Unit::kEvents}};
  for (int p = 0; p < 3; ++p) {
    const ProcessId process = profile.intern_process(100 + p, 1);
    for (int t = 0; t < 2; ++t) threads_.push_back(profile.intern_thread(process, 100 + p + 10 * t));
  }
}

void Growing::step() {
  for (size_t i = below(400); i-- > 0;) {
    StackId stack;
    for (size_t depth = below(7); depth-- > 0;) stack = profile.intern_stack(stack, frame());
    profile.append_sample({.time_ns = ++time_, .thread = threads_[below(threads_.size())], .stack = stack, .value = 1 + below(3),
                           .cpu = static_cast<uint16_t>(below(2)), .event = {static_cast<uint8_t>(below(4) == 0)}, .idle = below(9) == 0});
  }
  for (size_t i = below(4); i-- > 0;) {
    const char* const names[] = {"alpha", "beta", "gamma", "handle_softirqs", "net_rx_action", "do_idle"};
    std::vector<Location> locations;
    for (size_t n = 1 + below(2); n-- > 0;) locations.push_back({profile.intern_function({profile.intern(names[below(6)]), {}, {}}), {}, 0, n != 0});
    profile.set_locations(frame(), locations);
  }
  if (below(3) == 0) profile.edit_process(ProcessId(below(3)), [&](Process& row) { row.name = profile.intern(std::to_string(below(4))); });
  if (below(3) == 0) profile.edit_thread(threads_[below(threads_.size())], [&](Thread& row) { row.name = profile.intern(std::to_string(below(4))); });
  if (profile.sample_count() > 6000) profile.drop_samples(4096);
}

FrameId Growing::frame() { return profile.intern_frame({below(3) == 0 ? FrameKind::kKernel : FrameKind::kJit, {}, 0, below(40), {}}); }

std::map<std::string, uint64_t> selfs(const CallTree& tree) {
  std::vector<std::string> paths(tree.nodes.size());
  std::map<std::string, uint64_t> out;
  for (size_t i = 1; i < tree.nodes.size(); ++i) {
    paths[i] = paths[tree.nodes[i].parent] + ";" + std::string(tree.text(tree.nodes[i].name));
    if (tree.nodes[i].self != 0) out[paths[i]] = tree.nodes[i].self;
  }
  return out;
}

}  // namespace cicada::profile
