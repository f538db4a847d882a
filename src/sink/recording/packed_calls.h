// SPDX-License-Identifier: Apache-2.0
// Frames and stacks of a finished recording, packed: a call site mostly calls what it called before, and a new stack mostly leaves a
// recent one a few levels up. So a row costs 3 bits where a parent and a frame as numbers cost 12.
//
//   stack row := does it continue the row before?  else: from which of the last leaves, how many levels up?
//                        else: any row, by its distance (naming the way down from a leaf's path took a quarter more)
//                frame: what the same two callers called last?  else: what this caller called before, by recency?
//                       else: a frame that is new, near the last one called from here; or any old one
//
// Used by writer and reader alike (adaptive_coder.h). Indices are those of the file; `image` and `label` are not checked here.
#pragma once
#include <algorithm>
#include <array>
#include <unordered_map>
#include <vector>

#include "profile/content_index.h"
#include "profile/profile.h"
#include "sink/recording/adaptive_coder.h"
#include "sink/recording/byte_writer.h"

namespace cicada::sink {

struct PackedStack {
  static constexpr uint32_t kRoot = 0xffffffff;
  uint32_t parent = kRoot;  // an earlier row
  uint32_t frame = 0;
};

// Numbers it was given, and when. Half of packing's time with the standard library's.
class KeySet {
 public:
  // Its index: as many as there were before, if it is new.
  uint32_t add(uint64_t key) {
    if ((keys_.size() + 1) * 4 > slots_.size() * 3) grow();
    uint32_t& slot = slots_[place(key)];
    if (slot == 0) {
      keys_.push_back(key);
      slot = static_cast<uint32_t>(keys_.size());
    }
    return slot - 1;
  }
  bool contains(uint64_t key) const { return !keys_.empty() && slots_[place(key)] != 0; }

 private:
  // Of the key, or where it would be.
  size_t place(uint64_t key) const {
    const size_t mask = slots_.size() - 1;
    size_t at = mix_hash(key, 1) & mask;
    while (slots_[at] != 0 && keys_[slots_[at] - 1] != key) at = (at + 1) & mask;
    return at;
  }
  void grow() {
    slots_.assign(slots_.empty() ? 64 : slots_.size() * 2, 0);
    for (size_t i = 0; i < keys_.size(); ++i) slots_[place(keys_[i])] = static_cast<uint32_t>(i + 1);
  }

  std::vector<uint64_t> keys_;
  std::vector<uint32_t> slots_;  // index + 1; 0: free
};

template <typename Coder>
class CallCoder {
 public:
  // Borrows; the vectors have their final sizes. A decoder fills them.
  CallCoder(Coder& coder, std::vector<profile::Frame>& frames, std::vector<PackedStack>& stacks) : coder_(coder), frames_(frames), stacks_(stacks) {
    callees_.resize(frames.size() + 1);
    used_.resize(frames.size());
    seen_.resize(frames.size());
  }

  // False: malformed.
  bool code() {
    for (size_t i = 0; i < stacks_.size(); ++i) {
      const bool continues = code_parent(static_cast<uint32_t>(i));
      if (bad_ || coder_.failed()) return false;
      code_frame(static_cast<uint32_t>(i), continues);
      if (bad_ || coder_.failed()) return false;
    }
    for (uint32_t i = 0; i < frames_.size(); ++i)
      if (!seen_[i]) code_content(i, none());
    return !bad_ && !coder_.failed();
  }

 private:
  static constexpr uint32_t kLeaves = 4, kMaxLevels = 256, kMaxCallees = 32;
  struct Used {
    uint8_t inner = 0, leaf = 0;  // times, at most 2
  };
  struct Pair {
    uint32_t callee = 0;
    uint8_t hits = 0;  // in a row, at most 3
  };

  uint32_t none() const { return static_cast<uint32_t>(frames_.size()); }  // "the caller" of an outermost frame
  uint32_t kind(uint32_t frame) const { return frame == none() ? 5 : static_cast<uint32_t>(frames_[frame].kind); }
  uint32_t frame_of(uint32_t row) const { return row == PackedStack::kRoot ? none() : stacks_[row].frame; }

