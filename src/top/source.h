// SPDX-License-Identifier: Apache-2.0
// What a view asks about the code of a function, and the answer.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "profile/snapshot.h"
#include "sink/flamegraph/annotation.h"

namespace cicada::top {

struct SourceQuestion {
  uint64_t number = 0;
  std::shared_ptr<const profile::ProfileSnapshot> profile;
  profile::EventId event;
  std::string function;
  bool instructions = false;  // else its source
  std::shared_ptr<const std::vector<bool>> counted = {};  // by row of the profile; null: all
};
struct SourceAnswer {
  uint64_t number = 0;  // of the question
  std::string missing = {};  // why there is none
  std::vector<sink::AnnotatedPart> parts = {};
  uint64_t all = 0;     // what everything costs that counts
};

// Takes as long as the files take.
SourceAnswer read_source(const SourceQuestion& question);

}  // namespace cicada::top
