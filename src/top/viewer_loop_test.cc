// SPDX-License-Identifier: Apache-2.0
#include "top/viewer_loop.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <deque>
#include <thread>
#include <vector>

#include "profile/synthetic_profile_for_test.h"

namespace cicada::top {
namespace {

UniqueFd make_event() { return UniqueFd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)); }

// Shows nothing, and presses what the test put in.
class ScriptedScreen final : public Screen {
 public:
  int width() const override { return 40; }
  int height() const override { return 10; }
  bool has_colours() const override { return true; }
  void show(const Grid& grid) override {
    EXPECT_EQ(grid.width(), 40);
    ++shown;
    if (on_show) on_show();
  }
  std::optional<Input> next() override {
    if (inputs.empty()) return std::nullopt;
    const Input input = inputs.front();
    inputs.pop_front();
    if (inputs.empty()) {
      eventfd_t ignored;
      static_cast<void>(::eventfd_read(pressed.get(), &ignored));
    }
    return input;
  }
  int fd() const override { return pressed.get(); }
  void send(std::string_view) override {}
  void press(const Input& input) {
    inputs.push_back(input);
    ::eventfd_write(pressed.get(), 1);
  }

  int shown = 0;
  std::function<void()> on_show;
  const UniqueFd pressed = make_event();
  std::deque<Input> inputs;
};

struct ViewerLoop : ::testing::Test {
  ScriptedScreen screen;
  App app{"a title", {}};
  std::unique_ptr<Updates> updates = std::move(*Updates::open());
  std::unique_ptr<Background> reads = std::move(*Background::start("reads")), trees = std::move(*Background::start("trees"));
  UniqueFd ended = make_event();
  void run(int command = -1) { run_viewer(screen, app, *updates, {*reads, *trees}, ended.get(), command); }
  static Update an_update() { return {std::make_shared<const profile::ProfileSnapshot>(profile::make_synthetic_profile()), {}}; }
};

TEST_F(ViewerLoop, DrawsAtOnceAndLeavesWithQ) {
  screen.press({.letter = U'q'});
  run();
  EXPECT_EQ(screen.shown, 1);
}

TEST_F(ViewerLoop, LeavesWithCtrlC) {
  screen.press({.kind = Input::Kind::kInterrupt});
  run();
}

TEST_F(ViewerLoop, LeavesAtASignal) {
  ::eventfd_write(ended.get(), 1);
  run();
}

TEST_F(ViewerLoop, AnswersAKeyAtOnce) {
  screen.on_show = [&] { screen.press(screen.shown == 1 ? Input{.kind = Input::Kind::kDown} : Input{.letter = U'q'}); };
  run();
  EXPECT_EQ(screen.shown, 2);
}

TEST_F(ViewerLoop, DrawsUpdatesTenTimesASecondAtMost) {
  const auto begun = std::chrono::steady_clock::now();
  std::jthread writer([&](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      updates->put(an_update());
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  });
  screen.on_show = [&] {
    if (screen.shown == 4) screen.press({.letter = U'q'});
  };
  run();
  EXPECT_EQ(screen.shown, 4);
  EXPECT_GE(std::chrono::steady_clock::now() - begun, std::chrono::milliseconds(290));
}

TEST_F(ViewerLoop, GoesOnWhenTheCommandHasClosedItsTerminal) {
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  const UniqueFd ours(ends[0]);
  ASSERT_EQ(::write(ends[1], "hello", 5), 5);
  UniqueFd(ends[1]).reset();
  screen.on_show = [&] {
    if (screen.shown == 2) screen.press({.letter = U'q'});
  };
  run(ours.get());
  EXPECT_EQ(screen.shown, 2);
}

TEST(Background, DoesAllInTheirOrder) {
  const auto background = std::move(*Background::start("a test"));
  std::vector<int> done;
  for (int i = 0; i < 20; ++i)
    background->run([i, &done]() -> Background::End { return [i, &done](App&) { done.push_back(i); }; });
  App app("a title", {});
  while (done.size() < 20) {
    pollfd polled{background->fd(), POLLIN, 0};
    ASSERT_EQ(::poll(&polled, 1, -1), 1);
    for (const Background::End& end : background->take()) end(app);
  }
  for (int i = 0; i < 20; ++i) EXPECT_EQ(done[static_cast<size_t>(i)], i);
  EXPECT_TRUE(background->take().empty());
}

TEST(Updates, KeepTheNewestOnly) {
  const auto updates = std::move(*Updates::open());
  EXPECT_FALSE(updates->take());
  updates->put({nullptr, {.ended = "first"}});
  updates->put({nullptr, {.ended = "second"}});
  const auto newest = updates->take();
  ASSERT_TRUE(newest);
  EXPECT_EQ(newest->state.ended, "second");
  EXPECT_FALSE(updates->take());
}

}  // namespace
}  // namespace cicada::top