  // True: the parent is the row before.
  bool code_parent(uint32_t i) {
    PackedStack& row = stacks_[i];
    if (i == 0) {
      row.parent = PackedStack::kRoot;
      return false;
    }
    Used& last = used_[stacks_[i - 1].frame];
    const bool continues = coder_.bit(continues_[(last.inner * 3U + last.leaf) * 6 + kind(stacks_[i - 1].frame)], row.parent == i - 1);
    if (continues) {
      last.inner = static_cast<uint8_t>(std::min(last.inner + 1, 2));
      row.parent = i - 1;
      return true;
    }
    last.leaf = static_cast<uint8_t>(std::min(last.leaf + 1, 2));
    leaves_.insert(leaves_.begin(), i - 1);
    if (leaves_.size() > kLeaves) leaves_.pop_back();
    if (coder_.bit(root_, row.parent == PackedStack::kRoot)) {
      row.parent = PackedStack::kRoot;
      return false;
    }
    uint32_t best = kLeaves, levels = 0;
    if constexpr (!Coder::kDecodes) {
      levels = kMaxLevels;
      for (uint32_t l = 0; l < leaves_.size(); ++l) {
        uint32_t up = 0, at = leaves_[l];
        for (; at != PackedStack::kRoot && at > row.parent && up < levels; ++up) at = stacks_[at].parent;
        if (at == row.parent && up < levels) best = l, levels = up;
      }
    }
    best = static_cast<uint32_t>(code_number(coder_, leaf_, best));
    if (best >= kLeaves) {
      const uint64_t distance = code_number(coder_, distance_, i - row.parent);
      if (distance == 0 || distance > i) bad_ = true;
      else row.parent = i - static_cast<uint32_t>(distance);
      return false;
    }
    const uint64_t up = code_number(coder_, levels_[std::min(best, 3U)], levels);
    if (best >= leaves_.size() || up >= kMaxLevels) {
      bad_ = true;
      return false;
    }
    uint32_t at = leaves_[best];
    for (uint64_t n = 0; n < up && at != PackedStack::kRoot; ++n) at = stacks_[at].parent;
    if (at == PackedStack::kRoot) bad_ = true;
    row.parent = at;
    return false;
  }

  void code_frame(uint32_t i, bool continues) {
    PackedStack& row = stacks_[i];
    const uint32_t caller = frame_of(row.parent);
    const uint32_t above = row.parent == PackedStack::kRoot ? none() : frame_of(stacks_[row.parent].parent);
    const auto is_child = [&](uint32_t frame) { return !continues && children_.contains(uint64_t{row.parent} << 32 | frame); };
    const uint32_t where = continues ? 0 : 1;
    auto& callees = callees_[caller];
    const uint32_t pair_index = pair_keys_.add(uint64_t{above} << 32 | caller);
    const bool fresh = pair_index == pairs_.size();
    if (fresh) pairs_.emplace_back();
    Pair& pair = pairs_[pair_index];
    bool hit = false;
    const bool offered = !fresh && !is_child(pair.callee);
    if (offered) {
      hit = coder_.bit(pair_[where][pair.hits], row.frame == pair.callee);
      if (hit) row.frame = pair.callee;
      pair.hits = hit ? static_cast<uint8_t>(std::min(pair.hits + 1, 3)) : 0;
    }
    if (!hit) code_other(row, callees, caller, offered ? pair.callee : none(), where, is_child);
    if (bad_) return;
    pair.callee = row.frame;
    const auto at = std::find(callees.begin(), callees.end(), row.frame);
    if (at != callees.end()) std::rotate(callees.begin(), at, at + 1);
    else callees.insert(callees.begin(), row.frame);
    if (callees.size() > kMaxCallees) callees.pop_back();
    children_.add(uint64_t{row.parent} << 32 | row.frame);
  }

