// SPDX-License-Identifier: Apache-2.0
// ImageFiles of a live session: descriptors the registry has kept since the image was first mapped, so that exit, upgrade or deletion
// of the file loses no names. Threads: any, once the recording has stopped (reads the stack table).
#pragma once
#include "collect/stack_table.h"
#include "symbolize/symbolizer.h"

namespace cicada::collect {

class PinnedImages final : public symbolize::ImageFiles {
 public:
  PinnedImages(const StackTable& stacks, process::ImageRegistry& registry) : stacks_(stacks), registry_(registry) {}
  Result<UniqueFd> open(const profile::Profile& profile, profile::ImageId image) override {
    if (const auto id = stacks_.registry_id(image)) return registry_.open(*id);
    return make_error(ErrorKind::kNotFound, "{}: not an image of this recording", profile.text(profile.images()[image.value].path));
  }
  symbolize::FileRoot root(const profile::Profile&, profile::ImageId image) override {
    const auto id = stacks_.registry_id(image);
    return symbolize::FileRoot(id ? registry_.root(*id) : nullptr);
  }

 private:
  const StackTable& stacks_;
  process::ImageRegistry& registry_;
};

}  // namespace cicada::collect
