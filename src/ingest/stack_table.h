// SPDX-License-Identifier: Apache-2.0
// Stack records -> stacks of the profile. The kernel sends a stack once, under a hash; samples name the hash.
//
//   user hash ──▶ StackId (outermost … leaf) ─┐
//   kernel hash ─▶ frames, outermost first ───┴▶ one StackId, kernel frames above user frames
//
// What was sent is kept in two generations, so that it does not grow for ever: begin_generation(), then the kernel side forgets what it has sent,
// then all samples that were taken before are stored, then rebase() drops what has not been sent again.
// The stacks of a user whose rows are too many (Profile::is_full) are one frame that says so.
// Threads: the drain thread's.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "abi/records.h"
#include "process/images/image_registry.h"
#include "profile/row_copier.h"

namespace cicada::ingest {

class StackTable {
 public:
  StackTable(profile::Profile& profile, const process::ImageRegistry& images) : profile_(profile), images_(images) {}

  // Whose address space it is, as the kernel says with each sample; known as long as its generation is.
  void note_sampled(uint32_t address_space, uint32_t uid);
  void add(const stack_record& record, std::span<const uint64_t> frames);
  // A sample's user side, and the whole stack. A hash may be 0 (no such side). Nothing: a record that the sample names never arrived.
  std::optional<profile::StackId> find_user(uint64_t user_hash) const;
  std::optional<profile::StackId> find_above(profile::StackId user, uint64_t kernel_hash);
  // The frames the kernel found before it gave up, but for the last, which `rest` (leaf first, abi/frame.h) begins with again.
  profile::StackId continue_user_stack(uint64_t user_hash, std::span<const uint64_t> rest, uint32_t address_space);
  // The image of the outermost frame of a user stack: 0 if it has none.
  uint32_t outermost_image(uint64_t user_hash) const;
  // Whether frames of JIT code were seen in it.
  bool has_generated_code(uint32_t address_space) const { return !jit_spaces_.empty() && jit_spaces_.contains(address_space); }
  // A frame of a user stack (abi/frame.h).
  profile::FrameId intern(uint64_t frame, uint32_t address_space);
  // What a registry image is in the profile, if any stack has it.
  std::optional<profile::ImageId> find_image(uint32_t image) const;
  // What comes from now on is of a new generation.
  void begin_generation();
  // Drops the generations before it, and takes over the ids of a compacted profile.
  void rebase(profile::RowCopier& ids);
  // The registry's id of a profile image, for the symbolizer.
  std::optional<uint32_t> registry_id(profile::ImageId image) const;

 private:
  struct UserStack {
    profile::StackId stack;
    uint32_t outermost_image = 0;
  };
  // By a record's hash, or the number of an address space.
  template <typename Record>
  struct Generations {
    std::unordered_map<uint64_t, Record> now, before;
    // Null: never arrived, or dropped.
    const Record* find(uint64_t hash) const {
      for (const auto* generation : {&now, &before}) {
        if (const auto found = generation->find(hash); found != generation->end()) return &found->second;
      }
      return nullptr;
    }
    void begin() {
      before.merge(now);
      now.clear();
    }
  };
  profile::ImageId intern_image(uint32_t image);
  // Of `frames`, leaf first, and then `inner`, outermost first; paid for by the user.
  profile::StackId intern_user_stack(std::span<const uint64_t> frames, std::span<const profile::FrameId> inner, uint32_t address_space);

  profile::Profile& profile_;
  const process::ImageRegistry& images_;
  Generations<UserStack> user_;
  Generations<std::vector<profile::FrameId>> kernel_;  // outermost first
  struct Pair {
    profile::StackId user;
    uint64_t kernel;
    bool operator==(const Pair&) const = default;
  };
  struct PairHash {
    size_t operator()(const Pair& p) const { return p.kernel ^ (uint64_t{p.user.value} * 0x9e3779b97f4a7c15ULL); }
  };
  std::unordered_map<Pair, profile::StackId, PairHash> combined_;
  std::unordered_map<uint32_t, profile::ImageId> image_ids_;
  std::unordered_map<uint32_t, uint32_t> registry_ids_;  // profile image -> registry image
  std::unordered_set<uint32_t> jit_spaces_;
  Generations<uint32_t> owners_;  // of address spaces: uid
  std::vector<profile::FrameId> scratch_;
};

}  // namespace cicada::ingest
