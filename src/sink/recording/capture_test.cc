// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <random>

#include "profile/synthetic_profile.h"
#include "sink/recording/byte_writer.h"
#include "sink/recording/capture_format.h"
#include "sink/recording/capture_reader.h"
#include "sink/recording/capture_writer.h"

namespace cicada::sink {
namespace {

namespace fs = std::filesystem;
using profile::Profile;
using profile::ProfileSnapshot;

class CaptureTest : public ::testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/cicada-capture-XXXXXX";
    ASSERT_NE(::mkdtemp(name), nullptr);
    directory = name;
    path = directory / "x.cicada";
  }
  void TearDown() override { fs::remove_all(directory); }
  static std::vector<uint8_t> content(const fs::path& file) {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  std::vector<uint8_t> written(const ProfileSnapshot& profile) {
    const auto sink = make_capture_sink(path, {});
    const auto result = sink->finish(profile);
    EXPECT_TRUE(result) << result.error().message();
    return content(path);
  }
  fs::path directory, path;
};

// Everything but the header's warnings.
void expect_equal(const ProfileSnapshot& a, const ProfileSnapshot& b) {
  EXPECT_EQ(a.header.command, b.header.command);
  EXPECT_EQ(a.header.events[0].period, b.header.events[0].period);
  EXPECT_EQ(a.header.start_realtime_ns, b.header.start_realtime_ns);
  ASSERT_EQ(a.header.events[0].counts.size(), b.header.events[0].counts.size());
  for (size_t i = 0; i < a.header.events[0].counts.size(); ++i) {
    EXPECT_EQ(a.header.events[0].counts[i].name, b.header.events[0].counts[i].name);
    EXPECT_EQ(a.header.events[0].counts[i].value, b.header.events[0].counts[i].value);
    EXPECT_EQ(a.header.events[0].counts[i].outcome, b.header.events[0].counts[i].outcome);
  }
  ASSERT_EQ(a.strings().size(), b.strings().size());
  for (size_t i = 0; i < a.strings().size(); ++i) EXPECT_EQ(a.text(profile::StringId(i)), b.text(profile::StringId(i)));
  EXPECT_TRUE(std::equal(a.images().begin(), a.images().end(), b.images().begin(), b.images().end()));
  EXPECT_TRUE(std::equal(a.functions().begin(), a.functions().end(), b.functions().begin(), b.functions().end()));
  EXPECT_TRUE(std::equal(a.frames().begin(), a.frames().end(), b.frames().begin(), b.frames().end()));
  ASSERT_EQ(a.stacks().size(), b.stacks().size());
  for (size_t i = 0; i < a.stacks().size(); ++i) {
    EXPECT_EQ(a.stacks()[i].parent, b.stacks()[i].parent);
    EXPECT_EQ(a.stacks()[i].frame, b.stacks()[i].frame);
  }
  ASSERT_EQ(a.processes().size(), b.processes().size());
  for (size_t i = 0; i < a.processes().size(); ++i) {
    EXPECT_EQ(a.processes()[i].pid, b.processes()[i].pid);
    EXPECT_EQ(a.processes()[i].start_ns, b.processes()[i].start_ns);
    EXPECT_EQ(a.processes()[i].name, b.processes()[i].name);
    EXPECT_EQ(a.processes()[i].cgroup, b.processes()[i].cgroup);
  }
  ASSERT_EQ(a.threads().size(), b.threads().size());
  for (size_t i = 0; i < a.threads().size(); ++i) {
    EXPECT_EQ(a.threads()[i].process, b.threads()[i].process);
    EXPECT_EQ(a.threads()[i].tid, b.threads()[i].tid);
    EXPECT_EQ(a.threads()[i].name, b.threads()[i].name);
    EXPECT_EQ(a.threads()[i].main, b.threads()[i].main);
  }
  const auto &x = a.samples(), &y = b.samples();
  ASSERT_EQ(x.size(), y.size());
  const auto equal = [](const auto& one, const auto& two) { return std::equal(one.begin(), one.end(), two.begin(), two.end()); };
  EXPECT_TRUE(equal(x.time_ns, y.time_ns));
  EXPECT_TRUE(equal(x.thread, y.thread));
  EXPECT_TRUE(equal(x.stack, y.stack));
  EXPECT_TRUE(equal(x.cpu, y.cpu));
  EXPECT_TRUE(equal(x.event, y.event));
  EXPECT_TRUE(equal(x.state, y.state));
  for (size_t i = 0; i < x.size(); ++i) ASSERT_EQ(a.value(i), b.value(i));
  for (size_t i = 0; i < a.frames().size(); ++i) {
    const auto l = a.locations(profile::FrameId(i)), m = b.locations(profile::FrameId(i));
    ASSERT_EQ(l.size(), m.size());
    for (size_t k = 0; k < l.size(); ++k) {
      EXPECT_EQ(l[k].function, m[k].function);
      EXPECT_EQ(l[k].file, m[k].file);
      EXPECT_EQ(l[k].line, m[k].line);
      EXPECT_EQ(l[k].inlined, m[k].inlined);
      EXPECT_EQ(l[k].source, m[k].source);
    }
  }
}

TEST_F(CaptureTest, ReadsBackWhatWasWritten) {
  const Profile profile = profile::make_synthetic_profile({.samples = 5000, .hostile_names = true});
  const auto bytes = written(profile);
  const auto capture = read_capture(bytes, "x");
  ASSERT_TRUE(capture) << capture.error().message();
  EXPECT_TRUE(capture->complete);
  EXPECT_TRUE(capture->profile.header.warnings.empty());
  ASSERT_TRUE(capture->profile.validate());
  expect_equal(profile, capture->profile);
}

TEST_F(CaptureTest, AnEmptyRecordingIsComplete) {
  const auto bytes = written(Profile());
  const auto capture = read_capture(bytes, "x");
  ASSERT_TRUE(capture);
  EXPECT_TRUE(capture->complete);
  EXPECT_EQ(capture->profile.sample_count(), 0u);
}

TEST_F(CaptureTest, KeepsLateNamesOfProcessesAndThreads) {
  Profile profile;
  const auto process = profile.intern_process(7, 1);
  const auto thread = profile.intern_thread(process, 7);
  profile.edit_process(process, [&](auto& row) { row.name = profile.intern("sh"); });
  const auto sink = make_capture_sink(path, {});
  ASSERT_TRUE(sink->update(profile));
  profile.edit_process(process, [&](auto& row) { row.name = profile.intern("make"); });
  profile.edit_thread(thread, [&](auto& row) { row.name = profile.intern("worker"); });
  ASSERT_TRUE(sink->finish(profile));
  const auto bytes = content(path);
  const auto capture = read_capture(bytes, "x");
  ASSERT_TRUE(capture);
  ASSERT_EQ(capture->profile.processes().size(), 1u);
  EXPECT_EQ(capture->profile.text(capture->profile.processes()[0].name), "make");
  EXPECT_EQ(capture->profile.text(capture->profile.threads()[0].name), "worker");
}

TEST_F(CaptureTest, LosesOnlyTheLastUpdateToKill9) {
  const Profile whole = profile::make_synthetic_profile({.samples = 3000});
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    Profile part = profile::make_synthetic_profile({.samples = 0});
    const auto sink = make_capture_sink(path, {});
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
  const auto capture = read_capture(bytes, "x");
  ASSERT_TRUE(capture) << capture.error().message();
  EXPECT_FALSE(capture->complete);
  EXPECT_EQ(capture->profile.sample_count(), 2000u);
  ASSERT_EQ(capture->profile.header.warnings.size(), 1u);
  EXPECT_NE(capture->profile.header.warnings[0].find("cut off"), std::string::npos);
  EXPECT_TRUE(capture->profile.validate());
  const auto& times = capture->profile.samples().time_ns;  // the header is from the first update
  EXPECT_EQ(capture->profile.header.duration_ns, *std::max_element(times.begin(), times.end()) - capture->profile.header.start_monotonic_ns);
}

TEST_F(CaptureTest, OpensWhateverIsLeftOfATruncatedFile) {
  Profile part = profile::make_synthetic_profile({.samples = 0, .stacks = 20, .functions = 20});
  const Profile whole = profile::make_synthetic_profile({.samples = 400, .stacks = 20, .functions = 20});
  const auto sink = make_capture_sink(path, {});
  for (size_t i = 0; i < 400; ++i) {
    part.append_sample(whole.sample(i));
    if (i % 50 == 49) {
      ASSERT_TRUE(sink->update(part));
    }
  }
  const auto streamed = content(path);  // what a killed recording leaves
  size_t before = 0;
  for (size_t size = 0; size <= streamed.size(); ++size) {
    const auto capture = read_capture(Bytes(streamed.data(), size), "x");
    ASSERT_EQ(static_cast<bool>(capture), size >= 12);
    if (size < 12) continue;
    EXPECT_FALSE(capture->complete);
    EXPECT_FALSE(capture->profile.header.warnings.empty());
    EXPECT_GE(capture->profile.sample_count(), before);
    EXPECT_EQ(capture->profile.sample_count() % 50, 0u);
    before = capture->profile.sample_count();
  }
  EXPECT_EQ(before, 400u);

  ASSERT_TRUE(sink->finish(part));
  const auto finished = content(path);
  EXPECT_LT(finished.size(), streamed.size() + 2000);  // in one piece, and with names
  for (size_t size = 12; size <= finished.size(); ++size) {
    const auto capture = read_capture(Bytes(finished.data(), size), "x");
    ASSERT_TRUE(capture);
    EXPECT_EQ(capture->complete, size == finished.size());
    EXPECT_EQ(capture->profile.header.warnings.empty(), size == finished.size());
    ASSERT_TRUE(capture->profile.validate());
  }
}

// A recording that is over is written anew in one piece; if there is no room for two, the streamed one is continued.
TEST_F(CaptureTest, ContinuesTheStreamedFileWhenItCannotBeReplaced) {
  Profile part = profile::make_synthetic_profile({.samples = 0});
  const Profile whole = profile::make_synthetic_profile({.samples = 300});
  fs::create_directory(directory / "away");
  const auto sink = make_capture_sink(directory / "away" / "x.cicada", {});
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
  const auto capture = read_capture(bytes, "x");
  ASSERT_TRUE(capture);
  EXPECT_TRUE(capture->complete);
  EXPECT_EQ(capture->profile.sample_count(), 300u);
}

TEST_F(CaptureTest, NoticesEveryFlippedBit) {
  const auto bytes = written(profile::make_synthetic_profile({.samples = 100, .stacks = 10, .functions = 10}));
  std::mt19937 random(3);
  for (int round = 0; round < 2000; ++round) {
    auto damaged = bytes;
    damaged[random() % damaged.size()] ^= static_cast<uint8_t>(1u << (random() % 8));
    const auto capture = read_capture(damaged, "x");
    if (!capture) continue;  // the magic or the version
    EXPECT_FALSE(capture->complete);
    EXPECT_TRUE(capture->profile.validate());
  }
}

// The checksum keeps accidents away from the packed sections; this is what is left to malice.
TEST_F(CaptureTest, BelievesNothingBehindAGoodChecksum) {
  const auto bytes = written(profile::make_synthetic_profile({.samples = 200, .stacks = 40, .functions = 30}));
  std::vector<std::string> chunks;  // as decompressed
  for (ByteCursor cursor(bytes, 12); !cursor.at_end();) {
    cursor.u32();
    const uint32_t stored = cursor.u32(), raw = cursor.u32();
    cursor.skip(8);
    const Bytes payload = cursor.take(stored);
    chunks.emplace_back(raw, '\0');
    ASSERT_EQ(ZSTD_decompress(chunks.back().data(), raw, payload.data(), payload.size()), raw);
  }
  std::mt19937 random(5);
  size_t damaged_ones = 0;
  for (int round = 0; round < 1000; ++round) {
    ByteWriter file;
    file.append({reinterpret_cast<const char*>(bytes.data()), 12});
    for (uint32_t i = 0; i < chunks.size(); ++i) {
      std::string raw = chunks[i];
      for (int n = 0; n < 3; ++n) raw[random() % raw.size()] = static_cast<char>(random());
      std::string stored(ZSTD_compressBound(raw.size()), '\0');
      stored.resize(ZSTD_compress(stored.data(), stored.size(), raw.data(), raw.size(), 1));
      ByteWriter head;
      for (const uint32_t word : {kChunkMagic, static_cast<uint32_t>(stored.size()), static_cast<uint32_t>(raw.size()), i}) head.u32(word);
      uLong crc = ::crc32(0, reinterpret_cast<const Bytef*>(head.bytes().data()), static_cast<uInt>(head.size()));
      crc = ::crc32(crc, reinterpret_cast<const Bytef*>(stored.data()), static_cast<uInt>(stored.size()));
      file.append(head.bytes());
      file.u32(static_cast<uint32_t>(crc));
      file.append(stored);
    }
    const auto capture = read_capture({reinterpret_cast<const uint8_t*>(file.bytes().data()), file.size()}, "x");
    ASSERT_TRUE(capture);
    ASSERT_TRUE(capture->profile.validate());
    if (!capture->complete) ++damaged_ones;
  }
  EXPECT_GT(damaged_ones, 300u);
}

TEST_F(CaptureTest, RefusesOtherFilesAndNewerVersions) {
  const std::string elf = "\x7f" "ELF and more bytes";
  const auto other = read_capture(Bytes(reinterpret_cast<const uint8_t*>(elf.data()), elf.size()), "a.out");
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().kind(), ErrorKind::kInvalid);
  auto bytes = written(Profile());
  bytes[8] = 200;
  const auto newer = read_capture(bytes, "x");
  ASSERT_FALSE(newer);
  EXPECT_EQ(newer.error().kind(), ErrorKind::kUnsupported);
}

TEST_F(CaptureTest, ReportsAFullDisk) {
  const auto sink = make_capture_sink("/dev/full", {});
  const auto result = sink->update(profile::make_synthetic_profile({}));
  ASSERT_FALSE(result);
  EXPECT_NE(result.error().message().find("no space left"), std::string::npos);
}

// A minute at 99 Hz on two busy CPUs, one update a second as in a recording.
TEST_F(CaptureTest, KeepsWhatWasWrittenBeforeTheDiskWasFull) {
  Profile part = profile::make_synthetic_profile({.samples = 0, .stacks = 20, .functions = 20});
  const Profile whole = profile::make_synthetic_profile({.samples = 40'000, .stacks = 20, .functions = 20});
  const auto sink = make_capture_sink(path, {});
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
  const auto capture = read_capture(file, "x");
  ASSERT_TRUE(capture);
  EXPECT_GE(capture->profile.sample_count(), 100u);
}

TEST_F(CaptureTest, TakesAtMost8BytesASample) {
  const Profile whole = profile::make_synthetic_profile({.samples = 11880, .stacks = 1000, .processes = 20});
  Profile part = profile::make_synthetic_profile({.samples = 0, .stacks = 1000, .processes = 20});
  const auto sink = make_capture_sink(path, {});
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
