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
  static sample_record grouped(uint64_t number, group_kind kind = GROUP_UNSIGNED) {
    sample_record sample{};
    sample.uid = 4'000'000;
    sample.group = kind;
    sample.begin_ns = number;
    return sample;
  }
  void add(uint64_t hash, std::string_view text, bool is_cut = false) {
    text_record head{};
    head.hash = hash;
    head.is_cut = is_cut ? 1 : 0;
    labels_.add_text(head, text);
  }
  std::string text_of(uint64_t hash) { return text(grouped(hash, GROUP_TEXT)); }
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
  EXPECT_EQ(text(grouped(~uint64_t{0}, GROUP_SIGNED)), "user=4000000;group=-1;");
}

TEST_F(LabelsOfSamples, GroupsHaveABudget) {
  for (uint64_t i = 0; i < SampleLabels::kMostGroups; ++i) ASSERT_EQ(text(grouped(i)), fmt::format("user=4000000;group={};", i));
  EXPECT_EQ(text(grouped(1'000'000)), "user=4000000;group=[others];");
  EXPECT_EQ(text(grouped(7)), "user=4000000;group=7;");
  labels_.forget();
  EXPECT_EQ(text(grouped(7)), "user=4000000;group=7;");
  EXPECT_EQ(text(grouped(1'000'000)), "user=4000000;group=[others];");
}

TEST_F(LabelsOfSamples, TextsAreKnownByTheirHash) {
  add(1000, "/etc/hosts");
  add(1001, "");
  EXPECT_EQ(text_of(1000), "user=4000000;group=/etc/hosts;");
  labels_.forget();
  EXPECT_EQ(text_of(1000), "user=4000000;group=/etc/hosts;");
  add(1000, "another one");
  EXPECT_EQ(text_of(1000), "user=4000000;group=/etc/hosts;");
  EXPECT_EQ(text(grouped(1000)), "user=4000000;group=1000;");
}

TEST_F(LabelsOfSamples, WhatIsNoTextNeverVanishes) {
  EXPECT_EQ(text_of(TEXT_UNREADABLE), "user=4000000;group=[unreadable];");
  EXPECT_EQ(text_of(TEXT_NULL), "user=4000000;group=[null];");
  EXPECT_EQ(text_of(TEXT_EMPTY), "user=4000000;group=[empty];");
  EXPECT_EQ(text_of(77), "user=4000000;group=[others];");  // never told
}

TEST_F(LabelsOfSamples, TextsAreStrangers) {
  add(1000, "\x1b[2J\n\xff");
  EXPECT_EQ(text_of(1000), "user=4000000;group=\uFFFD[2J \uFFFD;");
  add(1001, "abc", true);
  EXPECT_EQ(text_of(1001), "user=4000000;group=abc…;");
  add(1002, "abc\xc3", true);  // in the middle of a letter
  EXPECT_EQ(text_of(1002), "user=4000000;group=abc…;");
  add(1003, std::string_view("a\0b", 3));
  EXPECT_EQ(text_of(1003), "user=4000000;group=a\uFFFDb;");
  add(1004, "\x80\x80", true);
  EXPECT_EQ(text_of(1004), "user=4000000;group=…;");
}

TEST_F(LabelsOfSamples, TextsHaveABudget) {
  for (uint64_t i = 0; i < MAX_TEXTS + 10; ++i) add(1000 + i, fmt::format("text {}", i));
  EXPECT_EQ(text_of(1000 + MAX_TEXTS - 1), fmt::format("user=4000000;group=text {};", MAX_TEXTS - 1));
  EXPECT_EQ(text_of(1000 + MAX_TEXTS), "user=4000000;group=[others];");
  for (uint64_t i = 0; i < SampleLabels::kMostGroups - 1; ++i) ASSERT_EQ(text_of(1000 + i), fmt::format("user=4000000;group=text {};", i));
  EXPECT_EQ(text_of(1000 + SampleLabels::kMostGroups), "user=4000000;group=[others];");
}

}  // namespace
}  // namespace cicada::ingest
