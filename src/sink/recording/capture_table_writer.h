// SPDX-License-Identifier: Apache-2.0
// Writes what the tables of a profile grew by: strings, images, functions, frames, stacks, and rows of processes and threads that are
// new or changed; names of frames when they are known.
#pragma once
#include <array>
#include <vector>

#include "profile/profile.h"
#include "sink/recording/capture_chunks.h"

namespace cicada::sink {

// Rows that are in the file.
struct CaptureProgress {
  size_t strings = 0, images = 0, functions = 0, frames = 0, stacks = 0, samples = 0;
  std::vector<bool> located;  // frames whose locations are
};

class TableWriter {
 public:
  // Borrows both.
  TableWriter(ChunkWriter& chunks, CaptureProgress& progress) : chunks_(chunks), progress_(progress) {}

  Result<void> append_growth(const profile::ProfileSnapshot& profile);
  Result<void> append_strings(const profile::ProfileSnapshot& profile);
  Result<void> append_images(const profile::ProfileSnapshot& profile);
  Result<void> append_locations(const profile::ProfileSnapshot& profile, bool only_new);

 private:
  Result<void> append_processes(const profile::ProfileSnapshot& profile);
  Result<void> append_threads(const profile::ProfileSnapshot& profile);

  ChunkWriter& chunks_;
  CaptureProgress& progress_;
  std::vector<std::array<uint64_t, 4>> processes_;  // as last written
  std::vector<uint64_t> threads_;
};

}  // namespace cicada::sink
