// SPDX-License-Identifier: Apache-2.0
#include "cli/record/record_options.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

namespace cicada::cli {
namespace {

using testing::HasSubstr;

class RecordOptionsTest : public testing::Test {
 protected:
  RecordOptionsTest() {
    std::string pattern = (std::filesystem::temp_directory_path() / "cicada-options-XXXXXX").string();
    directory_ = ::mkdtemp(pattern.data());
    raw_.outputs = {directory_ / "x.folded"};
    raw_.whole_machine = true;
  }
  ~RecordOptionsTest() override { std::filesystem::remove_all(directory_); }

  std::string error() const {
    const auto checked = check_record_options(raw_);
    return checked ? "no error" : checked.error().message();
  }

  std::filesystem::path directory_;
  RawRecordOptions raw_;
};

TEST_F(RecordOptionsTest, AcceptsTheDefaults) {
  const auto options = check_record_options(raw_);
  ASSERT_TRUE(options) << options.error().message();
  EXPECT_EQ(options->events.frequency_hz, 99u);
  EXPECT_TRUE(options->kernel_frames);
  EXPECT_FALSE(options->inlines.has_value());
  EXPECT_EQ(options->max_map_memory_bytes, uint64_t{64} << 20);
}

TEST_F(RecordOptionsTest, KeepsEverythingUnlessAsked) {
  auto options = check_record_options(raw_);
  ASSERT_TRUE(options) << options.error().message();
  EXPECT_FALSE(options->retention.keep_ns || options->retention.keep_bytes || options->retention.keep_samples);
  raw_.last = "30s";
  options = check_record_options(raw_);
  ASSERT_TRUE(options) << options.error().message();
  EXPECT_EQ(options->retention.keep_ns, 30'000'000'000u);
  raw_.last = "soon";
  EXPECT_THAT(error(), HasSubstr("--last"));
}

TEST_F(RecordOptionsTest, WritesNothingWhileChecking) {
  ASSERT_TRUE(check_record_options(raw_));
  EXPECT_TRUE(std::filesystem::is_empty(directory_));
}

TEST_F(RecordOptionsTest, WantsExactlyOneTarget) {
  raw_.whole_machine = false;
  EXPECT_THAT(error(), HasSubstr("what shall be recorded?"));
  raw_.processes = {std::to_string(::getpid())};
  EXPECT_EQ(error(), "no error");
  raw_.command = {"true"};
  EXPECT_THAT(error(), HasSubstr("exclude each other"));
}

TEST_F(RecordOptionsTest, ResolvesPidsAndNamesOfOneList) {
  raw_.whole_machine = false;
  raw_.processes = {"1," + std::to_string(::getpid()), "1"};
  const auto options = check_record_options(raw_);
  ASSERT_TRUE(options) << options.error().message();
  EXPECT_THAT(options->target.pids, testing::ElementsAre(1, ::getpid()));
}

TEST_F(RecordOptionsTest, NamesTheProcessThatIsNotThere) {
  raw_.whole_machine = false;
  raw_.processes = {"4194303"};
  EXPECT_THAT(error(), HasSubstr("-p 4194303: no such process"));
  raw_.processes = {"nobody-is-called-this"};
  EXPECT_THAT(error(), HasSubstr("-p nobody-is-called-this: no running process"));
}

TEST_F(RecordOptionsTest, TakesSeveralEvents) {
  raw_.events = {"cpu-clock", "faults/period=1/,cs"};
  const auto options = check_record_options(raw_);
  ASSERT_TRUE(options) << options.error().message();
  ASSERT_EQ(options->events.events.size(), 3u);
  EXPECT_EQ(options->events.events[1].period, 1u);
  raw_.events = {"page-fault"};
  EXPECT_THAT(error(), HasSubstr("page-fault: column 1: no event \"page-fault\"; did you mean page-faults?"));
  raw_.events = {"faults", "page-faults"};
  EXPECT_THAT(error(), HasSubstr("asked for twice"));
}

TEST_F(RecordOptionsTest, WakersGoWithWaits) {
  raw_.wakers = 1;
  EXPECT_THAT(error(), HasSubstr("--wakers: it goes with -e off-cpu"));
  raw_.events = {"off-cpu"};
  const auto options = check_record_options(raw_);
  ASSERT_TRUE(options) << options.error().message();
  ASSERT_EQ(options->events.events.size(), 2U);
  EXPECT_EQ(options->events.events[1].type.name, "wakeups");
  raw_.events = {"off-cpu,wakeups"};
  EXPECT_EQ(check_record_options(raw_)->events.events.size(), 2U);
  raw_.wakers = 17;
  EXPECT_THAT(error(), HasSubstr("--wakers=17: 16 at most"));
  raw_.wakers = 1;
  raw_.command = {"2", "--", "make"};
  EXPECT_THAT(error(), HasSubstr("--wakers 2: write --wakers=2"));
  raw_.command = {"make"};
  raw_.wakers = 0;
  raw_.events = {"wakeups"};
  EXPECT_THAT(error(), HasSubstr("-e wakeups: it goes with -e off-cpu"));
}

TEST_F(RecordOptionsTest, LengthsOfWaitsGoWithWaits) {
  raw_.min_wait = "1ms";
  EXPECT_THAT(error(), HasSubstr("--min-wait: it goes with -e off-cpu"));
  raw_.events = {"cpu-clock,off-cpu/period=1000/"};
  raw_.max_wait = "20ms";
  raw_.kernel_threads = true;
  const auto options = check_record_options(raw_);
  ASSERT_TRUE(options) << options.error().message();
  EXPECT_EQ(options->min_wait_ns, 1'000'000u);
  EXPECT_EQ(options->max_wait_ns, 20'000'000u);
  EXPECT_TRUE(options->kernel_threads);
  raw_.max_wait = "900us";
  EXPECT_THAT(error(), HasSubstr("--min-wait 1ms is longer than --max-wait 900us"));
  raw_.max_wait.clear();
  raw_.cpus = {"0"};
  EXPECT_TRUE(check_record_options(raw_));
  raw_.wakers = 1;
  EXPECT_THAT(error(), HasSubstr("--cpu: who wakes a thread"));
}

TEST_F(RecordOptionsTest, RefusesWhatWouldRecordNothing) {
  raw_.frequency = "0";
  EXPECT_THAT(error(), HasSubstr("-F 0"));
  raw_.frequency = "99 Hz";
  EXPECT_EQ(error(), "-F 99 Hz: not a whole number");
  raw_.frequency = "99";
  raw_.period = "0";
  EXPECT_THAT(error(), HasSubstr("-c 0"));
  raw_.period.clear();
  raw_.cpus = {"8000"};
  EXPECT_THAT(error(), HasSubstr("--cpu 8000"));
}

TEST_F(RecordOptionsTest, RefusesOutputsItCannotWrite) {
  raw_.outputs = {"/no/such/directory/x.folded"};
  EXPECT_THAT(error(), HasSubstr("/no/such/directory"));
  raw_.outputs = {directory_ / "x.unknown"};
  EXPECT_THAT(error(), HasSubstr(".folded"));
  raw_.outputs = {directory_ / "x.folded", directory_ / "x.folded"};
  EXPECT_THAT(error(), HasSubstr("the same output twice"));
}

TEST_F(RecordOptionsTest, KeepsTheRecordingUnlessToldOtherwise) {
  std::filesystem::current_path(directory_);
  raw_.outputs.clear();
  auto options = check_record_options(raw_);
  ASSERT_TRUE(options) << options.error().message();
  EXPECT_THAT(options->outputs, testing::ElementsAre("cicada.cicada"));
  raw_.open = true;
  options = check_record_options(raw_);
  ASSERT_TRUE(options) << options.error().message();
  EXPECT_THAT(options->outputs, testing::ElementsAre("cicada.cicada", "cicada.html"));
  raw_.outputs = {"x.cicada"};
  EXPECT_THAT(error(), HasSubstr("--open: no output that a browser shows"));
  std::filesystem::current_path("/");
}

TEST_F(RecordOptionsTest, ListsTheWordsOfAChoice) {
  raw_.unwind = "magic";
  EXPECT_EQ(error(), "--unwind magic: use one of auto, fp, table");
  raw_.unwind = "table";
  raw_.group_by = {"process,planet"};
  EXPECT_THAT(error(), HasSubstr("--by planet: use one of program, process"));
}

}  // namespace
}  // namespace cicada::cli
