// SPDX-License-Identifier: Apache-2.0
#include "cli/record/viewer_controls.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include "cli/record/record.h"

namespace cicada::cli {
namespace {

struct Asked {
  RawRecordOptions raw;
  std::optional<Pid> command = {};
  Asked() { raw.shown = true; }
  ViewerControls controls(bool changeable = true) const {
    RecordOptions options = *check_record_options(raw);
    if (changeable) options.changeable = std::make_shared<const RawRecordOptions>(raw);
    return ViewerControls(options, command);
  }
};

bool is_readable(int fd) {
  pollfd polled{fd, POLLIN, 0};
  return ::poll(&polled, 1, 0) > 0;
}

TEST(ViewerControls, OtherEventsOfTheSame) {
  Asked asked;
  asked.raw.whole_machine = true;
  asked.raw.events = {"cpu-clock"};
  asked.raw.frequency = "199";
  const ViewerControls controls = asked.controls();
  const auto next = controls.changed(" off-cpu/period=1/  page-faults/period=1/ ", "");
  ASSERT_TRUE(next) << next.error().message();
  EXPECT_TRUE(next->target.whole_machine);
  ASSERT_EQ(next->events.events.size(), 2U);
  EXPECT_EQ(next->events.events[0].type.name, "off-cpu");
  EXPECT_NE(next->changeable, nullptr);
  EXPECT_EQ(controls.changed("no-such-event", "").error().kind(), ErrorKind::kInvalid);
}

TEST(ViewerControls, SomeProcessesOfTheMachine) {
  Asked asked;
  asked.raw.whole_machine = true;
  const ViewerControls controls = asked.controls();
  const auto named = controls.changed("", "nginx,php*");
  ASSERT_TRUE(named) << named.error().message();
  EXPECT_TRUE(named->target.whole_machine);
  EXPECT_EQ(title_of(*named), "comm nginx php*");
  const auto numbered = controls.changed("", fmt::format("{}", ::getpid()));
  ASSERT_TRUE(numbered) << numbered.error().message();
  EXPECT_EQ(numbered->target.pids, std::vector<Pid>{::getpid()});
  EXPECT_FALSE(controls.changed("", "2000000000"));
}

// Nobody sees more by it than the command line named.
TEST(ViewerControls, NoOtherProcessesThanWereNamed) {
  Asked one, named;
  one.raw.processes = {fmt::format("{}", ::getpid())};
  named.raw.whole_machine = true;
  named.raw.asked.processes = {"nginx"};
  for (const Asked* asked : {&one, &named}) {
    const ViewerControls controls = asked->controls();
    EXPECT_EQ(controls.changed("", "1").error().kind(), ErrorKind::kInvalid);
    EXPECT_EQ(controls.changed("", "bash").error().kind(), ErrorKind::kInvalid);
    const auto same = controls.changed("cpu-clock", "");
    ASSERT_TRUE(same) << same.error().message();
    EXPECT_EQ(same->target.pids, check_record_options(asked->raw)->target.pids);
    EXPECT_EQ(same->target.asked_for, check_record_options(asked->raw)->target.asked_for);
  }
}

// It runs already, and keeps its name.
TEST(ViewerControls, TheCommandGoesOn) {
  Asked asked;
  asked.raw.command = {"make", "-j8"};
  asked.command = ::getpid();
  const auto next = asked.controls().changed("cpu-clock", "");
  ASSERT_TRUE(next) << next.error().message();
  EXPECT_EQ(next->target.command, asked.raw.command);
  EXPECT_NE(std::find(next->target.pids.begin(), next->target.pids.end(), ::getpid()), next->target.pids.end());
  EXPECT_EQ(title_of(*next), title_of(*check_record_options(asked.raw)));
}

TEST(ViewerControls, WhatIsWrittenIsNotBegunAnew) {
  Asked asked;
  asked.raw.whole_machine = true;
  EXPECT_FALSE(asked.controls(false).changed("cpu-clock", ""));
  asked.raw.outputs = {"/tmp/cicada-controls-test.svg"};
  const auto refused = asked.controls().changed("cpu-clock", "");
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message().find("/tmp/cicada-controls-test.svg"), std::string::npos) << refused.error().message();
}

TEST(ViewerControls, TakesLines) {
  Asked asked;
  asked.raw.whole_machine = true;
  ViewerControls controls = asked.controls();
  const auto viewer = controls.controls();
  EXPECT_TRUE(viewer.moment().may_change && viewer.moment().may_choose);
  EXPECT_FALSE(viewer.take("format"));
  EXPECT_TRUE(viewer.take("record no-such-event\t"));
  EXPECT_NE(viewer.moment().answer.find("no-such-event"), std::string::npos);
  EXPECT_FALSE(is_readable(controls.change_fd()));
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(viewer.take("record cpu-clock\tbash"));
  EXPECT_TRUE(viewer.take("record off-cpu"));
  EXPECT_TRUE(is_readable(controls.change_fd()));
  const auto change = controls.take_change();
  ASSERT_TRUE(change);
  EXPECT_EQ(change->events + change->processes, "off-cpu");  // the last one counts
  EXPECT_FALSE(is_readable(controls.change_fd()));
  EXPECT_FALSE(controls.take_change());
  EXPECT_TRUE(viewer.take("pause"));  // nothing runs
  EXPECT_FALSE(viewer.moment().paused);
  EXPECT_TRUE(viewer.take("stop"));
  EXPECT_TRUE(is_readable(controls.stop_fd()));
}

}  // namespace
}  // namespace cicada::cli
