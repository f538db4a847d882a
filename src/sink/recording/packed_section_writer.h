// SPDX-License-Identifier: Apache-2.0
// Writes strings, calls, names and samples of a finished recording packed, where a reader would believe it (packed_section_reader.h);
// what was not packed is left to TableWriter.
#pragma once
#include <string>
#include <vector>

#include "sink/recording/capture_table_writer.h"
#include "sink/recording/packed_calls.h"

namespace cicada::sink {

class PackedSectionWriter {
 public:
  // Borrows both.
  PackedSectionWriter(ChunkWriter& chunks, CaptureProgress& progress) : chunks_(chunks), progress_(progress) {}

  Result<void> append_strings(const profile::Profile& profile);
  // True if frames and stacks were appended; names and samples may follow only then.
  Result<bool> append_calls(const profile::Profile& profile);
  Result<void> append_names(const profile::Profile& profile);
  // The next `count` samples. False: they are to be written plain.
  Result<bool> append_samples(const profile::Profile& profile, size_t count);

 private:
  Result<bool> append_packed(Section kind, const ByteWriter& head, const std::string& packed, size_t rows);

  ChunkWriter& chunks_;
  CaptureProgress& progress_;
  std::vector<PackedStack> stack_rows_;
  std::vector<uint32_t> chain_ends_;
  uint64_t next_stack_ = 0;  // the first that no packed samples reached
};

}  // namespace cicada::sink
