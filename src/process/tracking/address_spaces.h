// SPDX-License-Identifier: Apache-2.0
// Who uses which address space, and what is mapped in each.
//
//   fork   the child joins its parent's space; their memory is no longer one, so whoever maps first moves to a copy
//   vfork  the child joins its parent's space and memory (CLONE_VM too): what one maps both have, and they move together
//   exec   leave, then join the id that the kernel gave
//   exit   leave; a space without users is unused() one collection cycle later
//
// Who has moved to a copy is sampled under the old id until the kernel is told: take_moves().
// Ids are never reused; 0 is none. Threads: one at a time.
#pragma once
#include <cstdint>
#include <functional>
#include <span>
#include <unordered_map>
#include <vector>

#include "process/tracking/address_space.h"

namespace cicada::process {

class AddressSpaces {
 public:
  // `allocate`: an id that nobody has ever used.
  explicit AddressSpaces(std::function<uint32_t()> allocate) : allocate_(std::move(allocate)) {}

  // --- who uses which
  uint32_t find(Pid pid) const;
  // What it shared before is left. False: the space is new, so what is mapped there is not known.
  bool join(Pid pid, uint32_t id);
  // `id`: the one that the kernel knew the parent by, and so knows the child by. Same result.
  bool fork(Pid parent, Pid child, uint32_t id, bool shares_memory);
  void leave(Pid pid);
  bool in_use(uint32_t id) const;
  std::vector<SpaceUser> users(uint32_t id) const;

  // --- what is mapped
  // Ids of those in which it is mapped.
  std::vector<uint32_t> find_all_with(uint32_t image) const;
  // Null: no such space.
  const AddressSpace* mappings(uint32_t id) const;
  struct Insertion {
    uint32_t id = 0;
    bool changed = false;
    std::vector<Mapping> before;  // what was in the range, if it changed
  };
  // The process must use a space.
  Insertion insert(Pid pid, const Mapping& mapping);
  // The whole space. False: nothing changed.
  bool assign(Pid pid, AddressSpace mappings);
  // Mappings of these images, which are no longer being opened. The spaces that changed.
  std::vector<uint32_t> re_resolve(std::span<const uint32_t> images, ImageSource& source);
  bool wait_for_images() const;

  // --- what the kernel has to be told
  struct Move {
    Pid pid = 0;
    uint32_t from = 0;
  };
  // Users of the space whom the kernel still knows by another: told of once.
  std::vector<Move> take_moves(uint32_t to);

  // --- forgetting
  std::vector<uint32_t> unused() const;
  void erase(uint32_t id) { spaces_.erase(id); }
  void end_cycle() { ++cycle_; }

  size_t size() const { return spaces_.size(); }
  size_t count_mappings() const;
  uint64_t copies() const { return copies_; }

 private:
  struct Space {
    AddressSpace mappings;
    std::vector<Pid> users;        // hardly ever more than one
    uint32_t unused_in_cycle = 0;  // 0: in use
  };
  struct User {
    uint32_t id = 0;
    uint64_t memory = 0;    // who has the same shares it
    uint32_t moved_from = 0;  // the id before the last copy: forks that began then still report it
    bool move_pending = false;
  };
  bool join(Pid pid, const User& user);
  // The space for this user to change: a copy if others' memory is there too.
  bool is_shared(const User& user) const;
  Space& move_to_copy(const User& user);

  std::function<uint32_t()> allocate_;
  std::unordered_map<uint32_t, Space> spaces_;
  std::unordered_map<Pid, User> users_;
  uint64_t next_memory_ = 1;
  uint64_t copies_ = 0;
  uint32_t cycle_ = 1;
};

}  // namespace cicada::process
