// SPDX-License-Identifier: Apache-2.0
#include "bpf_source/ambiguous_events.h"

#include <chrono>
#include <thread>
#include <utility>
#include <vector>

#include "base/monotonic_clock.h"
#include "bpf_source/function_finder.h"

namespace cicada::bpf_source {

Result<void> refuse_ambiguous(std::span<const EventSpec> events, process::ImageRegistry& images, std::shared_ptr<ImageReader> reader, const std::set<std::string>& inherited) {
  std::vector<FunctionFinder::Event> functions;
  std::vector<std::string> kinds;
  for (const EventSpec& event : events) {
    const std::string word = event.maybe_function.substr(0, event.maybe_function.find('/'));
    PlaceError error;
    FunctionPlace place;
    if (word.empty() || !parse_function_place(word, place, error)) continue;
    functions.push_back({.name = word, .place = place});
    kinds.emplace_back(event.type.kind == EventKind::kTracepoint ? "t" : "counter");
  }
  if (functions.empty() || reader == nullptr) return {};
  FunctionFinder finder(std::move(functions), false, images, std::move(reader));
  const uint64_t deadline_ns = monotonic_ns() + 1'000'000'000;
  for (uint32_t id = 1; images.find(id); ++id) {
    while (images.is_opening(id) && monotonic_ns() < deadline_ns) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    const auto image = images.find(id);
    if (image->kind != profile::ImageKind::kExecutable || inherited.contains(image->path)) continue;
    const auto found = finder.look_into(id, {});
    if (!found || found->empty()) continue;
    const size_t event = found->front().event;
    const std::string& word = finder.events()[event].name;
    return make_error(ErrorKind::kInvalid, "-e {}: it is an event, and a function of {}; write {}:{} or u:{}", word, image->path, kinds[event], word, word);
  }
  return {};
}

}  // namespace cicada::bpf_source
