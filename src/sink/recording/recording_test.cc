// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <random>

#include "profile/compaction.h"
#include "profile/synthetic_profile_for_test.h"
#include "sink/recording/delta_codec.h"
#include "sink/recording/recording_reader.h"
#include "sink/recording/recording_sink.h"

namespace cicada::sink {
namespace {

namespace fs = std::filesystem;
using profile::Profile;

class RecordingTest : public ::testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/cicada-recording-XXXXXX";
    ASSERT_NE(::mkdtemp(name), nullptr);
    directory = name;
    path = directory / "x.cicada";
  }
  void TearDown() override { fs::remove_all(directory); }
  static std::vector<uint8_t> content(const fs::path& file) {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  std::vector<uint8_t> written(const Profile& profile) {
    const auto sink = make_recording_sink(path, {});
    const auto result = sink->finish(profile);
    EXPECT_TRUE(result) << result.error().message();
    return content(path);
  }
  fs::path directory, path;
};

TEST_F(RecordingTest, ReadsBackWhatWasWritten) {
  const Profile profile = profile::make_synthetic_profile({.samples = 5000, .hostile_names = true});
  const auto bytes = written(profile);
  const auto recording = read_recording(bytes, "x");
  ASSERT_TRUE(recording) << recording.error().message();
  EXPECT_TRUE(recording->complete);
  EXPECT_TRUE(recording->profile.header.warnings.empty());
  ASSERT_TRUE(recording->profile.validate());
  ByteWriter all_written, all_read;  // from nothing
  append_delta(all_written, profile, {});
  append_delta(all_read, recording->profile, {});
  EXPECT_EQ(all_written.bytes(), all_read.bytes());
}

TEST_F(RecordingTest, ReadsBackWaits) {
  Profile profile = profile::make_synthetic_profile({.samples = 100});
  profile.header.events.push_back({.name = "off-cpu", .unit = profile::Unit::kNanoseconds, .spent = profile::Spent::kWaiting, .value = 5});
  const uint64_t time_ns = profile.sample(99).time_ns + 1;
  profile.append_sample({.time_ns = time_ns, .thread = profile.sample(0).thread, .value = 7, .lasted_ns = 6, .event = {static_cast<uint8_t>(profile.header.events.size() - 1)}});
  const auto recording = read_recording(written(profile), "x");
  ASSERT_TRUE(recording && recording->complete);
  EXPECT_EQ(recording->profile.sample(99).lasted_ns, 0U);
  EXPECT_EQ(recording->profile.sample(100).lasted_ns, 6U);
  EXPECT_EQ(recording->profile.header.events.back().spent, profile::Spent::kWaiting);
}

TEST_F(RecordingTest, ReadsBackThreadsTimesAsTheyGrow) {
  Profile profile = profile::make_synthetic_profile({.samples = 100});
  const profile::ThreadId first = profile.sample(0).thread;
  profile.edit_thread(first, [](profile::Thread& row) { row.cpu_ns = 5; });
  const auto sink = make_recording_sink(path, {});
  ASSERT_TRUE(sink->update(profile));
  profile.edit_thread(first, [](profile::Thread& row) { row.cpu_ns = 1'000'000'007; });
  ASSERT_TRUE(sink->update(profile));
  const auto streamed = read_recording(content(path), "x");
  ASSERT_TRUE(streamed);
  EXPECT_EQ(streamed->profile.threads()[first.value].cpu_ns, 1'000'000'007U);
  ASSERT_TRUE(sink->finish(profile));
  const auto recording = read_recording(content(path), "x");
  ASSERT_TRUE(recording && recording->complete);
  for (size_t i = 0; i < recording->profile.threads().size(); ++i)
    EXPECT_EQ(recording->profile.threads()[i].cpu_ns, i == first.value ? std::optional(1'000'000'007UL) : std::nullopt);
}

// What programs can do to a recording: nothing of it may be more than its reader takes.
class ExpandingRecording : public RecordingTest, public ::testing::WithParamInterface<int> {};

TEST_P(ExpandingRecording, IsReadBack) {
  Profile profile;
  profile.header.events.resize(2);
  const profile::ThreadId thread = profile.intern_thread(profile.intern_process(1, 1), 1);
  const profile::FunctionId function = profile.intern_function({profile.intern("inlined"), {}, {}});
  profile::StackId stack;
  if (GetParam() == 0) {  // one frame below itself
    const profile::FrameId frame = profile.intern_frame({.kind = profile::FrameKind::kJit, .image = {}, .address = 1, .label = {}});
    for (size_t i = 0; i < 2'000'000; ++i) stack = profile.intern_stack(stack, frame);
  }
  for (uint32_t i = 0; GetParam() == 1 && i < 100'000; ++i) {  // hundreds of inlined calls, the same everywhere
    const profile::FrameId frame = profile.intern_frame({.kind = profile::FrameKind::kJit, .image = {}, .address = i, .label = {}});
    profile.set_locations(frame, std::vector<profile::Location>(500, {.function = function, .line = 7}));
    stack = profile.intern_stack({}, frame);
  }
  for (uint32_t i = 0; GetParam() == 2 && i < 4000; ++i) {  // another chain for each
    const profile::FrameId frame = profile.intern_frame({.kind = profile::FrameKind::kJit, .image = {}, .address = i, .label = {}});
    std::vector<profile::Location> locations(500, {.function = function, .line = 7});
    locations.back().line = i;
    profile.set_locations(frame, locations);
    stack = profile.intern_stack({}, frame);
  }
  for (size_t i = 0; GetParam() == 3 && i < 70'000; ++i) profile.intern(std::string(1000, 'x') + std::to_string(i));
  for (const uint8_t event : {uint8_t{0}, uint8_t{1}}) profile.append_sample({.time_ns = 1, .thread = thread, .stack = stack, .event = {event}});
  const auto sink = make_recording_sink(path, {});
  ASSERT_TRUE(sink->update(profile));
  const auto streamed = content(path);
  const auto so_far = read_recording(streamed, "x");
  ASSERT_TRUE(so_far) << so_far.error().message();
  EXPECT_EQ(so_far->profile.sample_count(), 2U) << fmt::format("{}", fmt::join(so_far->profile.header.warnings, "; "));
  ASSERT_TRUE(sink->finish(profile));
  const auto bytes = content(path);
  EXPECT_LT(bytes.size(), 2'000'000U);
  const auto recording = read_recording(bytes, "x");
  ASSERT_TRUE(recording) << recording.error().message();
  EXPECT_TRUE(recording->complete);
  EXPECT_EQ(recording->profile.sample_count(), 2U);
  EXPECT_EQ(recording->profile.places().size(), profile.places().size());
  EXPECT_EQ(recording->profile.stacks().size(), profile.stacks().size());
  EXPECT_EQ(recording->profile.strings().size(), profile.strings().size());
}

INSTANTIATE_TEST_SUITE_P(Ways, ExpandingRecording, ::testing::Range(0, 4));

TEST_F(RecordingTest, BeginsAnewWithWhatACompactedProfileKeeps) {
  Profile profile = profile::make_synthetic_profile({.samples = 20000});
  const auto sink = make_recording_sink(path, {});
  ASSERT_TRUE(sink->update(profile));
  profile.drop_samples(15000);
  profile::Compaction compaction(profile);
  compaction.copy({});
  compaction.finish(profile, [](profile::RowCopier&) {});
  ASSERT_TRUE(sink->update(profile));
  const auto half_way = content(path);
  const auto so_far = read_recording(half_way, "x");
  ASSERT_TRUE(so_far) << so_far.error().message();
  EXPECT_EQ(so_far->profile.sample_count(), profile.sample_count());
  profile.append_sample(profile.sample(0));
  const auto finished = sink->finish(profile);
  ASSERT_TRUE(finished) << finished.error().message();
  const auto bytes = content(path);
  const auto recording = read_recording(bytes, "x");
  ASSERT_TRUE(recording) << recording.error().message();
  EXPECT_TRUE(recording->complete);
  ASSERT_TRUE(recording->profile.validate());
  EXPECT_EQ(recording->profile.sample_count(), profile.sample_count());
  EXPECT_EQ(recording->profile.stacks().size(), profile.stacks().size());
}

// What is asked to keep the last does not grow with what is dropped, and has at the end what the profile has.
TEST_F(RecordingTest, KeepsTheLast) {
  for (const bool keeps_last : {true, false}) {
    Profile profile = profile::make_synthetic_profile({.samples = 20000});
    SinkOptions options;
    options.keeps_last = keeps_last;
    const auto sink = make_recording_sink(path, options);
    ASSERT_TRUE(sink->update(profile));
    size_t most = 0;
    for (int round = 0; round < 20; ++round) {
      for (size_t i = 0; i < 8192; ++i) profile.append_sample(profile.sample(i));
      profile.drop_samples(8192);
      ASSERT_TRUE(sink->update(profile));
      const auto bytes = content(path);
      const auto so_far = read_recording(bytes, "x");
      ASSERT_TRUE(so_far) << so_far.error().message();
      most = std::max(most, so_far->profile.sample_count());
    }
    const size_t all = 20000 + 20 * 8192 + 1;
    profile.drop_samples(profile.sample_count() - 6000);  // the file begins anew with the next sample, and more is dropped after that
    profile.append_sample(profile.sample(0));
    ASSERT_TRUE(sink->update(profile));
    profile.drop_samples(4096);
    const auto finished = sink->finish(profile);
    ASSERT_TRUE(finished) << finished.error().message();
    const auto bytes = content(path);
    const auto recording = read_recording(bytes, "x");
    ASSERT_TRUE(recording) << recording.error().message();
    EXPECT_TRUE(recording->complete);
    ASSERT_TRUE(recording->profile.validate());
    EXPECT_TRUE(recording->profile.header.warnings.empty());
    EXPECT_EQ(recording->profile.sample_count(), keeps_last ? profile.sample_count() : all);
    EXPECT_LE(most, keeps_last ? 60000 : all);
    std::filesystem::remove(path);
  }
}

TEST_F(RecordingTest, AnEmptyRecordingIsComplete) {
  const auto bytes = written(Profile());
  const auto recording = read_recording(bytes, "x");
  ASSERT_TRUE(recording);
  EXPECT_TRUE(recording->complete);
  EXPECT_EQ(recording->profile.sample_count(), 0u);
}

TEST_F(RecordingTest, LosesOnlyTheLastUpdateToKill9) {
  const Profile whole = profile::make_synthetic_profile({.samples = 3000});
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    Profile part = profile::make_synthetic_profile({.samples = 0});
    const auto sink = make_recording_sink(path, {});
    for (size_t i = 0; i < 2000; ++i) {
      part.append_sample(whole.sample(i));
      if (i % 100 == 99 && !sink->update(part)) ::_exit(1);
    }
    for (size_t i = 2000; i < 2050; ++i) part.append_sample(whole.sample(i));
    ::kill(::getpid(), SIGKILL);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  ASSERT_TRUE(WIFSIGNALED(status));
  const auto bytes = content(path);
  const auto recording = read_recording(bytes, "x");
  ASSERT_TRUE(recording) << recording.error().message();
  EXPECT_FALSE(recording->complete);
  EXPECT_EQ(recording->profile.sample_count(), 2000u);
  ASSERT_EQ(recording->profile.header.warnings.size(), 1u);
  EXPECT_NE(recording->profile.header.warnings[0].find("cut off"), std::string::npos);
  EXPECT_TRUE(recording->profile.validate());
  const auto& times = recording->profile.samples().time_ns;  // the header is from the first update
  EXPECT_EQ(recording->profile.header.duration_ns, *std::max_element(times.begin(), times.end()) - recording->profile.header.start_monotonic_ns);
}

TEST_F(RecordingTest, OpensWhateverIsLeftOfATruncatedFile) {
  Profile part = profile::make_synthetic_profile({.samples = 0, .stacks = 20, .functions = 20});
  const Profile whole = profile::make_synthetic_profile({.samples = 400, .stacks = 20, .functions = 20});
  const auto sink = make_recording_sink(path, {});
  for (size_t i = 0; i < 400; ++i) {
    part.append_sample(whole.sample(i));
    if (i % 50 == 49) {
      ASSERT_TRUE(sink->update(part));
    }
  }
  const auto streamed = content(path);  // what a killed recording leaves
  size_t before = 0;
  for (size_t size = 0; size <= streamed.size(); ++size) {
    const auto recording = read_recording(Bytes(streamed.data(), size), "x");
    ASSERT_EQ(static_cast<bool>(recording), size >= 12);
    if (size < 12) continue;
    EXPECT_FALSE(recording->complete);
    EXPECT_FALSE(recording->profile.header.warnings.empty());
    EXPECT_GE(recording->profile.sample_count(), before);
    EXPECT_EQ(recording->profile.sample_count() % 50, 0u);
    before = recording->profile.sample_count();
  }
  EXPECT_EQ(before, 400u);

  ASSERT_TRUE(sink->finish(part));
  const auto finished = content(path);
  EXPECT_LT(finished.size(), streamed.size());  // in one piece
  for (size_t size = 12; size <= finished.size(); ++size) {
    const auto recording = read_recording(Bytes(finished.data(), size), "x");
    ASSERT_TRUE(recording);
    EXPECT_EQ(recording->complete, size == finished.size());
    EXPECT_EQ(recording->profile.header.warnings.empty(), size == finished.size());
    ASSERT_TRUE(recording->profile.validate());
  }
}

// A recording that is over is written anew in one piece; if there is no room for two, the streamed one is continued.
TEST_F(RecordingTest, ContinuesTheStreamedFileWhenItCannotBeReplaced) {
  Profile part = profile::make_synthetic_profile({.samples = 0});
  const Profile whole = profile::make_synthetic_profile({.samples = 300});
  fs::create_directory(directory / "away");
  const auto sink = make_recording_sink(directory / "away" / "x.cicada", {});
  for (size_t i = 0; i < 300; ++i) {
    part.append_sample(whole.sample(i));
    if (i % 50 == 49) {
      ASSERT_TRUE(sink->update(part));
    }
  }
  fs::rename(directory / "away", directory / "moved");  // no place for a second file any more
  const auto finished = sink->finish(part);
  EXPECT_TRUE(finished) << finished.error().message();
  const auto bytes = content(directory / "moved" / "x.cicada");
  const auto recording = read_recording(bytes, "x");
  ASSERT_TRUE(recording);
  EXPECT_TRUE(recording->complete);
  EXPECT_EQ(recording->profile.sample_count(), 300u);
}

TEST_F(RecordingTest, NoticesEveryFlippedBit) {
  const auto bytes = written(profile::make_synthetic_profile({.samples = 100, .stacks = 10, .functions = 10}));
  std::mt19937 random(3);
  for (int round = 0; round < 2000; ++round) {
    auto damaged = bytes;
    damaged[random() % damaged.size()] ^= static_cast<uint8_t>(1u << (random() % 8));
    const auto recording = read_recording(damaged, "x");
    if (!recording) continue;  // the magic or the version
    EXPECT_FALSE(recording->complete);
    EXPECT_TRUE(recording->profile.validate());
  }
}

TEST_F(RecordingTest, RefusesOtherFilesAndOtherVersions) {
  const std::string elf = "\x7f" "ELF and more bytes";
  const auto other = read_recording(Bytes(reinterpret_cast<const uint8_t*>(elf.data()), elf.size()), "a.out");
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().kind(), ErrorKind::kInvalid);
  auto bytes = written(Profile());
  for (const int version : {0, 2, 200}) {
    bytes[8] = static_cast<uint8_t>(version);
    const auto foreign = read_recording(bytes, "x");
    ASSERT_FALSE(foreign);
    EXPECT_EQ(foreign.error().kind(), ErrorKind::kUnsupported);
  }
}

TEST_F(RecordingTest, ReportsAFullDisk) {
  const auto sink = make_recording_sink("/dev/full", {});
  const auto result = sink->update(profile::make_synthetic_profile({}));
  ASSERT_FALSE(result);
  EXPECT_NE(result.error().message().find("no space left"), std::string::npos);
}

TEST_F(RecordingTest, KeepsWhatWasWrittenBeforeTheDiskWasFull) {
  Profile part = profile::make_synthetic_profile({.samples = 0, .stacks = 20, .functions = 20});
  const Profile whole = profile::make_synthetic_profile({.samples = 40'000, .stacks = 20, .functions = 20});
  const auto sink = make_recording_sink(path, {});
  size_t added = 0;
  while (added < 100) part.append_sample(whole.sample(added++));
  ASSERT_TRUE(sink->update(part));
  while (added < whole.sample_count()) part.append_sample(whole.sample(added++));
  const auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit old_limit{};
  ::getrlimit(RLIMIT_FSIZE, &old_limit);
  const rlimit limit{fs::file_size(path) + 1000, old_limit.rlim_max};
  ::setrlimit(RLIMIT_FSIZE, &limit);
  const auto result = sink->finish(part);
  ::setrlimit(RLIMIT_FSIZE, &old_limit);
  std::signal(SIGXFSZ, old_handler);
  ASSERT_FALSE(result);
  EXPECT_NE(result.error().message().find("; the file has the samples up to then"), std::string::npos) << result.error().message();
  const auto file = content(path);
  const auto recording = read_recording(file, "x");
  ASSERT_TRUE(recording);
  EXPECT_GE(recording->profile.sample_count(), 100u);
}

// A minute at 99 Hz on two busy CPUs, one update a second as in a recording.
TEST_F(RecordingTest, TakesAtMost8BytesASample) {
  const Profile whole = profile::make_synthetic_profile({.samples = 11880, .stacks = 1000, .processes = 20});
  Profile part = profile::make_synthetic_profile({.samples = 0, .stacks = 1000, .processes = 20});
  const auto sink = make_recording_sink(path, {});
  ASSERT_TRUE(sink->update(part));
  const auto tables = fs::file_size(path);
  for (size_t i = 0; i < whole.sample_count(); ++i) {
    part.append_sample(whole.sample(i));
    if (i % 198 == 197) {
      ASSERT_TRUE(sink->update(part));
    }
  }
  ASSERT_TRUE(sink->finish(part));
  const double each = static_cast<double>(fs::file_size(path) - tables) / static_cast<double>(whole.sample_count());
  RecordProperty("bytes_per_sample", std::to_string(each));
  std::printf("%.2f bytes a sample, %.2f with all tables\n", each, static_cast<double>(fs::file_size(path)) / static_cast<double>(whole.sample_count()));
  EXPECT_LE(each, 8.0);
}

}  // namespace
}  // namespace cicada::sink
