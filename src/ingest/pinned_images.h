// SPDX-License-Identifier: Apache-2.0
// ImageFiles of a live session: descriptors the registry has kept since the image was first mapped, so that exit, upgrade or deletion
// of the file loses no names. Threads: the drain thread's; the files it finds: any.
#pragma once
#include "ingest/stack_table.h"
#include "symbolize/symbolizer.h"

namespace cicada::ingest {

class PinnedImages final : public symbolize::ImageFiles {
 public:
  PinnedImages(const StackTable& stacks, process::ImageRegistry& registry) : stacks_(stacks), registry_(registry) {}
  symbolize::ImageFile find(const profile::ProfileSnapshot& profile, profile::ImageId image) override {
    if (const auto id = stacks_.registry_id(image)) {
      return {[this, id = *id](const std::stop_token& stop) { return registry_.open(id, stop); }, symbolize::FileRoot(registry_.root(*id)), registry_.find(*id)->owner};
    }
    const std::string path(profile.text(profile.images()[image.value].path));
    return {[path](const std::stop_token&) -> Result<UniqueFd> { return make_error(ErrorKind::kNotFound, "{}: not an image of this recording", path); }, {}};
  }

 private:
  const StackTable& stacks_;
  process::ImageRegistry& registry_;
};

}  // namespace cicada::ingest
