// SPDX-License-Identifier: Apache-2.0
// Foreign formats count in 64 bits, our samples in 32: a larger value becomes several samples with the same sum.
#pragma once
#include <algorithm>

#include "profile/profile.h"

namespace cicada::sink {

class ValueSplitter {
 public:
  explicit ValueSplitter(profile::Profile& profile) : profile_(profile) {}
  // Fails (kLimit) when the file as a whole would need an absurd number of samples.
  Result<void> append(profile::Sample sample, uint64_t value) {
    constexpr uint64_t kLargest = 0xffffffff;
    if (value > kLargest * kMaxExtra || (extra_ += value / kLargest) > kMaxExtra)
      return make_error(ErrorKind::kLimit, "values add up to more than cicada can hold ({})", value);
    do {
      sample.value = static_cast<uint32_t>(std::min(value, kLargest));
      profile_.append_sample(sample);
      value -= sample.value;
    } while (value != 0);
    return {};
  }

 private:
  static constexpr uint64_t kMaxExtra = 1 << 17;  // 5 × 10^14 in all
  profile::Profile& profile_;
  uint64_t extra_ = 0;
};

}  // namespace cicada::sink
