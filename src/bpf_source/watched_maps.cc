// SPDX-License-Identifier: Apache-2.0
#include "bpf_source/watched_maps.h"

#include <algorithm>
#include <atomic>

namespace cicada::bpf_source {

void WatchedMaps::set_known(uint32_t address_space, uint64_t version) {
  std::atomic_ref(states_[address_space % states_.size()].known_version).store(version, std::memory_order_release);
}

void WatchedMaps::watch(uint32_t address_space, Pid pid) {
  const uint64_t until_ns = now_ns_() + kWatchNs;
  const auto known = std::find_if(watched_.begin(), watched_.end(), [&](const Watched& w) { return w.query.address_space == address_space; });
  if (known != watched_.end()) {
    known->until_ns = until_ns;
    return;
  }
  if (watched_.size() >= kMax) {
    const auto oldest = std::min_element(watched_.begin(), watched_.end(), [](const Watched& a, const Watched& b) { return a.until_ns < b.until_ns; });
    set_known(oldest->query.address_space, 0);
    watched_.erase(oldest);
  }
  watched_.push_back({{pid, address_space, 0}, until_ns});
}

void WatchedMaps::read() {
  const uint64_t now_ns = now_ns_();
  std::erase_if(watched_, [&](const Watched& watched) {
    if (now_ns < watched.until_ns) return false;
    set_known(watched.query.address_space, 0);
    return true;
  });
  for (size_t begin = 0; begin < watched_.size(); begin += MAP_VERSION_BATCH) {
    map_version_batch batch{};
    const size_t count = std::min<size_t>(MAP_VERSION_BATCH, watched_.size() - begin);
    for (size_t i = 0; i < count; ++i) batch.queries[i] = watched_[begin + i].query;
    read_(batch);
    for (size_t i = 0; i < count; ++i) watched_[begin + i].query = batch.queries[i];
  }
  read_ns_ = now_ns_();
}

void WatchedMaps::confirm(uint64_t watermark_ns, const std::function<bool(uint32_t)>& is_published) {
  if (watermark_ns < read_ns_) return;  // in a storm, some events wait
  for (const Watched& watched : watched_) {
    const auto& [pid, address_space, version] = watched.query;
    if (version != 0 && is_published(address_space)) set_known(address_space, version);
  }
}

}  // namespace cicada::bpf_source
