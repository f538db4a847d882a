// SPDX-License-Identifier: Apache-2.0
#include "process/tracking/address_spaces.h"

#include <algorithm>
#include <utility>

namespace cicada::process {

uint32_t AddressSpaces::find(Pid pid) const {
  const auto at = users_.find(pid);
  return at == users_.end() ? 0 : at->second.id;
}

bool AddressSpaces::join(Pid pid, uint32_t id) { return join(pid, User{id, next_memory_++, 0, false}); }

bool AddressSpaces::join(Pid pid, const User& user) {
  leave(pid);
  users_[pid] = user;
  const auto [at, fresh] = spaces_.try_emplace(user.id);
  at->second.users.push_back(pid);
  at->second.unused_in_cycle = 0;
  return !fresh;
}

bool AddressSpaces::fork(Pid parent, Pid child, uint32_t id, bool shares_memory) {
  User user{id, next_memory_++, 0, false};
  if (const auto at = users_.find(parent); at != users_.end()) {
    const User& from = at->second;
    // The parent moved while this fork was under way: the child has the parent's memory, so it moves too.
    if (from.id != id && from.moved_from == id) user = {from.id, user.memory, id, true};
    if (from.id == user.id && shares_memory) user.memory = from.memory;
  }
  return join(child, user);
}

void AddressSpaces::leave(Pid pid) {
  const auto user = users_.find(pid);
  if (user == users_.end()) return;
  Space& space = spaces_.at(user->second.id);
  std::erase(space.users, pid);
  if (space.users.empty()) space.unused_in_cycle = cycle_;
  users_.erase(user);
}

bool AddressSpaces::in_use(uint32_t id) const {
  const auto at = spaces_.find(id);
  return at != spaces_.end() && !at->second.users.empty();
}

std::vector<SpaceUser> AddressSpaces::users(uint32_t id) const {
  std::vector<SpaceUser> users;
  for (const Pid pid : spaces_.at(id).users) {
    const User& user = users_.at(pid);
    users.push_back({pid, user.move_pending ? user.moved_from : id});
  }
  return users;
}

std::vector<uint32_t> AddressSpaces::find_all_with(uint32_t image) const {
  std::vector<uint32_t> found;
  for (const auto& [id, space] : spaces_) {
    if (space.mappings.maps(image)) found.push_back(id);
  }
  return found;
}

const AddressSpace* AddressSpaces::mappings(uint32_t id) const {
  const auto at = spaces_.find(id);
  return at == spaces_.end() ? nullptr : &at->second.mappings;
}

bool AddressSpaces::is_shared(const User& user) const {
  const std::vector<Pid>& users = spaces_.at(user.id).users;
  return std::any_of(users.begin(), users.end(), [&](Pid pid) { return users_.at(pid).memory != user.memory; });
}

AddressSpaces::Space& AddressSpaces::move_to_copy(const User& mover) {
  const uint32_t from = mover.id, to = allocate_();
  const uint64_t memory = mover.memory;
  ++copies_;
  for (const Pid pid : std::vector(spaces_.at(from).users)) {
    User user = users_.at(pid);
    if (user.memory != memory) continue;
    user.id = to;
    if (!user.move_pending) user.moved_from = from;
    user.move_pending = true;
    join(pid, user);
  }
  return spaces_.at(to);
}

AddressSpaces::Insertion AddressSpaces::insert(Pid pid, const Mapping& mapping) {
  const User& user = users_.at(pid);
  Space& space = spaces_.at(user.id);
  Insertion done{user.id, false, space.mappings.find_in(mapping.range)};
  if (!is_shared(user)) {
    done.changed = space.mappings.insert(mapping);
    return done;
  }
  AddressSpace copy = space.mappings;
  done.changed = copy.insert(mapping);
  if (!done.changed) return done;
  move_to_copy(user).mappings = std::move(copy);
  done.id = find(pid);
  return done;
}

bool AddressSpaces::assign(Pid pid, AddressSpace mappings) {
  const User& user = users_.at(pid);
  Space& space = spaces_.at(user.id);
  if (space.mappings == mappings) return false;
  (is_shared(user) ? move_to_copy(user) : space).mappings = std::move(mappings);
  return true;
}

std::vector<uint32_t> AddressSpaces::re_resolve(std::span<const uint32_t> images, ImageSource& source) {
  std::vector<uint32_t> changed;
  for (auto& [id, space] : spaces_) {
    if (space.mappings.re_resolve(images, source)) changed.push_back(id);
  }
  return changed;
}

bool AddressSpaces::wait_for_images() const {
  return std::any_of(spaces_.begin(), spaces_.end(), [](const auto& space) { return space.second.mappings.waits_for_images(); });
}

std::vector<AddressSpaces::Move> AddressSpaces::take_moves(uint32_t to) {
  std::vector<Move> moves;
  for (const Pid pid : spaces_.at(to).users) {
    User& user = users_.at(pid);
    if (std::exchange(user.move_pending, false)) moves.push_back({pid, user.moved_from});
  }
  return moves;
}

std::vector<uint32_t> AddressSpaces::unused() const {
  std::vector<uint32_t> ids;
  for (const auto& [id, space] : spaces_) {
    if (space.unused_in_cycle != 0 && space.unused_in_cycle < cycle_) ids.push_back(id);
  }
  return ids;
}

size_t AddressSpaces::count_mappings() const {
  size_t count = 0;
  for (const auto& [id, space] : spaces_) count += space.mappings.size();
  return count;
}

}  // namespace cicada::process
