// SPDX-License-Identifier: Apache-2.0
#include "profile/stack_totals.h"

#include <algorithm>

namespace cicada::profile {

bool is_wanted(const Profile& profile, const CallTreeOptions& options, size_t sample_index) {
  const SampleColumns& samples = profile.samples();
  if (!options.include_idle && (samples.flags[sample_index] & kFlagIdle) != 0) return false;
  if (options.sample_kind && samples.kind[sample_index] != *options.sample_kind) return false;
  return !options.filter || options.filter(profile, sample_index);
}

std::vector<StackTotal> add_up_stacks(const Profile& profile, const CallTreeOptions& options) {
  const SampleColumns& samples = profile.samples();
  const bool per_cpu = std::find(options.group_by.begin(), options.group_by.end(), GroupBy::kCpu) != options.group_by.end();
  std::vector<StackTotal> totals;
  ContentIndex index;
  for (size_t i = 0; i < profile.sample_count(); ++i) {
    if (!is_wanted(profile, options, i)) continue;
    StackTotal row{.thread = samples.thread[i], .stack = samples.stack[i], .cpu = per_cpu ? samples.cpu[i] : uint16_t{0}, .kind = samples.kind[i]};
    const uint64_t hash = mix_hash(uint64_t{row.thread.value} << 32 | row.stack.value, uint64_t{row.cpu} << 8 | static_cast<uint64_t>(row.kind));
    const uint32_t at = index.find_or_append(
        hash,
        [&](uint32_t stored) {
          const StackTotal& other = totals[stored];
          return other.stack == row.stack && other.thread == row.thread && other.cpu == row.cpu && other.kind == row.kind;
        },
        [&] {
          totals.push_back(row);
          return static_cast<uint32_t>(totals.size() - 1);
        });
    ++totals[at].samples;
    totals[at].value += samples.value[i];
  }
  return totals;
}

ValueUnit value_unit(const Header& header, SampleKind kind) {
  if (kind == SampleKind::kOffCpu) return {"offcpu", "nanoseconds", 1000};
  const bool clock = header.event == "cpu-clock" || header.event == "task-clock";
  if (kind == SampleKind::kCpu && clock && header.period != 0) return {"cpu", "nanoseconds", header.period};
  return {header.event.empty() ? std::string_view("events") : std::string_view(header.event), "count", kind == SampleKind::kCpu && header.period != 0 ? header.period : 1};
}

SampleKind main_kind(const Profile& profile) {
  size_t counts[3] = {};
  for (const SampleKind kind : profile.samples().kind) ++counts[static_cast<size_t>(kind)];
  return static_cast<SampleKind>(std::max_element(counts, counts + 3) - counts);
}

}  // namespace cicada::profile
