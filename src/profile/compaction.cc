// SPDX-License-Identifier: Apache-2.0
#include "profile/compaction.h"

#include <algorithm>

namespace cicada::profile {
namespace {

constexpr size_t kRowsAtATime = size_t{1} << Samples::kShift;

}  // namespace

void Compaction::copy(const std::stop_token& stop) {
  into_.header = from_.header;
  std::vector<Sample> rows;
  for (size_t i = 0; i < from_.sample_count() && !stop.stop_requested();) {
    rows.clear();
    for (const size_t end = std::min(from_.sample_count(), i + kRowsAtATime); i < end; ++i) rows.push_back(copier_.copy(from_.sample(i)));
    into_.append_samples(rows);
  }
}

void Compaction::finish(Profile& profile, const std::function<void(RowCopier&)>& rebase) {
  CHECK(profile.samples().dropped() == from_.samples().dropped() && profile.sizes().lineage == from_.sizes().lineage);
  copier_.continue_with(profile);
  into_.header = profile.header;
  for (size_t i = from_.sample_count(); i < profile.sample_count(); ++i) into_.append_sample(copier_.copy(profile.sample(i)));
  rebase(copier_);
  into_.number_samples_from(profile.samples().dropped());
  profile = std::move(into_);
}

}  // namespace cicada::profile
