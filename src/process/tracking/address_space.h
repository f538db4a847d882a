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
#include <span>
#include <vector>

#include "base/address.h"
#include "process/images/image_source.h"
#include "process/tracking/block_difference.h"

namespace cicada::process {

// One of them.
struct Mapping {
  Range<RuntimeAddr> range;
  FileOffset offset;  // of range.begin; JIT: 0
  ImageBinding binding;
  bool published() const { return binding.state == BindingState::kImage || binding.state == BindingState::kJit; }
};

// Nothing: not worth an entry (the kernel's own [vsyscall]).
std::optional<Mapping> resolve_mapping(MappedFile mapped, ImageSource& images);

class AddressSpace {
 public:
  // False: nothing changed. An empty range is ignored.
  bool insert(const Mapping& mapping);
  // Binds anew what waited for these images (ascending), which are open now or never will be. True: something changed.
  bool re_resolve(std::span<const uint32_t> images, ImageSource& source);
  // Something does: as of the last re_resolve() and insert().
  bool waits_for_images() const { return waits_; }

  size_t size() const { return mappings_.size(); }
  bool empty() const { return mappings_.empty(); }
  std::vector<Mapping> mappings() const;  // ascending
  bool maps(uint32_t image) const;
  // Nothing: unmapped, or mapped but not bound yet.
  std::optional<mapping_value> find(RuntimeAddr address) const;
  // What is mapped in the range, bound or not, cut to it; ascending.
  std::vector<Mapping> find_in(Range<RuntimeAddr> range) const;
  // Code of files that was mapped in `former` where nothing is mapped here: the first `most` pieces, ascending.
  std::vector<Mapping> gone_since(const AddressSpace& former, size_t most) const;
  bool operator==(const AddressSpace& other) const;

  // The minimal cover of what is published(), sorted by (base, prefix_bits).
  std::vector<PublishedBlock> blocks() const;

 private:
  void erase(Range<RuntimeAddr> range);
  std::map<RuntimeAddr, Mapping> mappings_;  // by range.begin
  bool waits_ = false;
};

// Who uses an address space, and under which id it is sampled: another one until the kernel knows of its copy.
struct SpaceUser {
  Pid pid = 0;
  uint32_t sampled_as = 0;
};

}  // namespace cicada::process
