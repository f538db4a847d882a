// SPDX-License-Identifier: Apache-2.0
// Source lines and instructions of functions with their samples: lines where the recording has lines and the source is at hand, instructions of
// the functions whose code the samples are in (for an inlined function: the code around it).
//
//   Annotator annotator(profile, options);
//   const FunctionCosts costs = annotator.add_up({meant})[0];      // by function: is it meant?
//   std::vector<sink::AnnotatedPart> parts = TRY(annotator.source(costs));
//
// A profile holds addresses that were executing (or calling), never where their instructions begin: return addresses are stored minus one. So a
// count belongs to the instruction whose bytes hold the address.
// Threads: one.
#pragma once
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "profile/call_tree.h"
#include "profile/stack_totals.h"
#include "sink/flamegraph/annotation.h"

namespace cicada::cli {

struct Cost {
  uint64_t self = 0, total = 0;
};
struct FunctionCosts {
  std::map<std::pair<profile::StringId, uint32_t>, Cost> lines;    // by file and line
  std::map<std::pair<profile::ImageId, uint64_t>, Cost> addresses; // link addresses of native frames
  std::map<profile::ImageId, profile::FunctionId> outermost;       // whose code the addresses are in
  bool found = false;
};

class Annotator {
 public:
  // Borrows the profile. Only samples that `options` asks for are counted.
  Annotator(const profile::ProfileSnapshot& profile, const profile::CallTreeOptions& options);
  ~Annotator();

  // Of several functions in one pass. `which`: by FunctionId, its place in the result; kNotMeant: in none.
  static constexpr uint32_t kNotMeant = 0xffffffff;
  std::vector<FunctionCosts> add_up(const std::vector<uint32_t>& which, size_t count) const;
  uint64_t all() const { return all_; }

  // A recording names any file as source: only regular files are opened, and by a reader only (reader.h).
  // Lines between the first and the last one with samples, and some around them. Fails: the source is not there, or shorter than it was.
  Result<std::vector<sink::AnnotatedPart>> source(const FunctionCosts& costs) const;
  // All instructions. Fails: no code addresses, no file, no symbol that says where the code begins.
  Result<std::vector<sink::AnnotatedPart>> instructions(const FunctionCosts& costs);

  // Of the functions with most samples of their own, with what is near samples only; bounded in time and bytes.
  std::vector<sink::Annotation> hottest();

 private:
  struct OpenImage;
  Result<OpenImage*> open(profile::ImageId image);

  const profile::ProfileSnapshot& profile_;
  std::vector<profile::StackTotal> stacks_;
  uint64_t all_ = 0;
  std::map<profile::ImageId, std::unique_ptr<OpenImage>> images_;
};

}  // namespace cicada::cli
