// SPDX-License-Identifier: Apache-2.0
// One property for every format: what was stored is in the output, exactly once, and whatever the names are, the output is
// well-formed.
#include "sink/formats.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>

#include "profile/stack_totals.h"
#include "profile/synthetic_profile_for_test.h"
#include "sink/text/folded.h"
#include "sink/gzip.h"
#include "sink/profile_reader.h"

namespace cicada::sink {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using profile::GroupBy;
using profile::Profile;
using profile::ProfileSnapshot;

struct Case {
  std::string name;
  profile::SyntheticOptions profile;
  std::vector<GroupBy> group_by = {};
  bool off_cpu = false;
  bool empty = false;
};

class FormatTest : public ::testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    char name[] = "/tmp/cicada-formats-XXXXXX";
    ASSERT_NE(::mkdtemp(name), nullptr);
    directory = name;
    if (!GetParam().empty) profile = profile::make_synthetic_profile(GetParam().profile);
    if (GetParam().off_cpu) {
      Profile changed = std::move(profile);
      profile = Profile();
      profile.header.events = {{.name = "off-cpu", .unit = profile::Unit::kNanoseconds, .spent = profile::Spent::kWaiting}};
      const auto thread = profile.intern_thread(profile.intern_process(1, 1), 1);
      const auto stack = profile.intern_stack({}, profile.intern_frame({profile::FrameKind::kKernel, {}, 0, 0x10, {}}));
      for (uint32_t i = 0; i < 100; ++i) profile.append_sample({.time_ns = i ^ 1, .thread = thread, .stack = stack, .value = (i + 1) * uint64_t{1000}});
    }
    options.tree.group_by = GetParam().group_by;
    stored = total(profile);
    unit = profile::value_unit(profile.event(profile::main_event(profile)));
  }
  void TearDown() override { fs::remove_all(directory); }

  std::string written(const std::string& extension) {
    const fs::path path = directory / ("x" + extension);
    auto sink = make_sink(path, options);
    EXPECT_TRUE(sink);
    const auto result = (*sink)->finish(profile);
    EXPECT_TRUE(result) << result.error().message();
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  static Bytes bytes_of(const std::string& text) { return {reinterpret_cast<const uint8_t*>(text.data()), text.size()}; }
  static uint64_t total(const ProfileSnapshot& p) {
    uint64_t sum = 0;
    for (size_t i = 0; i < p.sample_count(); ++i) sum += p.value(i);
    return sum;
  }

  fs::path directory;
  Profile profile;
  SinkOptions options;
  uint64_t stored = 0;
  profile::ValueUnit unit;
};

TEST_P(FormatTest, FoldedRoundTrips) {
  const std::string text = written(".folded");
  const auto again = parse_folded(bytes_of(text), "x.folded");
  ASSERT_TRUE(again) << again.error().message();
  ASSERT_TRUE(again->validate());
  EXPECT_EQ(total(*again), stored);
  const auto sink = make_folded_sink(directory / "again.folded", {});
  ASSERT_TRUE(sink->finish(*again));
  std::ifstream in(directory / "again.folded", std::ios::binary);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(in), {}), text);
}

TEST_P(FormatTest, PprofRoundTrips) {
  const std::string bytes = written(".pb.gz");
  const auto again = parse_pprof(bytes_of(bytes), "x.pb.gz");
  ASSERT_TRUE(again) << again.error().message();
  ASSERT_TRUE(again->validate()) << again->validate().error().message();
  EXPECT_EQ(total(*again), stored);
  // the same stacks: names, inlined calls, groups
  const profile::CallTree before = profile::build_call_tree(profile, options.tree), after = profile::build_call_tree(*again, {});
  EXPECT_EQ(after.nodes.size(), before.nodes.size() + (before.nodes[0].self != 0 ? 1 : 0));  // "[no stack]" has become a frame
  EXPECT_EQ(after.total(), before.total());
}

uint64_t check_d3(const json& node) {
  uint64_t sum = node.value("self", uint64_t{0});
  for (const json& child : node["children"]) sum += check_d3(child);
  EXPECT_EQ(sum, node["value"].get<uint64_t>());
  return sum;
}

TEST_P(FormatTest, ACommandIsTheTitleWithoutCicadasOptions) {
  profile.header.command = {"cicada", "record", "-o", "x.cicada", "--", "make", "--", "all"};
  EXPECT_EQ(json::parse(written(".speedscope.json")).at("name"), "make -- all");
}

TEST_P(FormatTest, D3ChildrenSumToTheirParent) { EXPECT_EQ(check_d3(json::parse(written(".json"))), stored); }

uint64_t check_codeguru(const json& node) {
  uint64_t sum = 0;
  if (node.contains("counts"))
    for (const auto& [state, count] : node["counts"].items()) sum += count.get<uint64_t>();
  if (node.contains("children"))
    for (const json& child : node["children"]) sum += check_codeguru(child);
  return sum;
}

