// SPDX-License-Identifier: Apache-2.0
// A recording that comes in pieces, as it is made: what RecordingEncoder writes, at the other end. A file is one piece. Believes nothing
// (docs/formats/recording.md).
//
//   RecordingDecoder decoder("recorder 4711");
//   while (a piece comes) TRY(decoder.push(piece)), show(decoder.profile());
//
// Threads: one at a time.
#pragma once
#include <string>
#include <vector>

#include "profile/profile.h"
#include "sink/recording/column_io.h"
#include "sink/recording/recording_chunks.h"

namespace cicada::sink {

class RecordingDecoder {
 public:
  // `name` is what errors call it.
  explicit RecordingDecoder(std::string name) : name_(std::move(name)) {}
  // What is whole by now is in the profile then; of the rest a copy is kept. Fails: kInvalid (not a recording), kUnsupported (of another version),
  // kCorrupt, kLimit. What was there before the damage stays; nothing is to be pushed any more.
  Result<void> push(Bytes piece);

  profile::Profile& profile() { return profile_; }
  bool begun() const { return begun_; }  // it is a recording of this version
  bool ended() const { return ended_; }  // and was finished
  // How often all was there that there was at one moment; what comes between is a part.
  uint64_t moments() const { return moments_; }
  const Moment& moment() const { return moment_; }  // the last one
  uint64_t declared_samples() const { return declared_samples_; }  // that it had then
  uint64_t chunks() const { return chunks_.count(); }
  uint64_t unread_bytes() const { return pushed_bytes_ - read_bytes_; }

 private:
  Result<size_t> take(Bytes bytes, size_t more);
  Result<size_t> take_head(Bytes bytes);
  Result<void> take_moment(Bytes content);
  Result<void> apply(const ChunkReader::Chunk& chunk);

  const std::string name_;
  std::vector<uint8_t> rest_;  // of what was pushed, behind the last whole chunk
  uint64_t pushed_bytes_ = 0, read_bytes_ = 0;
  bool begun_ = false, ended_ = false;
  uint64_t moments_ = 0;
  Moment moment_;
  ChunkReader chunks_;
  MemoryBudget budget_{kFreeBytes};
  profile::Profile profile_;
  uint64_t declared_samples_ = 0;
};

}  // namespace cicada::sink
