// SPDX-License-Identifier: Apache-2.0
#include "profile/samples.h"

namespace cicada::profile {

void Samples::append(const Sample& sample, uint64_t usual, const std::vector<Event>& events) {
  const size_t at = size(), block = at >> kShift;
  if (block == values_.size()) values_.push_back(nullptr);
  time_ns.push_back(sample.time_ns);
  thread.push_back(sample.thread);
  stack.push_back(sample.stack);
  labels.push_back(sample.labels);
  cpu.push_back(sample.cpu);
  event.push_back(sample.event);
  state.push_back(to_state(sample));
  if (values_[block] == nullptr) {
    if (sample.value == usual) return;
    auto column = std::make_shared<uint64_t[]>(kBlockRows);
    for (size_t i = block << kShift; i < at; ++i) {
      const size_t of = event[i].value;
      column[i & (kBlockRows - 1)] = of < events.size() ? events[of].value : 1;
    }
    values_.edit(block) = std::move(column);
  }
  values_[block][at & (kBlockRows - 1)] = sample.value;
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

}  // namespace cicada::profile
