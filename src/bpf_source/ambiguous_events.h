// SPDX-License-Identifier: Apache-2.0
// Words that name an event and a function: which is meant has to be written.
//
// Threads: any.
#pragma once
#include <memory>
#include <set>
#include <span>
#include <string>

#include "base/result.h"
#include "bpf_source/event_spec.h"
#include "bpf_source/image_reader.h"
#include "process/images/image_registry.h"

namespace cicada::bpf_source {

// Of events without a kind: whether the programs among the images (not their libraries) have functions of those names, `inherited` (paths) left out. Waits for those that are
// being opened, a second at most. Fails (kInvalid): with both spellings. Files that cannot be read have none.
Result<void> refuse_ambiguous(std::span<const EventSpec> events, process::ImageRegistry& images, std::shared_ptr<ImageReader> reader, const std::set<std::string>& inherited);

}  // namespace cicada::bpf_source
