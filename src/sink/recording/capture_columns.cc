// SPDX-License-Identifier: Apache-2.0
#include "sink/recording/capture_columns.h"

#include <algorithm>
#include <vector>

namespace cicada::sink {
namespace {

using profile::Sample;

// A zero for each CPU up to the last of these.
template <typename Cpus>
std::vector<uint64_t> zeros_by_cpu(const Cpus& cpus, size_t begin, size_t end) {
  uint16_t last = 0;
  for (size_t i = begin; i < end; ++i) last = std::max(last, cpus[i]);
  return std::vector<uint64_t>(size_t{last} + 1);
}

// The median distance of two samples of one CPU.
uint64_t median_tick(const profile::Samples& columns, size_t begin, size_t end) {
  std::vector<uint64_t> last = zeros_by_cpu(columns.cpu, begin, end), distances;
  for (size_t i = begin; i < end; ++i) {
    uint64_t& before = last[columns.cpu[i]];
    if (before != 0 && columns.time_ns[i] > before && distances.size() < 4096) distances.push_back(columns.time_ns[i] - before);
    before = columns.time_ns[i];
  }
  if (distances.empty()) return 0;
  std::nth_element(distances.begin(), distances.begin() + static_cast<ptrdiff_t>(distances.size() / 2), distances.end());
  return distances[distances.size() / 2];
}

// Each time is written as its distance from (previous time of the same CPU + tick); the first of a CPU, from the previous time of any.
void append_times(ByteWriter& out, const profile::Samples& columns, size_t begin, size_t end) {
  const uint64_t step = median_tick(columns, begin, end);
  out.uleb128(step);
  std::vector<uint64_t> last = zeros_by_cpu(columns.cpu, begin, end);
  uint64_t any = 0;
  for (size_t i = begin; i < end; ++i) {
    uint64_t& before = last[columns.cpu[i]];
    const uint64_t expected = before != 0 ? before + step : any;
    out.zigzag(static_cast<int64_t>(columns.time_ns[i] - expected));
    before = any = columns.time_ns[i];
  }
}

}  // namespace

void append_columns(ByteWriter& out, const profile::ProfileSnapshot& profile, size_t begin, size_t end) {
  const profile::Samples& columns = profile.samples();
  for (size_t i = begin; i < end; ++i) out.uleb128(columns.cpu[i]);
  append_times(out, columns, begin, end);
  for (size_t i = begin; i < end; ++i) out.uleb128(columns.thread[i].value);
  for (size_t i = begin; i < end; ++i) out.uleb128(plus_one(columns.stack[i]));
  for (size_t i = begin; i < end; ++i) out.uleb128(profile.value(i));
  for (size_t i = begin; i < end; ++i) out.u8(columns.event[i].value);
  for (size_t i = begin; i < end; ++i) out.u8(columns.state[i]);
}

Result<void> parse_columns(ByteCursor& in, size_t count, const CaptureIds& ids, profile::Profile& profile) {
  std::vector<uint16_t> cpus(count);
  std::vector<Sample> rows(count);
  for (size_t i = 0; i < count; ++i) rows[i].cpu = cpus[i] = static_cast<uint16_t>(in.uleb128());
  const uint64_t tick = in.uleb128();
  std::vector<uint64_t> last_of_cpu = zeros_by_cpu(cpus, 0, count);
  uint64_t any = 0;
  for (Sample& row : rows) {
    uint64_t& before = last_of_cpu[row.cpu];
    const uint64_t expected = before != 0 ? before + tick : any;
    before = any = row.time_ns = expected + static_cast<uint64_t>(from_zigzag(in.uleb128()));
  }
  bool bad = false;
  for (Sample& row : rows) row.thread = optional_id(ids.threads, in.uleb128() + 1, bad);
  for (Sample& row : rows) row.stack = optional_id(ids.stacks, in.uleb128(), bad);
  for (Sample& row : rows) row.value = in.uleb128();
  const Bytes events = in.take(count), states = in.take(count);
  if (bad || in.failed()) return corrupt("samples");
  for (size_t i = 0; i < count; ++i) {
    Sample& row = rows[i];
    row.event = {events[i]};
    row.end_reason = profile::end_reason_of(states[i]);
    row.in_kernel = profile::is_in_kernel(states[i]);
    row.idle = profile::is_idle(states[i]);
    if (!row.thread.valid() || events[i] >= profile.header.events.size() || row.end_reason >= END_REASON_COUNT) return corrupt("samples");
    profile.append_sample(row);
  }
  return {};
}

}  // namespace cicada::sink
