// SPDX-License-Identifier: Apache-2.0
// Reads the sections that continue tables: strings, images, functions, frames, stacks, processes, threads, and names of frames.
// Every index is bounded by the rows read so far, every count by the bytes that must follow it; else they fail (kCorrupt).
#pragma once
#include "sink/recording/capture_ids.h"

namespace cicada::sink {

class TableReader {
 public:
  // Borrows both.
  TableReader(profile::Profile& profile, CaptureIds& ids) : profile_(profile), ids_(ids) {}

  Result<void> read_strings(ByteCursor& in);
  Result<void> read_images(ByteCursor& in);
  Result<void> read_functions(ByteCursor& in);
  Result<void> read_frames(ByteCursor& in);
  Result<void> read_stacks(ByteCursor& in);
  Result<void> read_processes(ByteCursor& in);
  Result<void> read_threads(ByteCursor& in);
  Result<void> read_locations(ByteCursor& in);

 private:
  profile::Profile& profile_;
  CaptureIds& ids_;
};

}  // namespace cicada::sink
