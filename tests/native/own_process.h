// SPDX-License-Identifier: Apache-2.0
// This very process as a host_world: its mappings, tables compiled from its files, its memory.
#pragma once
#include <map>
#include <vector>

#include "host_reader.h"
#include "host_walk.h"

namespace cicada {

class OwnProcess {
 public:
  // Everything that dl_iterate_phdr lists and that has a file.
  OwnProcess();
  const host_world& world() const { return world_; }

  static constexpr uint32_t kSpace = 5;
  // The image id that covers a runtime address, 0: none. Link address in *link.
  uint32_t image_of(uint64_t address, uint64_t* link) const;
  std::vector<mapping_value> mappings;
  std::vector<unwind_place> places;
  uint64_t reads = 0;

 private:
  static const mapping_value* find_mapping(void* owner, __u32 address_space, __u64 address);
  static int read_user(void* owner, void* to, __u32 size, __u64 address);

  std::map<uint32_t, HostSlab> tables_;  // by slab number
  std::vector<host_slab> slabs_;
  host_world world_{};
};

}  // namespace cicada