TEST_P(FormatTest, CodeguruCountsAreTheSamples) {
  const json file = json::parse(written(".codeguru.json"));
  EXPECT_EQ(check_codeguru(file["callgraph"]), stored);
  if (GetParam().off_cpu) {
    EXPECT_TRUE(file["callgraph"]["children"].begin().value()["counts"].contains("WAITING"));
  }
}

TEST_P(FormatTest, SpeedscopeWeightsAreTheSamples) {
  const json file = json::parse(written(".speedscope.json"));
  uint64_t sum = 0;
  const size_t frames = file["shared"]["frames"].size();
  ASSERT_GE(file["profiles"].size(), 1u);
  for (const json& one : file["profiles"]) {
    ASSERT_EQ(one["samples"].size(), one["weights"].size());
    uint64_t thread = 0;
    for (const json& weight : one["weights"]) thread += weight.get<uint64_t>();
    EXPECT_EQ(one["endValue"].get<uint64_t>(), thread);
    sum += thread;
    for (const json& stack : one["samples"]) {
      EXPECT_FALSE(stack.empty());
      for (const json& frame : stack) EXPECT_LT(frame.get<size_t>(), frames);
    }
  }
  EXPECT_EQ(sum, stored * unit.factor);
}

TEST_P(FormatTest, FirefoxTablesAreConsistent) {
  const std::string bytes = written(".firefox.json.gz");
  const auto raw = gunzip(bytes_of(bytes), 1 << 30);
  ASSERT_TRUE(raw);
  const json file = json::parse(raw->begin(), raw->end());
  EXPECT_EQ(file["meta"]["preprocessedProfileVersion"], 55);
  size_t samples = 0;
  double weight = 0;
  for (const json& thread : file["threads"]) {
    const json& table = thread["samples"];
    samples += table["length"].get<size_t>();
    for (const char* column : {"stack", "time", "weight"}) EXPECT_EQ(table[column].size(), table["length"].get<size_t>());
    EXPECT_TRUE(std::is_sorted(table["time"].begin(), table["time"].end()));
    for (const json& one : table["weight"]) weight += one.get<double>();
    const auto in_range = [&](const char* of, const char* column, size_t size) {
      EXPECT_EQ(thread[of][column].size(), thread[of]["length"].get<size_t>());
      for (const json& index : thread[of][column])
        if (!index.is_null() && index.get<int64_t>() != -1) {
          EXPECT_LT(index.get<size_t>(), size) << of << column;
        }
    };
    in_range("samples", "stack", thread["stackTable"]["length"]);
    in_range("stackTable", "prefix", thread["stackTable"]["length"]);
    in_range("stackTable", "frame", thread["frameTable"]["length"]);
    in_range("frameTable", "func", thread["funcTable"]["length"]);
    in_range("frameTable", "category", file["meta"]["categories"].size());
    in_range("funcTable", "name", thread["stringArray"].size());
    in_range("funcTable", "fileName", thread["stringArray"].size());
    in_range("funcTable", "resource", thread["resourceTable"]["length"]);
    in_range("resourceTable", "lib", file["libs"].size());
    for (size_t i = 0; i < thread["stackTable"]["length"].get<size_t>(); ++i)
      if (!thread["stackTable"]["prefix"][i].is_null()) {
        EXPECT_LT(thread["stackTable"]["prefix"][i].get<size_t>(), i);
      }
  }
  EXPECT_EQ(samples, profile.sample_count());
  EXPECT_NEAR(weight, GetParam().off_cpu ? static_cast<double>(stored) / 1e6 : static_cast<double>(stored), 1e-6);
}

TEST_P(FormatTest, TextHasEverySample) {
  std::istringstream text(written(".txt"));
  size_t samples = 0;
  uint64_t sum = 0;
  std::string before;  // the time, nine digits behind the point
  for (std::string line; std::getline(text, line);) {
    if (line.empty() || line[0] == '\t') continue;
    ++samples;
    const size_t colon = line.rfind(": "), bracket = line.rfind("] ", colon);
    ASSERT_NE(colon, std::string::npos) << line;
    ASSERT_NE(bracket, std::string::npos) << line;
    const std::string time = line.substr(bracket + 2, colon - bracket - 2);
    EXPECT_TRUE(time.size() > before.size() || (time.size() == before.size() && time >= before)) << before << ", then " << time;
    before = time;
    sum += std::stoull(line.substr(colon + 2));
  }
  EXPECT_EQ(samples, profile.sample_count());
  EXPECT_EQ(sum, stored * unit.factor);
}

TEST_P(FormatTest, CaptureRoundTrips) {
  const std::string bytes = written(".cicada");
  const auto again = parse_profile(bytes_of(bytes), "x.cicada");
  ASSERT_TRUE(again) << again.error().message();
  EXPECT_EQ(total(*again), stored);
  EXPECT_EQ(again->sample_count(), profile.sample_count());
}

