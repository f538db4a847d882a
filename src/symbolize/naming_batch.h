// SPDX-License-Identifier: Apache-2.0
// Names for some frames of images, in three steps, so that only the first and the last need the profile:
//
//   NamingBatch batch(profile, files, wanted);     the profile's thread: copies addresses, by image
//   batch.resolve(images, threads, stop);          any thread: opens the images, names a chunk of addresses at a time
//   move_names(profile, batches);                  the profile's thread: functions and files into its tables, names to its frames
//
// A chunk is whole compilation units, and holds each name once, so that moving is a few table look-ups a name, not a frame.
#pragma once
#include <functional>
#include <memory>
#include <span>
#include <stop_token>
#include <vector>

#include "profile/profile.h"
#include "symbolize/files/open_images.h"

namespace cicada::symbolize {

class NamingBatch {
 public:
  // Frames of images that have no names and that `wants` says yes to.
  NamingBatch(const profile::ProfileSnapshot& profile, ImageFiles& files, const std::function<bool(profile::FrameId)>& wants);
  NamingBatch(NamingBatch&&) noexcept;
  ~NamingBatch();

  size_t frame_count() const;
  bool empty() const { return jobs_.empty(); }
  // Returns when all is done, or soon after `stop` is requested: then some frames are not resolved.
  void resolve(OpenImages& images, unsigned threads, const std::stop_token& stop = {});

  // After resolve(). What became of an image: its frames are resolved (named, or there is no name), or they are still to be.
  struct ImageOutcome {
    profile::ImageId image;
    bool failed = false;           // cannot be opened; a diagnostic said so
    bool without_symbols = false;
    std::span<const profile::FrameId> frames;
    std::vector<profile::FrameId> unresolved;
  };
  std::vector<ImageOutcome> outcomes() const;

 private:
  struct Chunk;
  struct Job;
  friend size_t move_names(profile::Profile& profile, std::span<const NamingBatch> batches);
  std::vector<std::unique_ptr<Job>> jobs_;  // one an image, the one with most frames first
};

// In the order of images and addresses, whatever was resolved when: the same profile from one batch or from ten. Returns how many
// frames got a name (a place, "libfoo.so+0x1234", is none).
size_t move_names(profile::Profile& profile, std::span<const NamingBatch> batches);

}  // namespace cicada::symbolize
