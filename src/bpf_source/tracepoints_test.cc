// SPDX-License-Identifier: Apache-2.0
#include "bpf_source/tracepoints.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace cicada::bpf_source {
namespace {

class InATree : public testing::Test {
 protected:
  InATree() {
    for (const auto& [name, id] : {std::pair("sched/sched_switch", "372\n"), {"sched/sched_wakeup", "370\n"}, {"block/block_rq_issue", "1234567"}, {"block/odd", "none"}}) {
      std::filesystem::create_directories(root_ / name);
      std::ofstream(root_ / name / "id") << id;
    }
    std::ofstream(root_ / "enable") << "0";
  }
  ~InATree() override { std::filesystem::remove_all(root_); }
  Result<uint64_t> id(std::string_view name) { return Tracepoints(UniqueFd(::open(root_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC))).id(name); }
  std::string error(std::string_view name) {
    const auto found = id(name);
    if (found) return "found";
    EXPECT_EQ(found.error().kind(), ErrorKind::kNotFound);
    return found.error().message();
  }
  const std::filesystem::path root_ = std::filesystem::path(testing::TempDir()) / "tracepoints_test";
};

TEST_F(InATree, HaveNumbers) {
  EXPECT_EQ(*id("sched:sched_switch"), 372u);
  EXPECT_EQ(*id("block:block_rq_issue"), 1234567u);
}

TEST_F(InATree, SayWhatMayHaveBeenMeant) {
  EXPECT_EQ(error("sched:sched_swich"), "sched:sched_swich: this kernel has no tracepoint sched_swich in sched; did you mean sched_switch?");
  EXPECT_EQ(error("schd:sched_switch"), "schd:sched_switch: this kernel has no category schd of tracepoints; did you mean sched?");
  EXPECT_EQ(error("sched:wakeup"), "sched:wakeup: this kernel has no tracepoint wakeup in sched; did you mean sched_wakeup?");
  EXPECT_EQ(error("zzzzzzz:y"), "zzzzzzz:y: this kernel has no category zzzzzzz of tracepoints");
  EXPECT_EQ(error("enable:y"), "enable:y: this kernel has no category enable of tracepoints");
  EXPECT_EQ(error("block:odd"), "block:odd: this kernel has no tracepoint odd in block; did you mean odd?");
}

}  // namespace
}  // namespace cicada::bpf_source
