// SPDX-License-Identifier: Apache-2.0
// module: benchmark
// Frames of benchmark clients: whatever comes before, decoding ends, and a whole frame after a pause is understood. What windows are made of
// it ends, too.
#include "base/check.h"
#include "benchmark/frame.h"
#include "benchmark/windows.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace cicada::benchmark;
  using Kind = Announcement::Kind;
  FrameDecoder decoder;
  std::vector<Announcement> said;
  uint64_t time = 1;
  // In two parts, as a pipe may give them.
  const size_t cut = size == 0 ? 0 : data[0] % size;
  for (const cicada::Bytes part : {cicada::Bytes(data, cut), cicada::Bytes(data + cut, size - cut)}) {
    decoder.append(part);
    while (const auto item = decoder.next(time % 2 == 0)) {
      ++time;
      if (!item->frame) said.push_back({.kind = Kind::kNobody, .time_ns = time});
      else if (item->frame->kind == FrameKind::kStart) said.push_back({.kind = Kind::kStart, .time_ns = time});
      else if (item->frame->kind == FrameKind::kStop) said.push_back({.kind = Kind::kStop, .time_ns = time});
      else if (item->frame->kind == FrameKind::kCurrentBenchmark) said.push_back({.kind = Kind::kCurrent, .time_ns = time, .told_pid = item->frame->pid, .process = {item->frame->pid, time / 2}, .uri = item->frame->text});
      else if (item->frame->kind == FrameKind::kAddMarker) said.push_back({.kind = item->frame->marker == Marker::kRoundStart ? Kind::kRoundStart : Kind::kRoundEnd, .time_ns = item->frame->number, .told_pid = item->frame->pid});
    }
  }
  decoder.discard();
  const uint8_t start[] = {4, 0, 0, 0, 1, 0, 0, 0};
  decoder.append(start);
  const auto item = decoder.next();
  CHECK(item && item->frame && item->frame->kind == FrameKind::kStart);
  for (const Window& window : assign_windows(said, time + 1).windows) CHECK(window.begin_ns < window.end_ns);
  return 0;
}
