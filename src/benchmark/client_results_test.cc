// SPDX-License-Identifier: Apache-2.0
#include "benchmark/client_results.h"

#include <gmock/gmock.h>

namespace cicada::benchmark {
namespace {

Result<std::vector<ClientBenchmark>> parse(std::string_view text) { return parse_client_results({reinterpret_cast<const uint8_t*>(text.data()), text.size()}, "7.json"); }

TEST(ParseClientResults, ReadsWhatClientsWrite) {
  const auto all = parse(R"({"creator":{"name":"codspeed-node","version":"5.7.1","pid":77},"instrument":{"type":"walltime","clock_info":{}},"python":{},
    "benchmarks":[{"name":"sqrt","uri":"bench.mjs::demo::sqrt","config":{"max_rounds":null,"warmup_time_ns":1e9},
    "stats":{"min_ns":90.5,"max_ns":200,"mean_ns":110,"stdev_ns":4,"q1_ns":95,"median_ns":100,"q3_ns":105,"rounds":1000,"total_time":0.11,
    "iqr_outlier_rounds":3,"stdev_outlier_rounds":2,"iter_per_round":10,"warmup_iters":5},"new_member":[]}]})");
  ASSERT_TRUE(all) << all.error().message();
  ASSERT_EQ(all->size(), 1U);
  const ClientBenchmark& one = all->front();
  EXPECT_EQ(one.uri, "bench.mjs::demo::sqrt");
  EXPECT_EQ(one.creator, "codspeed-node 5.7.1");
  EXPECT_EQ(one.pid, 77);
  EXPECT_EQ(one.per_iteration.count, 1000U);
  EXPECT_EQ(one.per_iteration.median, 100);
  EXPECT_EQ(one.per_iteration.min, 90.5);
  EXPECT_EQ(one.iterations, 10U);
}

TEST(ParseClientResults, RefusesWhatMakesNoSense) {
  for (const char* text : {"", "[]", "{", "null", R"({"benchmarks":{}})", R"({"benchmarks":[1],"instrument":{"type":"walltime"}})", R"({"benchmarks":[],"instrument":"walltime"})"})
    EXPECT_FALSE(parse(text)) << text;
  EXPECT_EQ(parse(R"({"benchmarks":[],"instrument":{"type":"simulation"}})").error().kind(), ErrorKind::kUnsupported);
}

TEST(ParseClientResults, TakesNoNumberForGranted) {
  const auto all = parse(R"({"instrument":{"type":"walltime"},"creator":5,"benchmarks":[{"stats":{"min_ns":-1,"max_ns":"x","rounds":1e300,"iter_per_round":0}},{"stats":[]}]})");
  ASSERT_TRUE(all);
  EXPECT_EQ((*all)[0].per_iteration.min, 0);
  EXPECT_EQ((*all)[0].per_iteration.max, 0);
  EXPECT_EQ((*all)[0].iterations, 1U);
}

TEST(ParseClientResults, KeepsWithinItsBounds) {
  std::string deep(5'000'000, '['), many = R"({"instrument":{"type":"walltime"},"benchmarks":[)";
  EXPECT_FALSE(parse(deep));
  EXPECT_TRUE(parse(R"({"instrument":{"type":"walltime"},"benchmarks":[{"uri":"a","metadata":{"b":)" + std::string(1000, '[') + std::string(1000, ']') + "}}]}"));
  for (int i = 0; i < 600'000; ++i) many += "{},";
  EXPECT_EQ(parse(many + "{}]}").error().kind(), ErrorKind::kLimit);
  EXPECT_EQ(parse(std::string(kMaxClientFile + 1, ' ')).error().kind(), ErrorKind::kLimit);
}

TEST(ParseClientEnvironment, ReadsWhatClientsWrite) {
  const std::string_view text = R"({"integration_environment": {"runtime": {"node": "v26.10.0", "flags": ["a"]}, "odd": 5},
    "linked_libraries": {"libc.so.6": {"path": "/lib/libc.so.6", "build_id": "93ac"}, "a": {"path": "relative", "build_id": "1"}, "b": {"path": "/none"}, "c": 7}})";
  const auto found = parse_client_environment({reinterpret_cast<const uint8_t*>(text.data()), text.size()}, "environment-7.json");
  ASSERT_TRUE(found) << found.error().message();
  EXPECT_THAT(found->software, testing::ElementsAre(testing::Pair("runtime node", "v26.10.0")));
  EXPECT_THAT(found->libraries, testing::ElementsAre(testing::Pair("/lib/libc.so.6", "93ac")));
}

}  // namespace
}  // namespace cicada::benchmark
