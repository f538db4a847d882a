// SPDX-License-Identifier: Apache-2.0
#include "benchmark/attribution.h"

#include <gmock/gmock.h>

namespace cicada::benchmark {
namespace {

constexpr uint64_t kMs = 1'000'000;

class AddRun : public testing::Test {
 protected:
  AddRun() {
    profile_.header.events[0].sample_ns = kMs;
    tree_.add(worker_, harness_.pid);
    tree_.add(child_, worker_.pid);
    tree_.add(other_, harness_.pid);
  }
  void sample(const ProcessId& process, uint64_t time_ms, uint8_t reason = END_OUTERMOST) {
    profile::Sample sample;
    sample.time_ns = time_ms * kMs;
    sample.thread = profile_.intern_thread(profile_.intern_process(process.pid, process.start_ns), process.pid);
    const profile::FrameId frame = profile_.intern_frame({.kind = profile::FrameKind::kUnknown, .image = {}, .address_space = 1, .address = static_cast<uint64_t>(process.pid), .label = {}});
    sample.stack = profile_.intern_stack(profile::StackId(), frame);
    sample.end_reason = reason;
    profile_.append_sample(sample);
  }
  static Window window(uint64_t begin_ms, uint64_t end_ms, std::string uri, ProcessId process) {
    Window out;
    out.begin_ns = begin_ms * kMs;
    out.end_ns = end_ms * kMs;
    out.uri = std::move(uri);
    out.told_pid = process.pid;
    out.process = process;
    return out;
  }
  void add(std::vector<Window> all, std::vector<ClientBenchmark> told = {}, std::vector<Span> spans = {}) {
    Windows windows;
    windows.windows = std::move(all);
    add_run({0, windows, told, tree_, profile_, spans}, result_);
  }

