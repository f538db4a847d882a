// SPDX-License-Identifier: Apache-2.0
// New frames and stacks of a difference, for both directions (column_io.h). A call site mostly calls what it called before, so a stack's
// frame is written as its place among the caller's recent callees; a new frame's address as its distance from the latest of them.
//
// Of compilers, 9 stacks a sample: a parent and a frame as plain numbers take 10.2 bytes a sample after zstd, as this 7.5; addresses 5.0
// and 3.3 (docs/measurements/capture_size.md).
#pragma once
#include <array>
#include <optional>

#include "profile/snapshot.h"
#include "sink/recording/delta_tables.h"
#include "sink/recording/number_map.h"

namespace cicada::sink {

// What a frame called, the latest first.
class RecentCallees {
 public:
  static constexpr size_t kKept = 32;

  std::optional<uint32_t> latest() const { return size_ == 0 ? std::nullopt : std::optional(frames_[0]); }
  // kKept: not among them.
  size_t find(uint32_t frame) const {
    const auto end = frames_.begin() + size_, at = std::find(frames_.begin(), end, frame);
    return at == end ? kKept : static_cast<size_t>(at - frames_.begin());
  }
  std::optional<uint32_t> at(size_t place) const { return place < size_ ? std::optional(frames_[place]) : std::nullopt; }
  void promote(uint32_t frame) {
    const size_t place = std::min<size_t>(find(frame), size_ < kKept ? size_++ : kKept - 1);
    std::copy_backward(frames_.begin(), frames_.begin() + place, frames_.begin() + place + 1);
    frames_[0] = frame;
  }

 private:
  std::array<uint32_t, kKept> frames_{};
  uint8_t size_ = 0;
};

template <typename Io>
class CallCoder {
 public:
  // `known`: at least the rows before the new ones. The vectors have their final sizes; a reader fills them.
  CallCoder(Io& io, const profile::ProfileSnapshot& known, const profile::SnapshotSizes& before, std::vector<profile::Frame>& frames,
            std::vector<profile::Stack>& stacks)
      : io_(io), known_(known), first_frame_(static_cast<uint32_t>(before.frames)), first_stack_(static_cast<uint32_t>(before.stacks)),
        frames_(frames), stacks_(stacks), models_(frames.size(), kNone) {}

  void code(const profile::SnapshotSizes& limits) {
    code_parents();
    code_stack_frames();
    code_frames(limits);
  }

 private:
  static constexpr uint32_t kNone = profile::FrameId::kNone;
  struct Chain {
    uint64_t more = 0;  // rows after the first
    uint64_t up = 0;    // from the first to its parent; 0: none
  };

  uint32_t frame_of(profile::StackId stack) const {
    if (!stack.valid()) return kNone;
    return stack.value < first_stack_ ? known_.stacks()[stack.value].frame.value : stacks_[stack.value - first_stack_].frame.value;
  }
  const profile::Frame& frame(uint32_t id) const { return id < first_frame_ ? known_.frames()[id] : frames_[id - first_frame_]; }

  // Runs of rows, each the child of the one before it.
  void code_parents() {
    std::vector<Chain> chains;
    if constexpr (!Io::kReads) {
      for (size_t i = 0; i < stacks_.size(); ++i) {
        const profile::StackId parent = stacks_[i].parent;
        if (i != 0 && parent == profile::StackId(first_stack_ + i - 1)) ++chains.back().more;
        else chains.push_back({0, parent.valid() ? first_stack_ + i - parent.value : 0});
      }
    }
    chains.resize(io_.count(chains.size(), sizeof(Chain)));
    for (Chain& chain : chains) chain.more = io_.number(chain.more);
    io_.end_column();
    for (Chain& chain : chains) chain.up = io_.number(chain.up);
    io_.end_column();
    if constexpr (Io::kReads) {
      size_t row = 0;
      for (const Chain& chain : chains) {
        if (row == stacks_.size() || chain.more >= stacks_.size() - row || chain.up > first_stack_ + row) return io_.fail();
        stacks_[row].parent = chain.up == 0 ? profile::StackId() : profile::StackId(first_stack_ + row - chain.up);
        ++row;
        for (uint64_t n = 0; n < chain.more; ++n, ++row) stacks_[row].parent = profile::StackId(first_stack_ + row - 1);
      }
      if (row != stacks_.size()) io_.fail();
    }
  }

  void code_stack_frames() {
    const uint64_t limit = first_frame_ + frames_.size();
    uint64_t next = first_frame_;  // the first frame that no stack named yet
    for (profile::Stack& stack : stacks_) {
      if (io_.failed()) return;
      const uint32_t caller = frame_of(stack.parent);
      RecentCallees& callees = callees_[caller];
      const uint64_t callee = code_callee(callees, next, stack.frame.value);
      if (callee >= limit) return io_.fail();
      stack.frame = profile::FrameId(callee);
      if (callee >= next) {
        models_[callee - first_frame_] = callees.latest().value_or(caller);
        next = callee + 1;
      }
      callees.promote(static_cast<uint32_t>(callee));
    }
    io_.end_column();
  }

  uint64_t code_callee(const RecentCallees& callees, uint64_t next, uint64_t frame) {
    constexpr uint64_t kNext = RecentCallees::kKept, kOther = kNext + 1;
    uint64_t code = 0;
    if constexpr (!Io::kReads) {
      code = callees.find(static_cast<uint32_t>(frame));
      if (code == kNext && frame != next) code = kOther + to_zigzag(static_cast<int64_t>(next - frame));
    }
    code = io_.number(code);
    if (code == kNext) return next;
    if (code >= kOther) return next - static_cast<uint64_t>(from_zigzag(code - kOther));
    return callees.at(code).value_or(kNone);
  }

  void code_frames(const profile::SnapshotSizes& limits) {
    code_enums(io_, frames_, &profile::Frame::kind, profile::FrameKind::kLabel);
    code_ids(io_, frames_, &profile::Frame::image, limits.images);
    code_numbers(io_, frames_, &profile::Frame::address_space);
    code_ids(io_, frames_, &profile::Frame::label, limits.strings);
    NumberMap<uint64_t> last;  // address, by image and kind
    for (size_t i = 0; i < frames_.size(); ++i) {
      profile::Frame& row = frames_[i];
      uint64_t& base = last[uint64_t{row.image.value} << 8 | static_cast<uint64_t>(row.kind)];
      if (models_[i] != kNone && frame(models_[i]).image == row.image && frame(models_[i]).kind == row.kind) base = frame(models_[i]).address;
      base = row.address = io_.near(base, row.address);
    }
    io_.end_column();
  }

  Io& io_;
  const profile::ProfileSnapshot& known_;
  uint32_t first_frame_, first_stack_;
  std::vector<profile::Frame>& frames_;
  std::vector<profile::Stack>& stacks_;
  std::vector<uint32_t> models_;  // by new frame: one whose address may be near, or kNone
  NumberMap<RecentCallees> callees_;  // by caller
};

}  // namespace cicada::sink
