// SPDX-License-Identifier: Apache-2.0
// Reads the packed sections of a finished recording: strings, calls, names, samples. They may hold several rows a byte; how many
// is bounded by the size of the file (kMaxPackedRowsPerByte), and text by the budget.
#pragma once
#include "sink/recording/capture_chunks.h"
#include "sink/recording/capture_ids.h"

namespace cicada::sink {

class PackedSectionReader {
 public:
  // Borrows all.
  PackedSectionReader(profile::Profile& profile, CaptureIds& ids, uint64_t file_bytes, ExpansionBudget& budget)
      : profile_(profile), ids_(ids), file_bytes_(file_bytes), budget_(budget) {}

  Result<void> read_strings(ByteCursor& in);
  Result<void> read_calls(ByteCursor& in);
  Result<void> read_names(ByteCursor& in);
  Result<void> read_samples(ByteCursor& in);

 private:
  Result<size_t> read_count(ByteCursor& in);

  profile::Profile& profile_;
  CaptureIds& ids_;
  uint64_t file_bytes_;
  ExpansionBudget& budget_;
  uint64_t rows_ = 0;
  std::vector<profile::Frame> frames_;  // as in the file
  std::vector<uint32_t> chain_ends_;
  profile::SampleColumns block_;  // of one section, kept for its memory
};

}  // namespace cicada::sink
