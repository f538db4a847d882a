// SPDX-License-Identifier: Apache-2.0
#include "sink/recording/recording_encoder.h"

#include <algorithm>

#include "sink/recording/delta_codec.h"

namespace cicada::sink {

bool RecordingEncoder::append(std::string& to, const profile::ProfileSnapshot& now, int level) {
  if (chunks_.count() != 0 && written_.lineage != now.sizes().lineage) {
    raw_.clear();
    chunks_.append(to, ChunkKind::kAnew, raw_, level);
    written_ = {};
    sent_ = 0;
  }
  const uint64_t dropped = now.samples().dropped(), before = std::max(written_.samples, dropped);
  if (written_ == profile::SnapshotSizes()) first_ = dropped;
  raw_.clear();
  written_ = append_delta(raw_, now, written_);
  sent_ += std::max(written_.samples, dropped) - before;
  chunks_.append(to, ChunkKind::kDelta, raw_, level);
  return has(now);
}

void RecordingEncoder::append_moment(std::string& to, const Moment& moment, int level) {
  raw_.clear();
  raw_.uleb128((moment.paused ? kPausedBit : 0) | (moment.may_change ? kMayChangeBit : 0) | (moment.may_choose ? kMayChooseBit : 0));
  for (const std::string* text : {&moment.title, &moment.events, &moment.processes, &moment.answer}) raw_.text(*text);
  raw_.uleb128(moment.cpu_ns);
  chunks_.append(to, ChunkKind::kMoment, raw_, level);
}

void RecordingEncoder::append_end(std::string& to, int level) {
  raw_.clear();
  raw_.uleb128(sent_);
  chunks_.append(to, ChunkKind::kEnd, raw_, level);
}

}  // namespace cicada::sink
