// SPDX-License-Identifier: Apache-2.0
#include "sink/recording/recording_decoder.h"

#include <algorithm>

#include "sink/recording/delta_codec.h"

namespace cicada::sink {

Result<void> RecordingDecoder::push(Bytes piece) {
  pushed_bytes_ += piece.size();
  budget_.add(kTimesFile * piece.size());
  if (rest_.empty()) {
    const size_t read = TRY(take(piece, piece.size()));
    rest_.assign(piece.begin() + static_cast<ptrdiff_t>(read), piece.end());
    return {};
  }
  rest_.insert(rest_.end(), piece.begin(), piece.end());
  const size_t read = TRY(take(rest_, piece.size()));
  rest_.erase(rest_.begin(), rest_.begin() + static_cast<ptrdiff_t>(read));
  return {};
}

// How many bytes are done with. The last `more` of them are new.
Result<size_t> RecordingDecoder::take(Bytes bytes, size_t more) {
  const size_t head = begun_ ? 0 : TRY(take_head(bytes));
  if (!begun_) return 0;
  chunks_.replace(bytes, head, more);
  while (!ended_) {
    const auto chunk = TRY(chunks_.next());
    if (!chunk) break;
    TRY(apply(*chunk));
    read_bytes_ += chunks_.accept();
  }
  return ended_ ? bytes.size() : chunks_.position();
}

// Nothing is read before all of it is there.
Result<size_t> RecordingDecoder::take_head(Bytes bytes) {
  ByteCursor head(bytes);
  const Bytes magic = head.take(std::min(bytes.size(), kRecordingMagic.size()));
  if (!std::equal(magic.begin(), magic.end(), kRecordingMagic.begin(), [](uint8_t a, char b) { return a == static_cast<uint8_t>(b); }))
    return make_error(ErrorKind::kInvalid, "{}: not a cicada recording", name_);
  const uint32_t version = head.u32();
  if (head.failed()) return 0;
  if (version != kRecordingVersion)
    return make_error(ErrorKind::kUnsupported, "{}: recording format {}, this cicada reads format {}; {}", name_, version, kRecordingVersion,
                      version > kRecordingVersion ? "use a newer cicada" : "record again");
  begun_ = true;
  read_bytes_ = head.position();
  return static_cast<size_t>(head.position());
}

Result<void> RecordingDecoder::take_moment(Bytes content) {
  ByteCursor in(content);
  const uint64_t bits = in.uleb128();
  Moment moment{.paused = (bits & kPausedBit) != 0, .may_change = (bits & kMayChangeBit) != 0, .may_choose = (bits & kMayChooseBit) != 0};
  for (std::string* text : {&moment.title, &moment.events, &moment.processes, &moment.answer}) {
    const uint64_t size = in.uleb128();
    if (in.failed() || size > kMaxMomentText) return make_error(ErrorKind::kCorrupt, "{}: it does not say what it is", name_);
    const Bytes bytes = in.take(size);
    text->assign(bytes.begin(), bytes.end());
  }
  if (!in.at_end()) moment.cpu_ns = in.uleb128();
  if (in.failed()) return make_error(ErrorKind::kCorrupt, "{}: it does not say what it is", name_);
  moment_ = std::move(moment);
  ++moments_;
  return {};
}

Result<void> RecordingDecoder::apply(const ChunkReader::Chunk& chunk) {
  switch (chunk.kind) {
    case ChunkKind::kDelta: return apply_delta(profile_, chunk.content, budget_);
    case ChunkKind::kAnew: return profile_ = profile::Profile(), Result<void>();
    case ChunkKind::kMoment: return take_moment(chunk.content);
    case ChunkKind::kEnd: break;
  }
  ended_ = true;
  declared_samples_ = ByteCursor(chunk.content).uleb128();
  return {};
}

}  // namespace cicada::sink
