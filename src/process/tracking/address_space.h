// SPDX-License-Identifier: Apache-2.0
// The executable mappings of one address space. There is no unmap event: a newer mapping supersedes what it overlaps, and what
// was really unmapped in between is harmless until then (nothing runs there).
//
//   [--------- libfoo ---------]      insert [ libbar )      [ libfoo )[ libbar )[ libfoo )
//
// Neighbours with the same image and bias are kept as one mapping (an mprotect in the middle splits VMAs, not meaning).
// Threads: one at a time; copyable (fork).
#pragma once
#include <map>
#include <optional>
#include <vector>

#include "base/address.h"
#include "process/tracking/block_difference.h"
#include "process/images/image_source.h"

namespace cicada::process {

struct Mapping {
  Range<RuntimeAddr> range;
  FileOffset offset;      // of range.begin; JIT: 0
  ImageBinding binding;
  uint32_t flags = 0;     // enum mapping_flags
  bool published() const { return binding.state == BindingState::kImage || binding.state == BindingState::kJit; }
};

class AddressSpace {
 public:
  // False: nothing changed. An empty range is ignored.
  bool insert(const Mapping& mapping);
  // Asks again for everything bound to `image`; true if something changed.
  bool re_resolve(uint32_t image, ImageSource& images);
  void clear() { mappings_.clear(); }

  size_t size() const { return mappings_.size(); }
  bool empty() const { return mappings_.empty(); }
  std::vector<Mapping> mappings() const;  // ascending
  // Nothing: unmapped, or mapped but not bound yet.
  std::optional<mapping_value> find(RuntimeAddr address) const;
  // What is mapped in the range, bound or not, cut to it; ascending.
  std::vector<Mapping> find_in(Range<RuntimeAddr> range) const;
  bool operator==(const AddressSpace& other) const;

  // The minimal cover of what is published(), sorted by (base, prefix_bits).
  std::vector<PublishedBlock> blocks() const;

 private:
  void erase(Range<RuntimeAddr> range);
  std::map<RuntimeAddr, Mapping> mappings_;  // by range.begin
};

}  // namespace cicada::process