  const ProcessId harness_{10, 0}, worker_{20, 100 * kMs}, child_{30, 200 * kMs}, other_{40, 150 * kMs};
  profile::Profile profile_;
  ProcessTree tree_;
  BenchResult result_;
};

TEST_F(AddRun, GivesABenchmarkTheSamplesOfItsWindowAndItsDescendants) {
  sample(worker_, 500), sample(child_, 501), sample(child_, 502, END_UNMAPPED_PC), sample(other_, 503), sample(worker_, 499), sample(worker_, 600);
  add({window(500, 600, "f::a", worker_)});
  ASSERT_EQ(result_.benchmarks.size(), 1U);
  const Benchmark& one = result_.benchmarks[0];
  EXPECT_EQ(one.name, "a");
  EXPECT_EQ(one.runs[0].samples, 3U);
  EXPECT_EQ(one.runs[0].user_stacks, 3U);
  EXPECT_EQ(one.runs[0].whole_stacks, 2U);
  EXPECT_EQ(one.runs[0].cpu_ns, 3e6);
  EXPECT_EQ(one.source, Source::kWindows);
  EXPECT_FALSE(one.runs[0].ambiguous);
}

// Not that of the whole run, of which the benchmark is a part.
TEST_F(AddRun, HasTheCpuTimeOfItsWindows) {
  profile_.header.target_cpu_ns = 5000 * kMs;
  sample(worker_, 500), sample(worker_, 501), sample(worker_, 700), sample(worker_, 710);
  add({window(500, 600, "a", worker_), window(700, 720, "b", worker_), window(800, 810, "a", worker_)}, {},
      {{499 * kMs, 601 * kMs, 4 * kMs}, {799 * kMs, 811 * kMs, 1 * kMs}});
  const BenchmarkRun &a = result_.benchmarks[0].runs[0], &b = result_.benchmarks[1].runs[0];
  EXPECT_EQ(a.cpu_ns, 5e6);
  EXPECT_FALSE(a.cpu_by_samples);
  EXPECT_EQ(b.cpu_ns, 2e6);
  EXPECT_TRUE(b.cpu_by_samples) << "nobody knows";
  EXPECT_EQ(extract(profile_, a, true).header.target_cpu_ns, 5 * kMs);
  EXPECT_EQ(extract(profile_, b, true).header.target_cpu_ns, 0U);
}

TEST_F(AddRun, OfAWholeCommandTheSchedulersAccount) {
  profile_.header.target_cpu_ns = 7 * kMs;
  sample(worker_, 500), sample(worker_, 501);
  BenchmarkRun run;
  count_samples(profile_, run);
  EXPECT_EQ(run.samples, 2U);
  EXPECT_EQ(run.cpu_ns, 7e6);
  EXPECT_EQ(extract(profile_, run, true).header.target_cpu_ns, 7 * kMs);
}

TEST_F(AddRun, SplitsOverlappingWindowsByProcessAndMarksWhatItCannotSplit) {
  sample(worker_, 510), sample(other_, 511), sample(child_, 512);
  Window a = window(500, 600, "a", worker_), b = window(505, 590, "b", other_), c = window(700, 800, "c", worker_), d = window(750, 850, "d", child_);
  a.overlaps = b.overlaps = c.overlaps = d.overlaps = true;
  add({a, b, c, d});
  EXPECT_EQ(result_.benchmarks[0].runs[0].samples, 2U);
  EXPECT_EQ(result_.benchmarks[1].runs[0].samples, 1U);
  EXPECT_FALSE(result_.benchmarks[0].runs[0].ambiguous);
  EXPECT_TRUE(result_.benchmarks[2].runs[0].ambiguous);
  EXPECT_TRUE(result_.benchmarks[3].runs[0].ambiguous);
}

ClientBenchmark told(std::string uri, Pid pid, double median) {
  ClientBenchmark one;
  one.uri = std::move(uri);
  one.pid = pid;
  one.creator = "client 1";
  one.per_iteration.count = 100;
  one.per_iteration.median = median;
  return one;
}

// vitest: the FIFO says "::one", the file "src/a.bench.mjs::grp::one".
TEST_F(AddRun, JoinsTheClientsNumbersByUriElseByProcessAndOrder) {
  add({window(500, 600, "::one", worker_), window(700, 800, "::two", worker_), window(900, 950, "::two", other_)},
      {told("src::one", 20, 1), told("::two", 20, 2), told("src::three", 40, 3)});
  EXPECT_EQ(result_.benchmarks[0].runs[0].told->median, 1);
  EXPECT_EQ(result_.benchmarks[1].runs[0].told->median, 2);
  EXPECT_EQ(result_.benchmarks[0].source, Source::kClient);
}

TEST_F(AddRun, PrefersRoundsAndDividesThemByTheirIterations) {
  Window a = window(500, 600, "a", worker_);
  a.rounds = {{500 * kMs, 510 * kMs}, {510 * kMs, 530 * kMs}};
  ClientBenchmark numbers = told("a", 20, 1);
  numbers.iterations = 10;
  add({a}, {numbers});
  EXPECT_EQ(result_.benchmarks[0].source, Source::kRounds);
  EXPECT_THAT(result_.benchmarks[0].runs[0].times_ns, testing::ElementsAre(1e6, 2e6));
}

// A client that announces the same benchmark three times has run it three times.
TEST_F(AddRun, TakesWindowsOfOneNameForRounds) {
  add({window(500, 550, "a", worker_), window(600, 652, "a", worker_), window(700, 751, "a", worker_)});
  ASSERT_EQ(result_.benchmarks.size(), 1U);
  EXPECT_EQ(result_.benchmarks[0].source, Source::kWindows);
  EXPECT_THAT(result_.benchmarks[0].runs[0].times_ns, testing::ElementsAre(50e6, 52e6, 51e6));
  EXPECT_EQ(result_.benchmarks[0].summary().median, 51e6);
}

TEST_F(AddRun, PutsRunsOfOneBenchmarkTogether) {
  add({window(500, 600, "a", worker_)});
  add({window(700, 900, "a", worker_)});
  ASSERT_EQ(result_.benchmarks.size(), 1U);
  EXPECT_EQ(result_.benchmarks[0].summary().median, 150e6);
}

// main → harness → __codspeed_root_frame__run → work
TEST_F(AddRun, CutsTheHarnessOffUnlessItIsAskedFor) {
  const auto frame = [&](const std::string& name, uint64_t address) {
    const profile::FrameId id = profile_.intern_frame({.kind = profile::FrameKind::kUnknown, .image = {}, .address_space = 1, .address = address, .label = {}});
    profile::Location location;
    location.function = profile_.intern_function({.name = profile_.intern(name), .linkage_name = {}, .image = {}});
    profile_.set_locations(id, std::span(&location, 1));
    return id;
  };
  const profile::FrameId frames[] = {frame("main", 1), frame("harness", 2), frame("__codspeed_root_frame__run", 3), frame("work", 4)};
  profile::Sample one;
  one.thread = profile_.intern_thread(profile_.intern_process(worker_.pid, worker_.start_ns), worker_.pid);
  one.stack = profile_.intern_stack(profile::StackId(), frames);
  profile_.append_sample(one);
  one.stack = profile_.intern_stack(profile::StackId(), std::span(frames, 2));
  profile_.append_sample(one);
  const auto depths = [&](bool harness) {
    const profile::Profile part = extract(profile_, BenchmarkRun{}, harness);
    return std::pair(part.stacks()[part.sample(0).stack.value].depth, part.stacks()[part.sample(1).stack.value].depth);
  };
  EXPECT_EQ(depths(true), std::pair(4U, 2U));
  EXPECT_EQ(depths(false), std::pair(2U, 2U));
}

TEST_F(AddRun, SaysWhichLibrariesWereReplaced) {
  for (const char* build : {"1a", "2b"}) profile_.intern_image({profile_.intern("/lib/a.so"), profile_.intern(build), profile::ImageKind::kLibrary});
  profile_.intern_image({profile_.intern("/lib/b.so"), profile_.intern("3c"), profile::ImageKind::kLibrary});
  EXPECT_THAT(replaced_libraries({{}, {{"/lib/a.so", "2b"}, {"/lib/b.so", "4d"}, {"/lib/c.so", "5e"}}}, profile_),
              testing::ElementsAre("/lib/b.so: the client linked build 4d, and build 3c ran"));
}

}  // namespace
}  // namespace cicada::benchmark
