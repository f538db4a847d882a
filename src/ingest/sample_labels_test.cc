// SPDX-License-Identifier: Apache-2.0
#include "ingest/sample_labels.h"

#include <gtest/gtest.h>

namespace cicada::ingest {
namespace {

class LabelsOfSamples : public testing::Test {
 protected:
  std::string text(const sample_record& sample) {
    std::string all;
    for (const profile::Label& label : profile_.labels(labels_.find_or_add(sample))) all += fmt::format("{}={};", profile_.text(label.key), profile_.text(label.value));
    return all;
  }
  static sample_record grouped(uint64_t number, uint8_t flags = 0) {
    sample_record sample{};
    sample.uid = 4'000'000;
    sample.flags = static_cast<uint8_t>(SAMPLE_GROUPED | flags);
    sample.begin_ns = number;
    return sample;
  }
  profile::Profile profile_;
  SampleLabels labels_{profile_};
};

TEST_F(LabelsOfSamples, AreTheUserTheStateAndTheGroup) {
  sample_record sample{};
  sample.uid = 4'000'000;
  EXPECT_EQ(text(sample), "user=4000000;");
  sample.wait = WAIT_DISK;
  EXPECT_EQ(text(sample), "user=4000000;state=disk;");
  EXPECT_EQ(text(grouped(3)), "user=4000000;group=3;");
  EXPECT_EQ(text(grouped(0)), "user=4000000;group=0;");
  EXPECT_EQ(text(grouped(~uint64_t{0})), "user=4000000;group=18446744073709551615;");
  EXPECT_EQ(text(grouped(~uint64_t{0}, SAMPLE_GROUP_SIGNED)), "user=4000000;group=-1;");
}

TEST_F(LabelsOfSamples, GroupsHaveABudget) {
  for (uint64_t i = 0; i < SampleLabels::kMostGroups; ++i) ASSERT_EQ(text(grouped(i)), fmt::format("user=4000000;group={};", i));
  EXPECT_EQ(text(grouped(1'000'000)), "user=4000000;group=[others];");
  EXPECT_EQ(text(grouped(7)), "user=4000000;group=7;");
  labels_.forget();
  EXPECT_EQ(text(grouped(7)), "user=4000000;group=7;");
  EXPECT_EQ(text(grouped(1'000'000)), "user=4000000;group=[others];");
}

}  // namespace
}  // namespace cicada::ingest
