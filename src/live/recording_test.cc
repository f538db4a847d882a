// SPDX-License-Identifier: Apache-2.0
#include "live/recording.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <string>
#include <vector>

namespace cicada::live {
namespace {

class Folded final : public cli::ReaderFiles {
 public:
  Result<Bytes> input(const std::string& path) const override {
    if (path != "a.folded") return make_error(ErrorKind::kPermission, "{}: not among the files that were named", path);
    return Bytes(reinterpret_cast<const uint8_t*>(text_.data()), text_.size());
  }
  sink::FileRights rights() const override { return {}; }

 private:
  const std::string text_ = "main;work 3\nmain;rest 1\n";
};

TEST(Recording, ShowsAFileOnceAndHasNobodyToFollow) {
  const Folded files;
  Recording recording = Recording::of_file(files, "a.folded");
  EXPECT_TRUE(recording.is_file());
  EXPECT_EQ(recording.fd(), -1);
  ASSERT_TRUE(recording.load());
  std::vector<std::string> ended;
  uint64_t samples = 0;
  const auto follower = recording.follow([&](std::shared_ptr<const profile::ProfileSnapshot> now, const sink::PageState& state) {
    ended.push_back(state.ended);
    samples = now->sample_count();
  });
  ASSERT_TRUE(follower);
  EXPECT_EQ(*follower, nullptr);
  EXPECT_EQ(ended, std::vector<std::string>{"a recording"});
  EXPECT_GT(samples, 0U);
}

TEST(Recording, SaysWhatIsWrongWithAFile) {
  const Folded files;
  const Result<void> loaded = Recording::of_file(files, "b.folded").load();
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().kind(), ErrorKind::kPermission);
}

TEST(Recording, OfARecorderThatEndsBeforeItBeginsFails) {
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  UniqueFd(ends[0]).reset();
  Recording recording = Recording::of_recorder(UniqueFd(ends[1]), "the recorder", "whole machine", {.keep_ns = 1, .keep_samples = {}, .keep_bytes = {}}, true);
  EXPECT_EQ(recording.keep_ns(), 1U);
  ASSERT_TRUE(recording.load());
  const auto follower = recording.follow([](std::shared_ptr<const profile::ProfileSnapshot>, const sink::PageState&) { FAIL(); });
  ASSERT_FALSE(follower);
  EXPECT_EQ(follower.error().kind(), ErrorKind::kGone);
}

}  // namespace
}  // namespace cicada::live
