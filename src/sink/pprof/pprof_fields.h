// SPDX-License-Identifier: Apache-2.0
// Field numbers of pprof's profile.proto, as far as we write or read them.
// Source: github.com/google/pprof, proto/profile.proto.
//
// The one place that includes protozero, because of what it does with its assertions: its readers *assert* that a field has the
// wire type that the schema says, and in a foreign file it may not. Here they throw, like its other checks (pprof_reader.cc
// catches them).
#pragma once
#include <protozero/exception.hpp>
#define protozero_assert(condition) \
  do {                              \
    if (!(condition)) throw protozero::unknown_pbf_wire_type_exception(); \
  } while (false)
#include <protozero/pbf_builder.hpp>
#include <protozero/pbf_message.hpp>

namespace cicada::sink::pprof {

enum class Profile : protozero::pbf_tag_type {
  kSampleType = 1, kSample = 2, kMapping = 3, kLocation = 4, kFunction = 5, kStringTable = 6, kTimeNanos = 9, kDurationNanos = 10,
  kPeriodType = 11, kPeriod = 12, kComment = 13, kDefaultSampleType = 14,
};
enum class ValueType : protozero::pbf_tag_type { kType = 1, kUnit = 2 };
enum class Sample : protozero::pbf_tag_type { kLocationId = 1, kValue = 2, kLabel = 3 };
enum class Label : protozero::pbf_tag_type { kKey = 1, kStr = 2, kNum = 3 };
enum class Mapping : protozero::pbf_tag_type {
  kId = 1, kMemoryStart = 2, kMemoryLimit = 3, kFilename = 5, kBuildId = 6, kHasFunctions = 7, kHasFilenames = 8, kHasLineNumbers = 9, kHasInlineFrames = 10,
};
enum class Location : protozero::pbf_tag_type { kId = 1, kMappingId = 2, kAddress = 3, kLine = 4 };
enum class Line : protozero::pbf_tag_type { kFunctionId = 1, kLine = 2 };
enum class Function : protozero::pbf_tag_type { kId = 1, kName = 2, kSystemName = 3, kFilename = 4 };

}  // namespace cicada::sink::pprof
