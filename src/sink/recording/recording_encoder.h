// SPDX-License-Identifier: Apache-2.0
// A recording as bytes, a piece at a time, as it grows: for a file, and for a view in another process. All pieces, one behind the other, are a recording
// (docs/formats/recording.md).
//
//   RecordingEncoder encoder;
//   while (!encoder.append(piece, *snapshot, level)) …   // and again with a later snapshot
//   encoder.append_end(piece);
//
// Threads: one at a time.
#pragma once
#include <string>

#include "profile/snapshot.h"
#include "sink/recording/recording_chunks.h"

namespace cicada::sink {

class RecordingEncoder {
 public:
  // Appends what `now` has and the reader does not, at most one difference (delta_codec.h), with the header in any case. True: the reader has
  // everything. `now` is a later snapshot of the same profile; after a compaction the reader is told to begin anew.
  bool append(std::string& to, const profile::ProfileSnapshot& now, int level);
  // Behind the last difference of a moment: the reader may show it.
  void append_moment(std::string& to, const Moment& moment, int level);
  // The recording was finished.
  void append_end(std::string& to, int level);
  bool has(const profile::ProfileSnapshot& now) const { return written_ == now.sizes(); }
  const profile::SnapshotSizes& written() const { return written_; }
  uint64_t first_sample() const { return first_; }  // its number
  uint32_t chunks() const { return chunks_.count(); }

 private:
  ChunkEncoder chunks_;
  profile::SnapshotSizes written_;
  uint64_t first_ = 0, sent_ = 0;  // samples: those that were dropped before they had their turn are not sent
  ByteWriter raw_;
};

}  // namespace cicada::sink