  template <typename IsChild>
  void code_other(PackedStack& row, const std::vector<uint32_t>& callees, uint32_t caller, uint32_t excluded, uint32_t where, IsChild is_child) {
    choices_.clear();
    for (const uint32_t callee : callees)
      if (callee != excluded && !is_child(callee)) choices_.push_back(callee);
    if (!choices_.empty()) {
      const size_t context = std::min<size_t>(choices_.size(), 8) - 1;
      uint64_t rank = static_cast<uint64_t>(std::find(choices_.begin(), choices_.end(), row.frame) - choices_.begin());
      if (coder_.bit(known_[where][context], rank < choices_.size())) {
        if (choices_.size() > 1) rank = code_number(coder_, rank_[context], rank);
        else rank = 0;
        if (rank >= choices_.size()) bad_ = true;
        else row.frame = choices_[rank];
        return;
      }
    }
    while (next_ < seen_.size() && seen_[next_]) ++next_;
    const bool is_new = coder_.bit(new_[where][std::min<size_t>(callees.size(), 3)], !Coder::kDecodes && !seen_[row.frame]);
    const auto next = static_cast<int64_t>(next_);
    const uint64_t step = code_number(coder_, is_new ? new_frame_ : old_frame_, to_zigzag(next - static_cast<int64_t>(row.frame)));
    const uint64_t frame = next_ - static_cast<uint64_t>(from_zigzag(step));
    if (frame >= frames_.size() || seen_[frame] == is_new) {
      bad_ = true;
      return;
    }
    row.frame = static_cast<uint32_t>(frame);
    if (is_new) code_content(row.frame, caller);
  }

  // The frame itself, when it is seen first: near the last one called from the same place.
  void code_content(uint32_t index, uint32_t caller) {
    seen_[index] = true;
    profile::Frame& frame = frames_[index];
    const uint32_t sibling = callees_[caller].empty() ? none() : callees_[caller].front();
    const uint32_t model = sibling == none() ? caller : sibling;
    frame.kind = static_cast<profile::FrameKind>(code_number(coder_, kind_[kind(model)], static_cast<uint64_t>(frame.kind)));
    if (frame.kind > profile::FrameKind::kLabel) {
      bad_ = true;
      return;
    }
    const profile::Frame before = model == none() ? profile::Frame() : frames_[model];
    const bool same_image = coder_.bit(same_image_[sibling == none() ? 0 : 1], frame.image == before.image);
    if (same_image) frame.image = before.image;
    else frame.image.value = static_cast<uint32_t>(code_number(coder_, image_, frame.image.value + 1U)) - 1;
    frame.address_space = last_space_ + static_cast<uint32_t>(from_zigzag(code_number(coder_, space_, to_zigzag(static_cast<int32_t>(frame.address_space - last_space_)))));
    last_space_ = frame.address_space;
    frame.label.value = static_cast<uint32_t>(code_number(coder_, label_[frame.kind == profile::FrameKind::kLabel ? 1 : 0], frame.label.value + 1U)) - 1;
    const bool near = same_image && frame.kind == before.kind;
    uint64_t& last = last_address_[uint64_t{frame.image.value} << 8 | static_cast<uint64_t>(frame.kind)];
    const uint64_t base = near ? before.address : last;
    frame.address = base + static_cast<uint64_t>(from_zigzag(code_number(
                               coder_, address_[near ? (sibling == none() ? 1 : 2) : 0], to_zigzag(static_cast<int64_t>(frame.address - base)))));
    last = frame.address;
  }

  Coder& coder_;
  std::vector<profile::Frame>& frames_;
  std::vector<PackedStack>& stacks_;
  bool bad_ = false;
  size_t next_ = 0;  // the first frame that is not seen
  uint32_t last_space_ = 0;
  std::vector<bool> seen_;
  std::vector<Used> used_;
  std::vector<uint32_t> leaves_, choices_;
  std::vector<std::vector<uint32_t>> callees_;  // by caller, the latest first
  KeySet pair_keys_;         // caller's caller << 32 | caller
  std::vector<Pair> pairs_;  // by their index
  KeySet children_;          // parent << 32 | frame
  std::unordered_map<uint64_t, uint64_t, SeededHash> last_address_;
  std::array<BitModel, 54> continues_;
  BitModel root_;
  std::array<std::array<BitModel, 4>, 2> pair_, new_;
  std::array<std::array<BitModel, 8>, 2> known_;
  std::array<BitModel, 2> same_image_;
  NumberModel leaf_, distance_, new_frame_, old_frame_, image_, space_;
  std::array<NumberModel, 2> label_;
  std::array<NumberModel, 4> levels_;
  std::array<NumberModel, 8> rank_;
  std::array<NumberModel, 6> kind_;
  std::array<NumberModel, 3> address_;
};

}  // namespace cicada::sink
