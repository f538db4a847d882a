// SPDX-License-Identifier: Apache-2.0
// The tables of a pprof file, by the ids that its samples use. They may come in any order and behind the samples, so this is the first of two
// passes. protozero checks every length and throws: for pprof_reader.cc, which catches.
#pragma once
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "base/seeded_hash.h"
#include "profile/profile.h"
#include "sink/pprof/pprof_fields.h"

namespace cicada::sink {

class PprofTables {
 public:
  // Indices of strings.
  struct Type {
    int64_t type = 0, unit = 0;
  };
  // What the values of a sample are.
  struct Values {
    std::vector<Type> types;
    Type period_type;
    int64_t period = 0, default_type = 0;
  };

  // Borrows both; functions, images and frames become the profile's.
  PprofTables(protozero::data_view message, profile::Profile& profile) : message_(message), profile_(profile) {}

  // Fails: kCorrupt (a reference to nothing, no sample type), kLimit (an address with too many lines).
  Result<void> read();
  const Values& values() const { return values_; }
  Result<std::string_view> text(int64_t index) const;
  Result<profile::FrameId> resolve_location(uint64_t id) const;

 private:
  struct FunctionRow {
    profile::FunctionId function;
    profile::StringId file;
  };

  Result<void> read_function(protozero::pbf_message<pprof::Function> in);
  Result<void> read_mapping(protozero::pbf_message<pprof::Mapping> in);
  Result<void> read_location(protozero::pbf_message<pprof::Location> in);
  Result<profile::Location> read_line(protozero::pbf_message<pprof::Line> in) const;

  protozero::data_view message_;
  profile::Profile& profile_;
  std::vector<std::string_view> strings_;
  Values values_;
  // by id in the file
  std::unordered_map<uint64_t, FunctionRow, SeededHash> functions_;
  std::unordered_map<uint64_t, profile::ImageId, SeededHash> images_;
  std::unordered_map<uint64_t, profile::FrameId, SeededHash> frames_;
};

}  // namespace cicada::sink
