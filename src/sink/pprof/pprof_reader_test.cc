// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "profile/synthetic_profile_for_test.h"
#include "sink/formats.h"
#include "sink/gzip.h"
#include "sink/pprof/pprof_fields.h"
#include "sink/profile_reader.h"

namespace cicada::sink {
namespace {

namespace fs = std::filesystem;
using namespace profile;

// Two events: a row that stands for three samples of the clock, one of 4,096 bytes.
Profile two_events(EventId clock, EventId allocations) {
  Profile profile;
  profile.header.events.resize(2);
  profile.header.events[clock.value] = {.period = 1'000'000, .frequency_hz = 1000, .sample_ns = 1'000'000};
  profile.header.events[allocations.value] = {.name = "alloc", .unit = Unit::kBytes, .period = 512};
  Frame label;
  label.kind = FrameKind::kLabel;
  label.label = profile.intern("f");
  const FrameId frame = profile.intern_frame(label);
  const StackId stack = profile.intern_stack(StackId{}, frame);
  const ThreadId thread = profile.intern_thread(profile.intern_process(1, 1), 1);
  profile.append_sample({.time_ns = 1, .thread = thread, .stack = stack, .value = 3, .event = clock});
  profile.append_sample({.time_ns = 1, .thread = thread, .stack = stack, .value = 4096, .event = allocations});
  return profile;
}

Result<Profile> written_and_read(const Profile& profile, const SinkOptions& options) {
  const fs::path path = fs::temp_directory_path() / fmt::format("cicada-events-{}.pb.gz", ::getpid());
  EXPECT_TRUE(make_pprof_sink(path, options)->finish(profile));
  auto again = read_profile(path);
  fs::remove(path);
  return again;
}

TEST(PprofReader, GivesEachEventBack) {
  const auto after = written_and_read(two_events({0}, {1}), {});
  ASSERT_TRUE(after) << after.error().message();
  ASSERT_TRUE(after->validate());
  ASSERT_EQ(after->header.events.size(), 2U);
  EXPECT_TRUE(after->header.events[0].is_comparable({.period = 1'000'000, .sample_ns = 1'000'000}));
  EXPECT_EQ(after->header.events[1].name, "alloc");
  EXPECT_EQ(after->header.events[1].unit, Unit::kBytes);
  EXPECT_EQ(after->totals_of({0}).value, 3U);
  EXPECT_EQ(after->totals_of({1}).value, 4096U);
}

TEST(PprofWriter, CountsTheSamplesOfTheEventThatIsWritten) {
  SinkOptions options;
  options.tree.event = EventId{1};
  const auto after = written_and_read(two_events({1}, {0}), options);
  ASSERT_TRUE(after) << after.error().message();
  ASSERT_EQ(after->header.events.size(), 1U);
  EXPECT_EQ(after->totals_of({0}).value, 3U);
}

// As Go writes its heap: the default is the third of four.
TEST(PprofReader, TakesEachTypeOfValueForAnEvent) {
  using protozero::pbf_builder;
  std::string bytes;
  pbf_builder<pprof::Profile> out(bytes);
  for (const char* text : {"", "alloc_objects", "count", "alloc_space", "bytes", "inuse_space", "space", "mib", "megabytes"}) out.add_string(pprof::Profile::kStringTable, text);
  for (const auto& [type, unit] : std::vector<std::pair<int64_t, int64_t>>{{1, 2}, {3, 4}, {5, 4}, {7, 8}}) {
    pbf_builder<pprof::ValueType> value(out, pprof::Profile::kSampleType);
    value.add_int64(pprof::ValueType::kType, type);
    value.add_int64(pprof::ValueType::kUnit, unit);
  }
  out.add_int64(pprof::Profile::kDefaultSampleType, 5);
  {
    pbf_builder<pprof::Sample> sample(out, pprof::Profile::kSample);
    for (const int64_t value : {7, 700, 100, 2}) sample.add_int64(pprof::Sample::kValue, value);
  }
  const auto profile = parse_pprof({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()}, "heap");
  ASSERT_TRUE(profile) << profile.error().message();
  ASSERT_EQ(profile->header.events.size(), 4U);
  const std::vector<std::tuple<std::string, Unit, uint64_t>> expected = {
      {"inuse_space", Unit::kBytes, 100}, {"alloc_objects", Unit::kEvents, 7}, {"alloc_space", Unit::kBytes, 700}, {"mib", Unit::kBytes, 2 << 20}};
  for (uint8_t i = 0; i < 4; ++i) {
    EXPECT_EQ(profile->header.events[i].name, std::get<0>(expected[i]));
    EXPECT_EQ(profile->header.events[i].unit, std::get<1>(expected[i]));
    EXPECT_EQ(profile->totals_of({i}).value, std::get<2>(expected[i]));
  }
}

TEST(PprofReader, RefusesAGzipBomb) {
  const fs::path path = fs::temp_directory_path() / fmt::format("cicada-bomb-{}.pb.gz", ::getpid());
  {
    auto file = OutputFile::create(path, {});
    ASSERT_TRUE(file);
    GzipWriter gzip(*file);
    const std::string zeros(1 << 20, '\0');
    for (int i = 0; i < 400; ++i) gzip.write(zeros);
    gzip.finish();
    ASSERT_TRUE(file->commit());
  }
  const auto read = read_profile(path);
  fs::remove(path);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().kind(), ErrorKind::kLimit) << read.error().message();
}

TEST(PprofReader, SurvivesEveryTruncation) {
  const fs::path path = fs::temp_directory_path() / fmt::format("cicada-cut-{}.pb.gz", ::getpid());
  ASSERT_TRUE(make_pprof_sink(path, {})->finish(make_synthetic_profile({.samples = 50, .stacks = 10, .functions = 10})));
  std::ifstream in(path, std::ios::binary);
  const std::string packed{std::istreambuf_iterator<char>(in), {}};
  fs::remove(path);
  const Bytes bytes(reinterpret_cast<const uint8_t*>(packed.data()), packed.size());
  for (size_t size = 0; size < bytes.size(); ++size) EXPECT_FALSE(parse_pprof(bytes.first(size), "x"));
  const auto raw = gunzip(bytes, 1 << 20);
  ASSERT_TRUE(raw);
  for (size_t size = 0; size < raw->size(); ++size) {
    const auto profile = parse_pprof(Bytes(*raw).first(size), "x");
    if (profile) {
      EXPECT_TRUE(profile->validate());
    }
  }
}

}  // namespace
}  // namespace cicada::sink
