// SPDX-License-Identifier: Apache-2.0
#include "ingest/metadata_reader.h"

namespace cicada::ingest {

MetadataReader::MetadataReader(std::shared_ptr<process::ProcessMetadataCache> cache, bool environments, process::Arguments arguments)
    : cache_(std::move(cache)),
      environments_(environments),
      arguments_(arguments),
      queue_({.thread_name = "cicada-describe", .workers = 2, .of_one_owner = 1, .max_bytes = kMaxQueued * WorkQueue::kJobBytes}) {}

void MetadataReader::request(ProcessKey key, uint32_t owner) {
  queue_.submit({.owner = owner, .run = [cache = cache_, environments = environments_, key](WorkQueue::Attempt& attempt) {
                   if (!cache->cgroup(key)) return;  // it has gone
                   cache->cmdline(key, attempt.stop_token());
                   if (environments) cache->environ(key, attempt.stop_token());
                 }});
}

}  // namespace cicada::ingest
