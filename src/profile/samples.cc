// SPDX-License-Identifier: Apache-2.0
#include "profile/samples.h"

#include <algorithm>

namespace cicada::profile {

void Samples::append(std::span<const Sample> rows, const std::vector<Event>& events) {
  const auto usual = [&](EventId id) { return id.value < events.size() ? events[id.value].value : 1; };
  while (!rows.empty()) {
    const size_t at = size(), left = RareColumn::kBlockRows - (at & (RareColumn::kBlockRows - 1));
    const auto part = rows.first(std::min(rows.size(), left));
    rows = rows.subspan(part.size());
    time_ns.append(part.size(), [&](size_t i) { return part[i].time_ns; });
    thread.append(part.size(), [&](size_t i) { return part[i].thread; });
    stack.append(part.size(), [&](size_t i) { return part[i].stack; });
    labels.append(part.size(), [&](size_t i) { return part[i].labels; });
    cpu.append(part.size(), [&](size_t i) { return part[i].cpu; });
    event.append(part.size(), [&](size_t i) { return part[i].event; });
    state.append(part.size(), [&](size_t i) { return to_state(part[i]); });

    values_.append(at, part.size(), [&](size_t i) { return part[i].value; }, [&](size_t row) { return usual(event[row]); });
    lasted_.append(at, part.size(), [&](size_t i) { return part[i].lasted_ns; }, [](size_t) { return uint64_t{0}; });
  }
}

size_t Samples::drop_front(size_t rows) {
  const size_t blocks = rows >> kShift;
  if (blocks == 0) return 0;
  time_ns.drop_front_chunks(blocks);
  thread.drop_front_chunks(blocks);
  stack.drop_front_chunks(blocks);
  labels.drop_front_chunks(blocks);
  cpu.drop_front_chunks(blocks);
  event.drop_front_chunks(blocks);
  state.drop_front_chunks(blocks);
  values_.drop_front(blocks);
  lasted_.drop_front(blocks);
  dropped_ += blocks << kShift;
  return blocks << kShift;
}

size_t Samples::bytes() const {
  return time_ns.bytes() + thread.bytes() + stack.bytes() + labels.bytes() + cpu.bytes() + event.bytes() + state.bytes() + values_.bytes() + lasted_.bytes();
}

}  // namespace cicada::profile
