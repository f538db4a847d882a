// SPDX-License-Identifier: Apache-2.0
#include "replay/replay_source.h"

#include <poll.h>

#include <algorithm>
#include <numeric>

#include "base/monotonic_clock.h"

namespace cicada::replay {

ReplaySource::ReplaySource(profile::ProfileSnapshot recording, double speed)
    : recording_(std::move(recording)), speed_(speed), order_(recording_.sample_count()), metadata_(std::make_shared<process::ProcessMetadataCache>()) {
  std::iota(order_.begin(), order_.end(), 0);
  const auto& times = recording_.samples().time_ns;
  std::stable_sort(order_.begin(), order_.end(), [&](uint32_t a, uint32_t b) { return times[a] < times[b]; });
}

Result<void> ReplaySource::start(profile::Profile& profile) {
  start_ns_ = monotonic_ns();
  const uint64_t start_realtime_ns = profile.header.start_realtime_ns;
  profile.header = recording_.header;
  profile.header.start_monotonic_ns = start_ns_;
  profile.header.start_realtime_ns = start_realtime_ns;
  copier_.emplace(profile, recording_);
  return {};
}

uint64_t ReplaySource::recorded_ns(size_t next) const {
  const uint64_t time_ns = recording_.samples().time_ns[order_[next]];
  return time_ns - std::min(time_ns, recording_.header.start_monotonic_ns);
}

Result<bool> ReplaySource::drain(profile::Profile& profile, int timeout_ms, std::span<const int> wake_fds) {
  size_t end = std::min(next_ + kSamplesAtOnce, order_.size());
  if (speed_ > 0) {
    std::vector<pollfd> polled;
    for (const int fd : wake_fds) polled.push_back({fd, POLLIN, 0});
    ::poll(polled.data(), polled.size(), timeout_ms);
    const auto played_ns = static_cast<uint64_t>(static_cast<double>(monotonic_ns() - start_ns_) * speed_);
    for (end = next_; end < order_.size() && recorded_ns(end) <= played_ns; ++end) {}
  }
  for (; next_ < end; ++next_) {
    profile::Sample sample = copier_->copy(recording_.sample(order_[next_]));
    sample.time_ns = start_ns_ + recorded_ns(next_);
    profile.append_sample(sample);
  }
  return next_ < order_.size();
}

Result<void> ReplaySource::stop(profile::Profile& profile) {
  if (next_ == order_.size()) {
    profile.header.duration_ns = recording_.header.duration_ns;
    return {};
  }
  std::vector<uint64_t> played(profile.header.events.size());
  for (size_t i = 0; i < next_; ++i) ++played[recording_.sample(order_[i]).event.value];
  for (size_t i = 0; i < played.size(); ++i) {
    profile.header.events[i].fired = played[i];
    profile.header.events[i].counts = {{"stored", played[i], true}};
  }
  profile.header.warnings.push_back(fmt::format("a part of a recording: {} of {} samples", next_, order_.size()));
  return {};
}

symbolize::ImageFile ReplaySource::NoFiles::find(const profile::ProfileSnapshot& profile, profile::ImageId image) {
  const std::string path(profile.text(profile.images()[image.value].path));
  return {[path](const std::stop_token&) -> Result<UniqueFd> { return make_error(ErrorKind::kNotFound, "{}: not asked for when a recording is played", path); }, {}};
}

}  // namespace cicada::replay
