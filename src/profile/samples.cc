// SPDX-License-Identifier: Apache-2.0
#include "profile/samples.h"

#include <algorithm>

namespace cicada::profile {

void Samples::append(std::span<const Sample> rows, const std::vector<Event>& events) {
  const auto usual = [&](EventId id) { return id.value < events.size() ? events[id.value].value : 1; };
  while (!rows.empty()) {
    const size_t at = size(), in_block = at & (kBlockRows - 1);
    const auto part = rows.first(std::min(rows.size(), kBlockRows - in_block));
    rows = rows.subspan(part.size());
    time_ns.append(part.size(), [&](size_t i) { return part[i].time_ns; });
    thread.append(part.size(), [&](size_t i) { return part[i].thread; });
    stack.append(part.size(), [&](size_t i) { return part[i].stack; });
    labels.append(part.size(), [&](size_t i) { return part[i].labels; });
    cpu.append(part.size(), [&](size_t i) { return part[i].cpu; });
    event.append(part.size(), [&](size_t i) { return part[i].event; });
    state.append(part.size(), [&](size_t i) { return to_state(part[i]); });

    if (in_block == 0) values_.push_back(nullptr);
    if (values_.back() == nullptr) {
      if (std::all_of(part.begin(), part.end(), [&](const Sample& row) { return row.value == usual(row.event); })) continue;
      auto column = std::make_shared<uint64_t[]>(kBlockRows);
      for (size_t i = 0; i < in_block; ++i) column[i] = usual(event[at - in_block + i]);
      values_.edit(values_.size() - 1) = std::move(column);
    }
    for (size_t i = 0; i < part.size(); ++i) values_.back()[in_block + i] = part[i].value;
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
  // Blocks of values are few and small: a log of one row a block has chunks of a thousand of them.
  Log<std::shared_ptr<uint64_t[]>> left;
  for (size_t i = blocks; i < values_.size(); ++i) left.push_back(values_[i]);
  values_ = std::move(left);
  dropped_ += blocks << kShift;
  return blocks << kShift;
}

size_t Samples::bytes() const {
  size_t bytes = time_ns.bytes() + thread.bytes() + stack.bytes() + labels.bytes() + cpu.bytes() + event.bytes() + state.bytes();
  for (const auto& block : values_)
    if (block != nullptr) bytes += kBlockRows * sizeof(uint64_t);
  return bytes;
}

}  // namespace cicada::profile
