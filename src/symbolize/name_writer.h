// SPDX-License-Identifier: Apache-2.0
// Puts names into a profile: functions and files into its tables, positions to its frames. A name that many addresses have is looked up in the
// profile's tables once.
#pragma once
#include <optional>
#include <vector>

#include "profile/row_copier.h"
#include "symbolize/named_addresses.h"

namespace cicada::symbolize {

class NameWriter {
 public:
  // `frames`: of the addresses, in the same order. `image`: whose functions these are; kNone: they are JIT code, or the kernel's, whose images are
  // made as modules are met. `owner`: the user who is charged for them.
  NameWriter(NamedAddresses names, std::vector<profile::FrameId> frames, profile::ImageId image, bool of_kernel, uint32_t owner);

  // Names at most `most` more frames, none of an owner who has too many rows, and says so. False: that was all.
  bool write(profile::Profile& profile, size_t most = SIZE_MAX);
  // Takes over the ids of a compacted profile; frames that are not in it get no name.
  void rebase(profile::RowCopier& ids);
  // How many frames got a name (a place, "libfoo.so+0x1234", is none).
  size_t named() const { return named_; }

 private:
  profile::FunctionId function(profile::Profile& profile, uint32_t index);
  profile::PlaceId place(profile::Profile& profile, NamedAddresses::PositionId id);

  NamedAddresses names_;
  std::vector<profile::FrameId> frames_;
  profile::ImageId image_;
  bool of_kernel_;
  uint32_t owner_;
  std::vector<profile::FunctionId> functions_;  // as they are called in the profile
  std::vector<profile::StringId> files_;
  std::vector<profile::PlaceId> places_;
  std::vector<NamedAddresses::PositionId> chain_;
  size_t next_ = 0, named_ = 0;
};

}  // namespace cicada::symbolize
