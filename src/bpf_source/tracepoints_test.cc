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

TEST_F(InATree, HandOverTexts) {
  std::filesystem::create_directories(root_ / "syscalls/sys_enter_open");
  for (const char* name : {"sched/sched_switch", "syscalls/sys_enter_open"}) std::ofstream(root_ / name / "format") << R"(name: both
format:
	field:char prev_comm[16];	offset:8;	size:16;	signed:0;
	field:pid_t prev_pid;	offset:24;	size:4;	signed:1;
	field:__data_loc char[] name;	offset:28;	size:4;	signed:0;
	field:__rel_loc char[] near;	offset:32;	size:4;	signed:0;
	field:const char * filename;	offset:40;	size:8;	signed:0;
	field:const char *const * argv;	offset:48;	size:8;	signed:0;
	field:__data_loc u8[] bytes;	offset:56;	size:4;	signed:0;
	field:u8 digest[16];	offset:60;	size:16;	signed:0;
	field:struct page * page;	offset:80;	size:8;	signed:0;
)";
  const Tracepoints tracepoints(UniqueFd(::open(root_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)));
  const auto has = [&](std::string_view name, std::string_view field, text_place place, uint16_t offset, uint8_t bytes, int64_t number) {
    event_fields fields{};
    const auto found = tracepoints.group_by_text(name, field, fields);
    ASSERT_TRUE(found) << field << ": " << found.error().message();
    EXPECT_EQ(fields.group_text, place) << field;
    EXPECT_EQ(fields.group.kind, FIELD_OF_RECORD) << field;
    EXPECT_EQ(fields.group.offset, offset) << field;
    EXPECT_EQ(fields.group.bytes, bytes) << field;
    EXPECT_EQ(fields.group.number, number) << field;
  };
  has("sched:sched_switch", "prev_comm", TEXT_IN_RECORD, 8, 1, 16);
  has("sched:sched_switch", "name", TEXT_LOCATED, 28, 4, 0);
  has("sched:sched_switch", "near", TEXT_LOCATED, 32, 4, 36);
  has("sched:sched_switch", "filename", TEXT_OF_KERNEL, 40, 8, 0);
  has("syscalls:sys_enter_open", "filename", TEXT_OF_USER, 40, 8, 0);
  const auto error = [&](std::string_view name, std::string_view field) {
    event_fields fields{};
    const auto found = tracepoints.group_by_text(name, field, fields);
    return found ? "found" : found.error().message();
  };
  EXPECT_EQ(error("sched:sched_switch", "prev_pid"), "sched:sched_switch: prev_pid is no text, nor the address of one (pid_t)");
  EXPECT_EQ(error("sched:sched_switch", "argv"), "sched:sched_switch: argv is no text, nor the address of one (const char *const *)");
  EXPECT_EQ(error("sched:sched_switch", "bytes"), "sched:sched_switch: bytes is no text, nor the address of one (__data_loc u8[])");
  EXPECT_EQ(error("sched:sched_switch", "digest"), "sched:sched_switch: digest is no text, nor the address of one (u8)");
  EXPECT_EQ(error("sched:sched_switch", "page"), "sched:sched_switch: page is no text, nor the address of one (struct page *)");
  EXPECT_EQ(error("syscalls:sys_enter_open", "name"), "syscalls:sys_enter_open: name is no text, nor the address of one (__data_loc char[])");  // not in what programs are handed
  EXPECT_EQ(error("sched:sched_switch", "prev_com"), "sched:sched_switch: it hands over no prev_com; did you mean prev_comm?");
  EXPECT_EQ(error("sched:sched_switch", "xyzzy"), "sched:sched_switch: it hands over no xyzzy; of texts there are prev_comm, name, near, filename");
}

TEST_F(InATree, HandOverNumbers) {
  std::ofstream(root_ / "sched/sched_switch/format") << R"(name: sched_switch
ID: 372
format:
	field:unsigned short common_type;	offset:0;	size:2;	signed:0;
	field:int common_pid;	offset:4;	size:4;	signed:1;

	field:char prev_comm[16];	offset:8;	size:16;	signed:0;
	field:pid_t prev_pid;	offset:24;	size:4;	signed:1;
	field:long prev_state;	offset:32;	size:8;	signed:1;
	field:unsigned int fd;	offset:40;	size:8;	signed:0;
	field:int dfd;	offset:48;	size:8;	signed:0;
	field:const char * filename;	offset:56;	size:8;	signed:0;
	field:umode_t mode;	offset:64;	size:8;	signed:0;
	field:__data_loc char[] name;	offset:72;	size:4;	signed:0;
	field:u8 flag;	offset:76;	size:1;	signed:0;
	field:u8 far;	offset:70000;	size:1;	signed:0;
	field:odd

print fmt: "fd: 0x%08lx, \tfield:int x;\toffset:9;", REC->fd
)";
  const auto field = [&](std::string_view name) { return Tracepoints(UniqueFd(::open(root_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC))).field("sched:sched_switch", name); };
  const auto has = [&](std::string_view name, uint16_t offset, uint8_t bytes, bool is_signed) {
    const auto found = field(name);
    ASSERT_TRUE(found) << name << ": " << found.error().message();
    EXPECT_EQ(found->offset, offset) << name;
    EXPECT_EQ(found->bytes, bytes) << name;
    EXPECT_EQ(found->is_signed, is_signed) << name;
  };
  has("prev_pid", 24, 4, true);
  has("prev_state", 32, 8, true);
  has("fd", 40, 4, false);  // the other half of the register is undefined
  has("dfd", 48, 4, true);
  has("filename", 56, 8, false);
  has("mode", 64, 2, false);
  has("flag", 76, 1, false);
  const auto error = [&](std::string_view name) { return field(name) ? "found" : field(name).error().message(); };
  EXPECT_EQ(error("prev_comm"), "sched:sched_switch: prev_comm is no number (char)");
  EXPECT_EQ(error("name"), "sched:sched_switch: name is no number (__data_loc char[])");
  EXPECT_EQ(error("prev_pd"), "sched:sched_switch: it hands over no prev_pd; did you mean prev_pid?");
  EXPECT_EQ(error("common_pid"), "sched:sched_switch: it hands over no common_pid; there are prev_pid, prev_state, fd, dfd, filename, mode, flag");  // where it stands is overwritten
  EXPECT_EQ(error("far"), "sched:sched_switch: it hands over no far; there are prev_pid, prev_state, fd, dfd, filename, mode, flag");
  std::ofstream(root_ / "sched/sched_switch/format") << "";
  EXPECT_EQ(error("fd"), "sched:sched_switch: it hands over no fd; it hands over no numbers");
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
