// SPDX-License-Identifier: Apache-2.0
// A capture file of each format version that was ever released must open. Each: `golden_profile x.cicada` (see
// tests/golden/HOW.md), as hex.
#include <gtest/gtest.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "profile/call_tree.h"
#include "sink/recording/capture_reader.h"

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

constexpr std::string_view kVersion2 =  // the same profile, its tables packed
    "894349434144410a0200000043484e4b3301000029010000000000008740371b28b52ffd60290049090001730106676f6c64656e0205362e"
    "312e3003067838365f3634040130060663696361646106067265636f726406022d2d0606676f6c64656e07096370752d636c6f636b080480"
    "ade2040901640a098080a8b1e39fe7cb170b058094ebdc030c058094ebdc030d01020e01640f08640173746f72656410560b8401e82d4637"
    "b02f776ba2e585e3472bf0cdd9c56910a959a726e9b781d8635da6481fd6d2cb1d8eab32799af8ad9141aa72fb68968f6fda5b7f2d9e25a1"
    "b638c51f200d1d9a8b6183137fb33eff846754a4322e3e0307020102010300040d1c04047ffdfdffff1fef9fdf3cd8e965a1629fa27b3a37"
    "5852f1e9e3000e1d05fe0fe2b76122616eaf209fba0bc8dcf576effeefa32e9c9d8f6e1452070800e724630a000000080a0000e724150100"
    "e8241643484e4b580000004f00000001000000b070e31728b52ffd204f7902000f4d64cd9da5fffffb5fb3b68032090d9e423e5d9d3342a2"
    "61dd72895ade81ffa470c8a368556be2056f9f07a9dd52c37e65c4f5c4870153bafa063eee4b835a2770b7c6a497635cdad3df2edcde0043"
    "484e4b0c000000030000000200000044facc4a28b52ffd20031900000b0164";

std::vector<uint8_t> from_hex(std::string_view hex) {
  const auto digit = [](char c) { return c <= '9' ? c - '0' : c - 'a' + 10; };
  std::vector<uint8_t> bytes;
  for (size_t i = 0; i + 1 < hex.size(); i += 2) bytes.push_back(static_cast<uint8_t>(digit(hex[i]) << 4 | digit(hex[i + 1])));
  return bytes;
}

void expect_golden(std::string_view hex, const std::string& name) {
  const std::vector<uint8_t> bytes = from_hex(hex);
  const auto capture = read_capture(bytes, name);
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

TEST(CaptureFixture, Version1StillOpens) { expect_golden(kVersion1, "version 1"); }
TEST(CaptureFixture, Version2StillOpens) { expect_golden(kVersion2, "version 2"); }

}  // namespace
}  // namespace cicada::sink
