// SPDX-License-Identifier: Apache-2.0
// A capture file of each format version that was ever released must open. Version 1: `golden_profile x.cicada` (see
// tests/golden/HOW.md), as hex.
#include <gtest/gtest.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "profile/call_tree.h"
#include "sink/capture_reader.h"

namespace cicada::sink {
namespace {

constexpr std::string_view kVersion1 =
    "894349434144410a0100000043484e4b7301000043040000000000002f268cfd28b52ffd6043034d0b0076944c3e4087381db74ff2376154"
    "25c86aa1f9f20520a4ba13ee80b714e0d1ad2103a263dcbbfab6c33016bb7bd81abf31563cd60e8f17b821eca789086d9264271940003700"
    "39001c1144047d9ec87343d1b520f8819fd74129865e71d3f858f05a4fc686adb4e3516c263a094d044486036dfd841c1bf875b62b86b6c8"
    "b4baa996580f93ec2132cc98c5cc18b594d8aaa4947c79ee6b4e228c0618f4a84718a3ffd3ffa650f2fff9b2aa49515a374f9797d5d4e070"
    "d1b1a8545c5b3d7b03ade938dde6634e1c2683e928392f5e63ee1fe37afab14acbacd297c7b4e63305d3f8dd2dcf158104a4f12aa0603c57"
    "eac0b56079c057b09402f559b5370489afd6a45e221f499816400030521903825200070348e37861f557371030b6e5a1e1875e421ef4aae6"
    "e52267bd21b5774eaf7af4a373720f1320500265e81c97e33d6e7eeaaae181d303a50c502aaecce1c35d4decd0147c3dff9c279877759d17"
    "536b518cb32fa31eb0ea01";

std::vector<uint8_t> from_hex(std::string_view hex) {
  const auto digit = [](char c) { return c <= '9' ? c - '0' : c - 'a' + 10; };
  std::vector<uint8_t> bytes;
  for (size_t i = 0; i + 1 < hex.size(); i += 2) bytes.push_back(static_cast<uint8_t>(digit(hex[i]) << 4 | digit(hex[i + 1])));
  return bytes;
}

TEST(CaptureFixture, Version1StillOpens) {
  const std::vector<uint8_t> bytes = from_hex(kVersion1);
  const auto capture = read_capture(bytes, "version 1");
  ASSERT_TRUE(capture) << capture.error().message();
  EXPECT_TRUE(capture->complete);
  const profile::Profile& profile = capture->profile;
  ASSERT_TRUE(profile.validate());
  EXPECT_EQ(profile.header.host, "golden");
  EXPECT_EQ(profile.header.period, 10000000u);
  EXPECT_EQ(profile.samples().time_ns[99], 1000000000 + 99 * 10000000u);
  const profile::CallTree tree = profile::build_call_tree(profile, {.group_by = {profile::GroupBy::kThread}});
  std::vector<std::string> lines;
  for (size_t i = 1; i < tree.nodes.size(); ++i)
    if (tree.nodes[i].self != 0) lines.push_back(fmt::format("{} {}", tree.text(tree.nodes[i].name), tree.nodes[i].self));
  std::sort(lines.begin(), lines.end());
  EXPECT_EQ(lines, (std::vector<std::string>{"inner 70", "sys_read 10", "sys_read 20"}));
}

}  // namespace
}  // namespace cicada::sink
