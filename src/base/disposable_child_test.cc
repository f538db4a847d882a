// SPDX-License-Identifier: Apache-2.0
#include "base/disposable_child.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <future>

namespace cicada {
namespace {

TEST(DisposableChildren, HandOverNumbersAndDescriptors) {
  DisposableChildren children(std::chrono::minutes(5));
  const UniqueFd kept(::memfd_create("kept", MFD_CLOEXEC)), other(::memfd_create("other", MFD_CLOEXEC));
  const auto answer = children.run(0, {kept.get()}, [&](ChildAnswer& said) {
    said.number = ::fcntl(kept.get(), F_GETFD) >= 0 ? 1 : 0;
    said.error = ::fcntl(other.get(), F_GETFD) < 0 ? errno : 0;
    said.fd = ::write(kept.get(), "text", 4) == 4 ? kept.get() : -1;
  });
  ASSERT_TRUE(answer && *answer);
  EXPECT_EQ((*answer)->number, 1U);
  EXPECT_EQ((*answer)->error, EBADF);
  ASSERT_TRUE((*answer)->fd);
  EXPECT_EQ(::lseek((*answer)->fd.get(), 0, SEEK_END), 4);
  EXPECT_EQ(::fcntl((*answer)->fd.get(), F_GETFD), FD_CLOEXEC);
}

TEST(DisposableChildren, AreAbandonedWhenTheyAreSilent) {
  DisposableChildren children(std::chrono::milliseconds(20));
  const auto silent = children.run(0, {}, [](ChildAnswer&) { ::sleep(600); });
  ASSERT_TRUE(silent);
  EXPECT_FALSE(*silent);
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1) << "no child that others could wait for";
  EXPECT_EQ(errno, ECHILD);
}

// As one does whom others leave no CPU.
TEST(DisposableChildren, ThatCouldRunAreNotSilent) {
  DisposableChildren children(std::chrono::milliseconds(20));
  const auto computes = [](std::chrono::milliseconds time) {
    return [time](ChildAnswer& said) {
      const auto end = std::chrono::steady_clock::now() + time;
      while (std::chrono::steady_clock::now() < end) said.number = 7;
    };
  };
  const auto slow = children.run(0, {}, computes(std::chrono::milliseconds(60)));
  ASSERT_TRUE(slow && *slow);
  EXPECT_EQ((*slow)->number, 7U);
  const auto endless = children.run(0, {}, computes(std::chrono::minutes(10)));
  ASSERT_TRUE(endless);
  EXPECT_FALSE(*endless);
}

TEST(DisposableChildren, AnswerWhateverIsNotOpen) {
  DisposableChildren children(std::chrono::minutes(5));
  const auto answer = children.run(0, {-1, -1}, [](ChildAnswer& said) { said.number = 7; });
  ASSERT_TRUE(answer) << answer.error().message();
  ASSERT_TRUE(*answer);
  EXPECT_EQ((*answer)->number, 7U);
}

TEST(DisposableChildren, ThatDieSayNothing) {
  DisposableChildren children(std::chrono::minutes(5));
  const auto dead = children.run(0, {}, [](ChildAnswer&) { ::_exit(1); });
  ASSERT_FALSE(dead);
  EXPECT_EQ(dead.error().kind(), ErrorKind::kGone);
}

TEST(DisposableChildren, AnswerAsLongAsTheyAreAsked) {
  DisposableChildren children(std::chrono::minutes(5));
  auto child = children.start(0, {}, [](ChildEnd end) {
    ChildAnswer answer;
    for (uint64_t request = 0; end.hear(request);) {
      answer.number = request + 1;
      end.say(answer);
    }
  });
  ASSERT_TRUE(child) << child.error().message();
  for (uint64_t i = 0; i < 100; ++i) {
    const auto answer = child->ask(i);
    ASSERT_TRUE(answer && *answer);
    EXPECT_EQ((*answer)->number, i + 1);
  }
}

TEST(DisposableChildren, AreNotAwaitedAtTheEnd) {
  DisposableChildren children(std::chrono::minutes(5));
  std::stop_source stop;
  auto silent = std::async(std::launch::async, [&] {
    return children.run(
        0, {}, [](ChildAnswer&) { ::sleep(600); }, stop.get_token());
  });
  EXPECT_EQ(silent.wait_for(std::chrono::milliseconds(50)), std::future_status::timeout);
  stop.request_stop();
  const auto answer = silent.get();
  ASSERT_TRUE(answer);
  EXPECT_FALSE(*answer);
}

TEST(DisposableChildren, HearNoSignals) {
  DisposableChildren children(std::chrono::minutes(5));
  const auto answer = children.run(0, {}, [](ChildAnswer& said) {
    ::kill(::getpid(), SIGINT);
    said.number = 1;
  });
  ASSERT_TRUE(answer) << answer.error().message();
  EXPECT_TRUE(*answer);
}

TEST(DisposableChildren, AreNotAskedAgainOnceTheyWereSilent) {
  DisposableChildren children(std::chrono::milliseconds(20));
  auto child = children.start(0, {}, [](ChildEnd end) {
    uint64_t request = 0;
    while (end.hear(request)) {
      if (request != 0) ::sleep(600);
      end.say({});
    }
  });
  ASSERT_TRUE(child);
  const auto silent = child->ask(1), again = child->ask(0);
  ASSERT_TRUE(silent && again);
  EXPECT_FALSE(*silent);
  EXPECT_FALSE(*again);
}

TEST(DisposableChildren, ThatDieMeanwhileAreGone) {
  DisposableChildren children(std::chrono::minutes(5));
  auto child = children.start(0, {}, [](ChildEnd end) {
    uint64_t request = 0;
    if (end.hear(request)) end.say({});
  });
  ASSERT_TRUE(child);
  ASSERT_TRUE(child->ask(0));
  const auto gone = child->ask(0);
  ASSERT_FALSE(gone);
  EXPECT_EQ(gone.error().kind(), ErrorKind::kGone);
}

}  // namespace
}  // namespace cicada
