// SPDX-License-Identifier: Apache-2.0
// Copy-on-write of address spaces: who shares one, who leaves, who gets his own.
#include <algorithm>

#include "process/tracking/process_table_state.h"

namespace cicada::process {

Process* ProcessTable::State::find(Pid pid) {
  const auto at = processes.find(pid);
  return at == processes.end() ? nullptr : &at->second;
}

void ProcessTable::State::mark_dirty(uint32_t id) {
  spaces.at(id).dirty = true;
  dirty.insert(id);
}

Space& ProcessTable::State::join(Process& process, uint32_t id) {
  auto [at, fresh] = spaces.try_emplace(id);
  auto& users = at->second.users;
  if (std::find(users.begin(), users.end(), process.info.pid) == users.end()) users.push_back(process.info.pid);
  at->second.unused_in_cycle = 0;
  process.info.address_space = id;
  return at->second;
}

void ProcessTable::State::leave(Process& process) {
  const auto at = spaces.find(process.info.address_space);
  if (at == spaces.end()) return;
  std::erase(at->second.users, process.info.pid);
  if (at->second.users.empty()) at->second.unused_in_cycle = cycle;
}

bool ProcessTable::State::shared_by_others(const Process& process) {
  for (const Pid pid : space_of(process).users) {
    const Process* other = find(pid);
    if (other != nullptr && other->mm_group != process.mm_group) return true;
  }
  return false;
}

void ProcessTable::State::split(Process& process) {
  const uint32_t from = process.info.address_space;
  const uint32_t to = publisher.allocate_address_space();
  AddressSpace copy = space_of(process).mappings;
  std::vector<Pid> movers;
  for (const Pid pid : space_of(process).users) {
    const Process* other = find(pid);
    if (other != nullptr && other->mm_group == process.mm_group) movers.push_back(pid);
  }
  for (const Pid pid : movers) {
    Process& mover = *find(pid);
    leave(mover);
    join(mover, to);
    mover.replaced_space = from;
  }
  spaces.at(to).mappings = std::move(copy);
  if (pending_spaces.contains(from)) pending_spaces.insert(to);
  static_cast<void>(publish(to));  // all entries first, then the ids: the walk never meets an empty space
  for (const Pid pid : movers) {
    // False: it exec'ed or went meanwhile; the record of that is on its way and says where it belongs.
    static_cast<void>(publisher.replace_address_space(pid, from, to));
  }
  ++counts.copies_on_write;
}

Process& ProcessTable::State::create(Pid pid, uint64_t start_ns) {
  if (Process* known = find(pid)) depart(*known);
  Process& process = processes[pid];
  process.info.pid = pid;
  process.info.start_ns = start_ns;
  process.mm_group = next_group++;
  return process;
}

void ProcessTable::State::depart(Process& process) {
  leave(process);
  exited.emplace(process.info.pid, Exited{process.info, cycle});
  attention.erase(process.info.pid);
  processes.erase(process.info.pid);
}

}  // namespace cicada::process
