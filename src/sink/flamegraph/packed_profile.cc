// SPDX-License-Identifier: Apache-2.0
#include "sink/flamegraph/packed_profile.h"

#include <algorithm>

#include "profile/stack_totals.h"
#include "sink/flamegraph/palette.h"
#include "sink/flamegraph/svg_text.h"
#include "sink/gzip.h"

namespace cicada::sink {
namespace {

using profile::CallTree;
using profile::ProfileSnapshot;
using profile::StringId;

constexpr size_t kMaxLineLetters = 400;

std::string style_json(std::string_view name, const KindStyle& style) {
  return fmt::format("{{\"name\":{},\"shades\":[\"{}\"]}}", json_text(name), fmt::join(style.shades, "\",\""));
}

std::string kinds_json() {
  std::string out;
  for (const KindStyle& kind : kKinds) append_item(out, style_json(kind.text, kind));
  return out;
}

std::string states_json(const std::vector<std::string_view>& states) {
  std::string out;
  for (const std::string_view state : states) append_item(out, style_json(state, style_of_state(state)));
  return out;
}

}  // namespace

PackedProfile::PackedProfile(const CallTree& tree, std::vector<bool> kept) : tree_(tree), kept_(std::move(kept)) {
  std::vector<uint32_t> place(tree.nodes.size());
  uint32_t count = 0;
  for (uint32_t at = 0; at < tree.nodes.size(); ++at) {
    if (!keeps(at)) continue;
    place[at] = count++;
    nodes_.add(tree, at, place[at], place[tree.nodes[at].parent]);
  }
  if (count == 0) nodes_.add_root_of_nothing();
  columns_.uleb128(std::max<size_t>(count, 1));
  columns_.append(nodes_.nodes());
}

void PackedProfile::add_samples(const ProfileSnapshot& profile, std::span<const uint32_t> leaf) {
  const profile::Samples& samples = profile.samples();
  std::vector<uint32_t> order;
  order.reserve(leaf.size());
  for (uint32_t i = 0; i < leaf.size(); ++i)
    if (leaf[i] != profile::kNoNode) order.push_back(i);
  const bool timed = has_times(profile);
  const auto earlier = [&](uint32_t a, uint32_t b) { return samples.time_ns[a] < samples.time_ns[b]; };
  if (!std::ranges::is_sorted(order, earlier)) std::ranges::stable_sort(order, earlier);
  columns_.uleb128(order.size());
  uint64_t before = 0;
  for (const uint32_t i : order) {
    const uint64_t start = std::min(profile.header.start_monotonic_ns == 0 ? ~uint64_t{0} : profile.header.start_monotonic_ns,
                                    samples.time_ns[order.front()]);
    const uint64_t time = timed ? (samples.time_ns[i] - start) / 1000 : 0;
    columns_.uleb128(time - before);
    before = time;
    columns_.uleb128(samples.thread[i].value);
    columns_.uleb128(leaf[i]);
    columns_.uleb128(profile.value(i));
    columns_.uleb128(samples.cpu[i]);
  }
  for (const profile::Process& process : profile.processes()) append_item(processes_, process_json(profile, process));
  for (const profile::Thread& thread : profile.threads()) append_item(threads_, thread_json(profile, thread));
}

void PackedProfile::add_values(const Baseline* baseline) {
  columns_.uleb128(0);  // samples
  std::vector<uint64_t> rest(tree_.nodes.size()), before = baseline == nullptr ? std::vector<uint64_t>() : baseline->total;
  for (uint32_t at = 0; at < rest.size(); ++at) {
    rest[at] += tree_.nodes[at].total - tree_.nodes[at].self;
    if (at == 0 || !keeps(at)) continue;
    rest[tree_.nodes[at].parent] -= tree_.nodes[at].total;
    if (baseline != nullptr) before[tree_.nodes[at].parent] -= baseline->total[at];
  }
  for (uint32_t at = 0; at < rest.size(); ++at) {
    if (!keeps(at)) continue;
    columns_.uleb128(tree_.nodes[at].self);
    columns_.uleb128(rest[at]);
    if (baseline == nullptr) continue;
    columns_.uleb128(before[at]);
    columns_.uleb128(heat_step(static_cast<double>(tree_.nodes[at].total), static_cast<double>(baseline->total[at]), baseline->after(tree_), baseline->before()));
  }
  if (rest.empty()) columns_.uleb128(0), columns_.uleb128(0);
  if (baseline == nullptr) return;
  std::string heat;
  for (uint32_t step = 0; step < kHeatSteps; ++step) append_item(heat, "\"" + heat_colour(step) + "\"");
  comparison_ = fmt::format("\"wholes\":[{},{}],\"heat\":[{}],", baseline->after(tree_), baseline->before(), heat);
}

void PackedProfile::add_annotations(const std::vector<Annotation>& annotations) {
  for (const Annotation& annotation : annotations) {
    std::string parts;
    for (const AnnotatedPart& part : annotation.parts) {
      std::string lines;
      for (const AnnotatedLine& line : part.lines)
        append_item(lines, fmt::format("[{},{},{},{}{}]", line.at, json_text(shortened(line.text, kMaxLineLetters)), line.self, line.total, line.after_gap ? ",1" : ""));
      append_item(parts, fmt::format("{{\"instructions\":{},\"where\":{},\"lines\":[{}]}}", part.instructions, json_text(part.where), lines));
    }
    append_item(annotations_, fmt::format("{{\"function\":{},\"missing\":{},\"parts\":[{}]}}", json_text(shortened(annotation.function, kMaxPageName)), json_text(annotation.missing), parts));
  }
}

std::string PackedProfile::json(const Caption& caption, uint64_t duration_us) const {
  const std::string tables = fmt::format("{{\"names\":[{}],\"frames\":[{}],\"processes\":[{}],\"threads\":[{}],\"annotations\":[{}]}}", nodes_.names(), nodes_.frames(), processes_, threads_, annotations_);
  ByteWriter raw;
  raw.u32(static_cast<uint32_t>(tables.size()));
  raw.append(tables);
  raw.append(columns_.bytes());
  std::vector<std::string_view> states;
  for (const StringId state : tree_.states) states.push_back(tree_.text(state));
  return page_json(caption, states, duration_us, !comparison_.empty(), comparison_, raw.bytes());
}

std::string process_json(const ProfileSnapshot& profile, const profile::Process& process) {
  return fmt::format("{{\"pid\":{},\"name\":{},\"cmdline\":{},\"cgroup\":{}}}", process.pid, json_text(profile.text(process.name)), json_text(shortened(profile.text(process.cmdline), 500)),
                     json_text(shortened(profile.text(process.cgroup), 500)));
}

std::string thread_json(const ProfileSnapshot& profile, const profile::Thread& thread) {
  return fmt::format("{{\"process\":{},\"tid\":{},\"name\":{},\"main\":{}}}", static_cast<int64_t>(thread.process.valid() ? thread.process.value : -1), thread.tid,
                     json_text(profile.text(thread.name)), thread.main);
}

std::string page_json(const Caption& caption, const std::vector<std::string_view>& states, uint64_t duration_us, bool comparison, std::string_view more, std::string_view payload) {
  std::string notes;
  for (const std::string& note : caption.notes) append_item(notes, json_text(note));
  std::string out = fmt::format("{{\"version\":2,\"title\":{},\"subtitle\":{},\"notes\":[{}],\"unit\":{},\"event\":{},\"seconds_per_value\":{},\"duration_us\":{},\"comparison\":{},{}\"kinds\":[{}],\"states\":[{}],\"payload\":\"",
                                json_text(caption.title), json_text(caption.subtitle), notes, json_text(caption.unit), json_text(caption.event), caption.seconds_per_value, duration_us,
                                comparison, more, kinds_json(), states_json(states));
  return out += gzip_text(payload) + "\"}";
}

}  // namespace cicada::sink
