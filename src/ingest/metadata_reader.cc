// SPDX-License-Identifier: Apache-2.0
#include "ingest/metadata_reader.h"

namespace cicada::ingest {

MetadataReader::MetadataReader(std::shared_ptr<process::ProcessMetadataCache> cache, bool environments, process::Arguments arguments)
    : cache_(std::move(cache)),
      environments_(environments),
      arguments_(arguments),
      queue_({.thread_name = "cicada-describe", .max_bytes = kMaxQueued * WorkQueue::kJobBytes, .stop_timeout = kSyncTimeout}) {}

void MetadataReader::request(ProcessKey key) {
  queue_.submit({.timeout = kTargetTimeout, .run = [cache = cache_, environments = environments_, key](WorkQueue::Attempt&) {
                   if (!cache->cgroup(key)) return;  // it has gone
                   cache->cmdline(key);
                   if (environments) cache->environ(key);
                 }});
}

}  // namespace cicada::ingest
