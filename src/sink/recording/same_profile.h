// SPDX-License-Identifier: Apache-2.0
// For tests: two profiles have the same content under the same ids. Warnings apart, which readers add.
#pragma once
#include <gtest/gtest.h>

#include "profile/snapshot.h"

namespace cicada::sink {

inline void expect_same_header(const profile::Header& a, const profile::Header& b) {
  EXPECT_EQ(a.host, b.host);
  EXPECT_EQ(a.boot_id, b.boot_id);
  EXPECT_EQ(a.command, b.command);
  EXPECT_EQ(a.start_realtime_ns, b.start_realtime_ns);
  EXPECT_EQ(a.duration_ns, b.duration_ns);
  EXPECT_EQ(a.cpu_count, b.cpu_count);
  const auto expect_same_counts = [](const auto& x, const auto& y) {
    ASSERT_EQ(x.size(), y.size());
    for (size_t i = 0; i < x.size(); ++i) {
      EXPECT_EQ(x[i].name, y[i].name);
      EXPECT_EQ(x[i].value, y[i].value);
      EXPECT_EQ(x[i].outcome, y[i].outcome);
    }
  };
  expect_same_counts(a.end_reasons, b.end_reasons);
  ASSERT_EQ(a.events.size(), b.events.size());
  for (size_t i = 0; i < a.events.size(); ++i) {
    const profile::Event &x = a.events[i], &y = b.events[i];
    EXPECT_EQ(x.name, y.name);
    EXPECT_EQ(x.unit, y.unit);
    EXPECT_EQ(x.value, y.value);
    EXPECT_EQ(x.period, y.period);
    EXPECT_EQ(x.frequency_hz, y.frequency_hz);
    EXPECT_EQ(x.sample_ns, y.sample_ns);
    EXPECT_EQ(x.fired, y.fired);
    expect_same_counts(x.counts, y.counts);
  }
}

inline void expect_same(const profile::ProfileSnapshot& a, const profile::ProfileSnapshot& b) {
  expect_same_header(a.header, b.header);
  ASSERT_EQ(a.strings().size(), b.strings().size());
  for (size_t i = 0; i < a.strings().size(); ++i) EXPECT_EQ(a.text(profile::StringId(i)), b.text(profile::StringId(i)));
  const auto expect_same_rows = [](const auto& x, const auto& y) {
    ASSERT_EQ(x.size(), y.size());
    EXPECT_TRUE(std::equal(x.begin(), x.end(), y.begin()));
  };
  expect_same_rows(a.images(), b.images());
  expect_same_rows(a.functions(), b.functions());
  expect_same_rows(a.frames(), b.frames());
  expect_same_rows(a.processes(), b.processes());
  expect_same_rows(a.threads(), b.threads());
  ASSERT_EQ(a.stacks().size(), b.stacks().size());
  for (size_t i = 0; i < a.stacks().size(); ++i) {
    EXPECT_EQ(a.stacks()[i].parent, b.stacks()[i].parent);
    EXPECT_EQ(a.stacks()[i].frame, b.stacks()[i].frame);
  }
  for (size_t i = 0; i < a.frames().size(); ++i) expect_same_rows(a.locations(profile::FrameId(i)), b.locations(profile::FrameId(i)));
  ASSERT_EQ(a.label_set_count(), b.label_set_count());
  for (size_t i = 0; i < a.label_set_count(); ++i) expect_same_rows(a.labels(profile::LabelSetId(i)), b.labels(profile::LabelSetId(i)));
  ASSERT_EQ(a.sample_count(), b.sample_count());
  for (size_t i = 0; i < a.sample_count(); ++i) {
    const profile::Sample x = a.sample(i), y = b.sample(i);
    ASSERT_EQ(x.time_ns, y.time_ns) << i;
    ASSERT_EQ(x.thread, y.thread) << i;
    ASSERT_EQ(x.stack, y.stack) << i;
    ASSERT_EQ(x.value, y.value) << i;
    ASSERT_EQ(x.labels, y.labels) << i;
    ASSERT_EQ(x.cpu, y.cpu) << i;
    ASSERT_EQ(x.event, y.event) << i;
    ASSERT_EQ(profile::to_state(x), profile::to_state(y)) << i;
  }
}

}  // namespace cicada::sink
