// SPDX-License-Identifier: Apache-2.0
// A profile that grows at random: new stacks with recursion, names that come late and change, threads that are renamed, samples dropped, of two events.
#pragma once
#include <map>
#include <random>
#include <string>
#include <vector>

#include "profile/call_tree.h"
#include "profile/profile.h"

namespace cicada::profile {

class Growing {
 public:
  explicit Growing(uint32_t seed);
  void step();
  size_t below(size_t end) { return random_() % end; }

  Profile profile;

 private:
  FrameId frame();

  std::mt19937 random_;
  std::vector<ThreadId> threads_;
  uint64_t time_ = 0;
};

// What a tree says: self by path, without nodes that have nothing.
std::map<std::string, uint64_t> selfs(const CallTree& tree);

}  // namespace cicada::profile
