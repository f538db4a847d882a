// SPDX-License-Identifier: Apache-2.0
#include "sink/flamegraph/page_feed.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <numeric>
#include <unordered_set>
#include <utility>

#include "profile/stack_totals.h"
#include "sink/flamegraph/packed_profile.h"
#include "sink/flamegraph/svg_text.h"

namespace cicada::sink {

using profile::ProfileSnapshot;

namespace {

// Differences that are near zero as small numbers: 0, -1, 1, -2 …
uint64_t zigzag(uint64_t difference) { return difference << 1 ^ (difference >> 63 != 0 ? ~uint64_t{0} : 0); }

}  // namespace

PageFeed::PageFeed(profile::CallTreeOptions options, std::string title)
    : options_(options), title_(std::move(title)), number_(static_cast<uint64_t>(std::chrono::system_clock::now().time_since_epoch().count())), live_(std::move(options)) {}

void PageFeed::update(const ProfileSnapshot& now, const PageState& state) {
  state_ = state;
  const uint64_t before = now_.sizes().samples;
  live_.update(now, &leaves_);
  const bool anew = live_.anew() != tree_;
  now_ = now;
  if (anew) begin_anew();
  const uint64_t kept = now.samples().dropped();
  const profile::CallTree& tree = live_.tree();
  Mark mark = marks_.back();
  append_samples(now, anew ? kept : std::max(before, kept), mark);
  for (; mark.nodes < tree.nodes.size(); ++mark.nodes) {
    const auto at = static_cast<uint32_t>(mark.nodes);
    nodes_.add(tree, at, at, tree.nodes[at].parent);
  }
  mark.number = next_number_++;
  mark.name_bytes = nodes_.names().size();
  mark.frame_bytes = nodes_.frames().size();
  mark.names = nodes_.name_count();
  mark.frames = nodes_.frame_count();
  mark.node_bytes = nodes_.nodes().size();
  mark.placed = live_.placed_leaves().size();
  mark.processes = now.processes().size();
  mark.threads = now.threads().size();
  mark.described_processes = now.described_processes().size();
  mark.described_threads = now.described_threads().size();
  mark.profile_samples = now.sizes().samples;
  marks_.push_back(mark);
  forget_dropped();
}

void PageFeed::begin_anew() {
  tree_ = live_.anew();
  ++begun_;
  nodes_ = PackedNodes();
  samples_.clear();
  samples_begin_ = 0;
  start_ns_ = 0;
  with_states_ = now_.event(shown_event(now_, options_)).spent != profile::Spent::kRunning;
  states_ = {};
  gone_ = Mark{.number = next_number_++, .profile_samples = now_.samples().dropped()};
  marks_.assign(1, gone_);
}

void PageFeed::append_samples(const ProfileSnapshot& now, uint64_t first, Mark& mark) {
  const profile::Samples& samples = now.samples();
  const size_t begin = static_cast<size_t>(first - samples.dropped());
  const bool timed = has_times(now);
  if (start_ns_ == 0) start_ns_ = now.header.start_monotonic_ns != 0 || samples.size() == 0 ? now.header.start_monotonic_ns : *std::min_element(samples.time_ns.begin(), samples.time_ns.end());
  // Recordings that were merged are one behind the other.
  std::vector<uint32_t> order(samples.size() - begin);
  std::iota(order.begin(), order.end(), static_cast<uint32_t>(begin));
  const auto earlier = [&](uint32_t a, uint32_t b) { return samples.time_ns[a] < samples.time_ns[b]; };
  if (!std::ranges::is_sorted(order, earlier)) std::ranges::stable_sort(order, earlier);
  ByteWriter columns;
  for (const uint32_t i : order) {
    const uint32_t leaf = leaves_[i - begin];
    if (leaf == profile::kNoNode) continue;
    const uint64_t time_us = timed && samples.time_ns[i] > start_ns_ ? (samples.time_ns[i] - start_ns_) / 1000 : 0;
    columns.uleb128(zigzag(time_us - mark.last_us));
    columns.uleb128(samples.thread[i].value);
    columns.uleb128(leaf);
    columns.uleb128(now.value(i));
    columns.uleb128(samples.cpu[i]);
    if (with_states_) columns.uleb128(states_.of(now, samples.labels[i]));
    mark.last_us = time_us;
    ++mark.samples;
  }
  samples_ += columns.bytes();
  mark.sample_bytes = samples_begin_ + samples_.size();
}

// Samples go by whole updates: of the first one that is left a page may get a few more.
void PageFeed::forget_dropped() {
  const uint64_t dropped = now_.samples().dropped();
  for (auto mark = marks_.begin(); mark != marks_.end() && mark->profile_samples <= dropped; ++mark) gone_ = *mark;
  while (marks_.size() > kMarks && marks_.front().number < gone_.number) marks_.pop_front();
  const uint64_t bytes = gone_.sample_bytes - samples_begin_;
  if (bytes < samples_.size() / 4) return;
  samples_.erase(0, bytes);
  samples_begin_ += bytes;
}

std::string PageFeed::id_of(const Mark& mark) const { return fmt::format("{}.{}.{}", number_, begun_, mark.number); }

const PageFeed::Mark* PageFeed::find_mark(const std::string& id) const {
  const std::string ours = fmt::format("{}.{}.", number_, begun_);
  if (!id.starts_with(ours) || id.size() - ours.size() > 19) return nullptr;
  uint64_t number = 0;
  for (const char digit : id.substr(ours.size())) {
    if (digit < '0' || digit > '9') return nullptr;
    number = 10 * number + static_cast<uint64_t>(digit - '0');
  }
  const auto found = std::lower_bound(marks_.begin(), marks_.end(), number, [](const Mark& mark, uint64_t wanted) { return mark.number < wanted; });
  return found != marks_.end() && found->number == number ? &*found : nullptr;
}

namespace {

// What stands behind `from` of an array without brackets.
std::string_view items_behind(const std::string& items, size_t from) {
  std::string_view rest = std::string_view(items).substr(from);
  if (rest.starts_with(',')) rest.remove_prefix(1);
  return rest;
}

// The new rows and those that were described since, each with its number.
template <typename Rows, typename Described, typename Json>
std::string changed_rows(const Rows& rows, size_t from, const Described& described, size_t described_from, Json json) {
  std::string out;
  const auto add = [&](size_t i) { append_item(out, fmt::format("[{},{}]", i, json(rows[i]))); };
  std::unordered_set<uint32_t> done;
  for (size_t i = described_from; i < described.size(); ++i)
    if (described[i].value < from && done.insert(described[i].value).second) add(described[i].value);
  for (size_t i = from; i < rows.size(); ++i) add(i);
  return out;
}

std::string recorder_json(const PageState& state) {
  const Moment& moment = state.moment;
  return fmt::format("{{\"paused\":{},\"controls\":{},\"changes\":{},\"chooses\":{},\"events\":{},\"processes\":{},\"answer\":{}}}", moment.paused, state.controls, moment.may_change, moment.may_choose,
                     json_text(moment.events), json_text(moment.processes), json_text(moment.answer));
}

}  // namespace

std::string PageFeed::tables_since(const Mark& from, bool anew) const {
  std::string events;
  for (const profile::Event& event : now_.header.events) append_item(events, json_text(event.name));
  return fmt::format("{{\"anew\":{},\"first\":[{},{},{},{}],\"dropped\":{},\"states\":{},\"ended\":{},\"recorder\":{},\"events\":[{}],\"names\":[{}],\"frames\":[{}],\"processes\":[{}],\"threads\":[{}]}}", anew, from.names, from.frames,
                     from.nodes, std::max(from.samples, gone_.samples), gone_.samples, with_states_, json_text(state_.ended), recorder_json(state_), events, items_behind(nodes_.names(), from.name_bytes), items_behind(nodes_.frames(), from.frame_bytes),
                     changed_rows(now_.processes(), from.processes, now_.described_processes(), from.described_processes, [&](const profile::Process& row) { return process_json(now_, row); }),
                     changed_rows(now_.threads(), from.threads, now_.described_threads(), from.described_threads, [&](const profile::Thread& row) { return thread_json(now_, row); }));
}

std::string PageFeed::columns_since(const Mark& from) const {
  const Mark& now = marks_.back();
  // What a page has of samples begins where its mark is, or behind what was dropped.
  const Mark& samples = from.samples < gone_.samples ? gone_ : from;
  ByteWriter out;
  out.uleb128(now.nodes - from.nodes);
  out.append(std::string_view(nodes_.nodes()).substr(from.node_bytes));
  std::vector<uint32_t> placed(live_.placed_leaves().begin() + static_cast<ptrdiff_t>(from.placed), live_.placed_leaves().end());
  std::sort(placed.begin(), placed.end());
  placed.erase(std::unique(placed.begin(), placed.end()), placed.end());
  out.uleb128(placed.size());
  uint32_t before = 0;
  for (const uint32_t leaf : placed) {
    out.uleb128(leaf - std::exchange(before, leaf));
    out.uleb128(live_.node_of_leaf(leaf));
  }
  out.uleb128(now.samples - samples.samples);
  out.uleb128(samples.last_us);
  out.append(std::string_view(samples_).substr(samples.sample_bytes - samples_begin_));
  return out.bytes();
}

std::shared_ptr<const PageFeed::Message> PageFeed::since(const std::string& last) {
  if (marks_.empty()) return nullptr;
  const Mark& now = marks_.back();
  const Mark* from = find_mark(last);
  if (from == &now) return nullptr;
  const std::string id = id_of(now), from_id = from != nullptr ? last : "";
  if (latest_ && latest_->id == id && latest_for_ == from_id) return latest_;
  const Mark nothing{};
  const std::string tables = tables_since(from != nullptr ? *from : nothing, from == nullptr);
  ByteWriter payload;
  payload.u32(static_cast<uint32_t>(tables.size()));
  payload.append(tables);
  payload.append(columns_since(from != nullptr ? *from : nothing));
  Caption caption = make_caption(now_, state_.moment.title.empty() ? title_ : state_.moment.title, options_.event);
  auto message = std::make_shared<Message>();
  message->id = id;
  message->data = page_json(caption, {states_.names().begin(), states_.names().end()}, now_.header.duration_ns / 1000, false, fmt::format("\"live\":{},", json_text(id)), payload.bytes());
  latest_for_ = from_id;
  latest_ = std::move(message);
  return latest_;
}

}  // namespace cicada::sink