INSTANTIATE_TEST_SUITE_P(
    Profiles, FormatTest,
    ::testing::Values(Case{.name = "plain", .profile = {}}, Case{.name = "hostile", .profile = {.samples = 500, .stacks = 100, .functions = 40, .hostile_names = true}},
                      Case{.name = "by_process", .profile = {.hostile_names = true}, .group_by = {GroupBy::kProcess}},
                      Case{.name = "by_thread_and_cpu", .profile = {}, .group_by = {GroupBy::kThread, GroupBy::kCpu}},
                      Case{.name = "by_cgroup_and_image", .profile = {}, .group_by = {GroupBy::kCgroup, GroupBy::kImage}},
                      Case{.name = "off_cpu", .profile = {}, .off_cpu = true}, Case{.name = "empty", .profile = {}, .empty = true}),
    [](const auto& param) { return param.param.name; });

// --- readers and bad input

TEST(FoldedReader, NamesTheLineThatIsWrong) {
  const std::string text = "a;b 1\nno number\n";
  const auto profile = parse_folded({reinterpret_cast<const uint8_t*>(text.data()), text.size()}, "f.folded");
  ASSERT_FALSE(profile);
  EXPECT_NE(profile.error().message().find("f.folded: line 2"), std::string::npos) << profile.error().message();
}

TEST(FoldedReader, KeepsLargeValuesExactAndRefusesAbsurdOnes) {
  const std::string large = "a 10000000000\n", absurd = "a 18446744073709551615\n";
  const auto profile = parse_folded({reinterpret_cast<const uint8_t*>(large.data()), large.size()}, "f");
  ASSERT_TRUE(profile);
  EXPECT_EQ(profile::build_call_tree(*profile, {}).total(), 10000000000u);
  EXPECT_FALSE(parse_folded({reinterpret_cast<const uint8_t*>(absurd.data()), absurd.size()}, "f"));
}

TEST(ProfileReader, SaysWhatItDoesNotRead) {
  for (const std::string content : {"{\"a\":1}", "\x7f" "ELF\x02", "PERFILE2......", "\x01\x02\x03"}) {
    const auto profile = parse_profile({reinterpret_cast<const uint8_t*>(content.data()), content.size()}, "f.bin");
    ASSERT_FALSE(profile);
    EXPECT_EQ(profile.error().kind(), ErrorKind::kInvalid);
  }
  EXPECT_FALSE(read_profile("/nonexistent"));
  EXPECT_FALSE(read_profile("/dev/null"));
}

TEST(Formats, AFullDiskIsAnErrorInEachOfThem) {
  const Profile profile = profile::make_synthetic_profile({});
  for (const auto make : {make_d3_json_sink, make_speedscope_sink, make_firefox_sink, make_codeguru_sink, make_pprof_sink, make_text_samples_sink, make_folded_sink}) {
    const auto result = make("/dev/full", {})->finish(profile);
    ASSERT_FALSE(result);
    EXPECT_NE(result.error().message().find("no space left"), std::string::npos);
  }
}

TEST(TextSamples, SaysWhereCodeWithoutAnImageIs) {
  Profile profile;
  const auto thread = profile.intern_thread(profile.intern_process(1, 1), 1);
  auto stack = profile.intern_stack({}, profile.intern_frame({profile::FrameKind::kUnknown, {}, 1, 0x10, {}}));
  stack = profile.intern_stack(stack, profile.intern_frame({profile::FrameKind::kJit, {}, 1, 0x20, {}}));
  stack = profile.intern_stack(stack, profile.intern_frame({profile::FrameKind::kLabel, {}, 0, 0, profile.intern("[softirq: rcu]")}));
  profile.append_sample({.time_ns = 1, .thread = thread, .stack = stack, .value = 1});
  const fs::path path = fs::temp_directory_path() / fmt::format("cicada-places-{}.txt", ::getpid());
  ASSERT_TRUE(make_text_samples_sink(path, {})->finish(profile));
  std::ifstream in(path);
  std::vector<std::string> places;
  for (std::string line; std::getline(in, line);) {
    if (!line.empty() && line[0] == '\t') places.push_back(line.substr(line.rfind(' ') + 1));
  }
  fs::remove(path);
  EXPECT_EQ(places, (std::vector<std::string>{"([kernel])", "([jit])", "([unknown])"}));
}

TEST(JsonStream, EscapesWhatEndsAScript) {
  const fs::path path = fs::temp_directory_path() / fmt::format("cicada-script-{}.json", ::getpid());
  ASSERT_TRUE(make_d3_json_sink(path, {})->finish(profile::make_synthetic_profile({.functions = 40, .hostile_names = true})));
  std::ifstream in(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  fs::remove(path);
  EXPECT_EQ(text.find("</script"), std::string::npos);
}

}  // namespace
}  // namespace cicada::sink
