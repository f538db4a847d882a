// SPDX-License-Identifier: Apache-2.0
#include "bpf_source/ambiguous_events.h"

#include <utility>
#include <vector>

#include "bpf_source/function_finder.h"

namespace cicada::bpf_source {

Result<void> refuse_ambiguous(std::span<const EventSpec> events, process::ImageRegistry& images, std::shared_ptr<ImageReader> reader, const std::set<std::string>& not_yet) {
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
  for (uint32_t id = 1; const auto image = images.find(id); ++id) {
    if (not_yet.contains(image->path)) continue;
    const auto found = finder.look_into(id, {});
    if (!found || found->empty()) continue;
    const size_t event = found->front().event;
    const std::string& word = finder.events()[event].name;
    return make_error(ErrorKind::kInvalid, "-e {}: it is an event, and a function of {}; write {}:{} or u:{}", word, image->path, kinds[event], word, word);
  }
  return {};
}

}  // namespace cicada::bpf_source
