// SPDX-License-Identifier: Apache-2.0
#include "sink/recording/capture_columns.h"

#include <algorithm>
#include <span>
#include <vector>

namespace cicada::sink {

using profile::SampleKind;

void resize_columns(profile::SampleColumns& columns, size_t count) {
  columns.cpu.resize(count);
  columns.time_ns.resize(count);
  columns.thread.resize(count);
  columns.stack.resize(count);
  columns.value.resize(count);
  columns.kind.resize(count);
  columns.flags.resize(count);
}

namespace {

// A zero for each CPU up to the last of these.
std::vector<uint64_t> zeros_by_cpu(std::span<const uint16_t> cpus) {
  return std::vector<uint64_t>(cpus.empty() ? 0 : size_t{*std::max_element(cpus.begin(), cpus.end())} + 1);
}

}  // namespace

uint64_t median_tick(const profile::SampleColumns& columns, size_t begin, size_t end) {
  std::vector<uint64_t> last = zeros_by_cpu(std::span(columns.cpu).subspan(begin, end - begin)), distances;
  for (size_t i = begin; i < end; ++i) {
    uint64_t& before = last[columns.cpu[i]];
    if (before != 0 && columns.time_ns[i] > before && distances.size() < 4096) distances.push_back(columns.time_ns[i] - before);
    before = columns.time_ns[i];
  }
  if (distances.empty()) return 0;
  std::nth_element(distances.begin(), distances.begin() + static_cast<ptrdiff_t>(distances.size() / 2), distances.end());
  return distances[distances.size() / 2];
}

namespace {

// Each time is written as its distance from (previous time of the same CPU + tick); the first of a CPU, from the previous time of any.
void append_times(ByteWriter& out, const profile::SampleColumns& columns, size_t begin, size_t end) {
  const uint64_t step = median_tick(columns, begin, end);
  out.uleb128(step);
  std::vector<uint64_t> last = zeros_by_cpu(std::span(columns.cpu).subspan(begin, end - begin));
  uint64_t any = 0;
  for (size_t i = begin; i < end; ++i) {
    uint64_t& before = last[columns.cpu[i]];
    const uint64_t expected = before != 0 ? before + step : any;
    out.zigzag(static_cast<int64_t>(columns.time_ns[i] - expected));
    before = any = columns.time_ns[i];
  }
}

}  // namespace

void append_columns(ByteWriter& out, const profile::SampleColumns& columns, size_t begin, size_t end) {
  for (size_t i = begin; i < end; ++i) out.uleb128(columns.cpu[i]);
  append_times(out, columns, begin, end);
  for (size_t i = begin; i < end; ++i) out.uleb128(columns.thread[i].value);
  for (size_t i = begin; i < end; ++i) out.uleb128(plus_one(columns.stack[i]));
  for (size_t i = begin; i < end; ++i) out.uleb128(columns.value[i]);
  for (size_t i = begin; i < end; ++i) out.u8(static_cast<uint8_t>(columns.kind[i]));
  for (size_t i = begin; i < end; ++i) out.u8(columns.flags[i]);
}

Result<void> parse_columns(ByteCursor& in, size_t count, const CaptureIds& ids, profile::SampleColumns& block) {
  resize_columns(block, count);
  for (uint16_t& cpu : block.cpu) cpu = static_cast<uint16_t>(in.uleb128());
  const uint64_t tick = in.uleb128();
  std::vector<uint64_t> last_of_cpu = zeros_by_cpu(block.cpu);
  uint64_t any = 0;
  for (size_t i = 0; i < count; ++i) {
    uint64_t& before = last_of_cpu[block.cpu[i]];
    const uint64_t expected = before != 0 ? before + tick : any;
    before = any = block.time_ns[i] = expected + static_cast<uint64_t>(from_zigzag(in.uleb128()));
  }
  for (profile::ThreadId& id : block.thread) {
    const uint64_t thread = in.uleb128();
    if (thread >= ids.threads.size()) return corrupt("samples");
    id = ids.threads[thread];
  }
  bool bad = false;
  for (profile::StackId& id : block.stack) id = optional_id(ids.stacks, in.uleb128(), bad);
  for (uint32_t& value : block.value) value = static_cast<uint32_t>(in.uleb128());
  const Bytes kinds = in.take(count), flags = in.take(count);
  if (bad || in.failed()) return corrupt("samples");
  for (size_t i = 0; i < count; ++i) {
    if (kinds[i] > static_cast<uint8_t>(SampleKind::kEvent)) return corrupt("samples");
    block.kind[i] = static_cast<SampleKind>(kinds[i]);
  }
  block.flags.assign(flags.begin(), flags.end());
  return {};
}

}  // namespace cicada::sink
