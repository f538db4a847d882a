// SPDX-License-Identifier: Apache-2.0
#include <set>

#include "sink/recording/delta_calls.h"
#include "sink/recording/delta_codec.h"
#include "sink/recording/delta_names.h"
#include "sink/recording/delta_samples.h"
#include "sink/recording/delta_tables.h"

namespace cicada::sink {
namespace {

using namespace profile;

// Where this part of the difference ends. A table refers to tables before it in this order, so each part can be applied by itself.
SnapshotSizes cut(const ProfileSnapshot& now, const SnapshotSizes& before) {
  SnapshotSizes after = now.sizes();
  size_t rows = kMaxDeltaRows;
  const auto take = [&](size_t from, size_t& to) {
    to = std::min(to, from + rows);
    rows -= to - from;
  };
  size_t strings = before.strings;
  for (size_t bytes = 0; strings < after.strings && bytes < kMaxDeltaTextBytes; ++strings) bytes += now.text(StringId(strings)).size();
  if (strings < after.strings) rows = strings - before.strings;
  take(before.strings, after.strings);
  take(before.images, after.images);
  take(before.functions, after.functions);
  take(before.frames, after.frames);
  take(before.stacks, after.stacks);
  take(before.processes, after.processes);
  take(before.described_processes, after.described_processes);
  take(before.threads, after.threads);
  take(before.described_threads, after.described_threads);
  take(before.label_sets, after.label_sets);
  size_t renamed = before.renamed_frames;
  for (; renamed < after.renamed_frames && rows != 0; ++renamed) rows -= std::min(rows, 1 + now.locations(now.renamed_frames()[renamed]).size());
  after.renamed_frames = renamed;
  if (after.renamed_frames < now.sizes().renamed_frames) rows = 0;
  after.samples = std::min<uint64_t>(after.samples, before.samples + std::min(rows, kMaxDeltaSamples));
  return after;
}

template <typename T, unsigned kShift>
std::vector<T> rows_of(const Log<T, kShift>& log, size_t begin, size_t end) {
  return {log.begin() + static_cast<ptrdiff_t>(begin), log.begin() + static_cast<ptrdiff_t>(end)};
}

class DeltaWriter {
 public:
  DeltaWriter(ByteWriter& out, const ProfileSnapshot& now, const SnapshotSizes& before, const SnapshotSizes& after)
      : out_(out), now_(now), before_(before), after_(after) {}

  void write() {
    Header header = now_.header;
    code_header(io_, header);
    write_strings();
    auto images = begin_table(now_.images(), before_.images, after_.images);
    code_images(io_, images, after_);
    auto functions = begin_table(now_.functions(), before_.functions, after_.functions);
    code_functions(io_, functions, before_.strings, after_);
    auto frames = begin_table(now_.frames(), before_.frames, after_.frames);
    auto stacks = begin_table(now_.stacks(), before_.stacks, after_.stacks);
    CallCoder(io_, now_, before_, frames, stacks).code(after_);
    auto processes = begin_changing_table(now_.processes(), before_.processes, after_.processes, now_.described_processes(),
                                          before_.described_processes, after_.described_processes);
    code_processes(io_, processes, after_);
    auto threads = begin_changing_table(now_.threads(), before_.threads, after_.threads, now_.described_threads(), before_.described_threads,
                                        after_.described_threads);
    code_threads(io_, threads, after_);
    write_label_sets();
    write_names();
    write_samples();
    code_thread_times(io_, threads);
  }

 private:
  // As DeltaReader::begin.
  void begin(size_t first, size_t count, size_t row_bytes) {
    io_.number(first);
    io_.count(count, row_bytes + kIndexBytes);
  }

  template <typename T>
  std::vector<T> begin_table(const Log<T>& log, size_t first, size_t end) {
    begin(first, end - first, sizeof(T));
    return rows_of(log, first, end);
  }

  // Ids of the rows that changed since `first`, then the new ones.
  template <typename T, typename Id>
  std::vector<T> begin_changing_table(const Log<T>& log, size_t first, size_t end, const Log<Id>& changes, size_t first_change, size_t end_change) {
    std::set<Id> changed;
    for (size_t i = first_change; i < end_change; ++i)
      if (changes[i].value < first) changed.insert(changes[i]);
    begin(first, end - first, sizeof(T));
    io_.count(changed.size(), sizeof(T));
    std::vector<T> rows;
    for (const Id id : changed) {
      io_.number(id.value);
      rows.push_back(log[id.value]);
    }
    io_.end_column();
    for (size_t i = first; i < end; ++i) rows.push_back(log[i]);
    return rows;
  }

  // NUL behind each; a NUL or a 1 inside is written as 1 and the byte plus one.
  void write_strings() {
    begin(before_.strings, after_.strings - before_.strings, sizeof(std::string_view));
    std::string escaped;
    for (size_t i = before_.strings; i < after_.strings; ++i) {
      escaped.clear();
      const std::string_view text = now_.text(StringId(i));
      for (const char c : text.substr(0, kMaxTextBytes)) {
        if (c == '\0' || c == '\1') escaped.append({'\1', static_cast<char>(c + 1)});
        else escaped.push_back(c);
      }
      if (text.size() > kMaxTextBytes) escaped += fmt::format("… (text {}, cut)", i);  // two that begin alike stay two
      out_.takes_memory(escaped.size());
      out_.append(escaped);
      out_.u8(0);
    }
    io_.end_column();
  }

  void write_label_sets() {
    begin(before_.label_sets, after_.label_sets - before_.label_sets, 0);
    for (size_t i = before_.label_sets; i < after_.label_sets; ++i) {
      const auto stored = now_.labels(LabelSetId(i));
      std::vector<Label> labels(stored.begin(), stored.end());
      code_label_set(io_, labels, after_);
    }
    io_.end_column();
  }

  void write_names() {
    std::vector<FrameId> renamed = rows_of(now_.renamed_frames(), before_.renamed_frames, after_.renamed_frames);
    std::sort(renamed.begin(), renamed.end());
    renamed.erase(std::unique(renamed.begin(), renamed.end()), renamed.end());
    std::vector<NamedFrame> frames;
    for (const FrameId frame : renamed) frames.push_back({.frame = frame});
    io_.count(frames.size(), sizeof(NamedFrame));
    sort_by_address(frames, now_);
    std::vector<Place> places;
    NumberMap<uint32_t> numbers;  // by id of the place: its number here + 1
    for (NamedFrame& row : frames) row.place = number_place(now_.place(row.frame), numbers, places);
    std::sort(frames.begin(), frames.end(), [](const NamedFrame& a, const NamedFrame& b) { return a.frame < b.frame; });
    code_names(io_, now_, frames, places, after_);
  }

  // + 1; 0 of none.
  uint32_t number_place(PlaceId id, NumberMap<uint32_t>& numbers, std::vector<Place>& places) {
    chain_.clear();
    for (; id.valid() && numbers[id.value] == 0; id = now_.outer(id)) chain_.push_back(id);
    uint32_t number = id.valid() ? numbers[id.value] : 0;
    for (size_t i = chain_.size(); i-- > 0;) {
      Place row = now_.places()[chain_[i].value];
      row.outer = number == 0 ? PlaceId() : PlaceId(number - 1);
      places.push_back(row);
      number = numbers[chain_[i].value] = static_cast<uint32_t>(places.size());
    }
    return number;
  }

  void write_samples() {
    const uint64_t dropped = now_.samples().dropped();
    const size_t first = std::max(before_.samples, dropped) - dropped, end = std::max(after_.samples, dropped) - dropped;
    std::vector<Sample> rows(end - first);
    for (size_t i = first; i < end; ++i) rows[i - first] = now_.sample(i);
    io_.count(rows.size(), sizeof(Sample));
    out_.takes_memory((after_.stacks - before_.stacks + 1) * now_.header.events.size() * sizeof(StackSum));  // if the last has a sample of each event
    SamplePrediction prediction{next_stack(first), ticks(rows)};
    SampleCoder(io_, now_).code(rows, prediction);
  }

  uint64_t next_stack(size_t first) const {
    uint64_t next = 0;
    for (size_t i = first - std::min<size_t>(first, 4096); i < first; ++i) {
      const StackId stack = now_.samples().stack[i];
      if (stack.valid()) next = std::max(next, uint64_t{stack.value} + 1);
    }
    return next;
  }

  static std::vector<uint64_t> ticks(const std::vector<Sample>& rows) {
    NumberMap<uint64_t> last;
    std::vector<std::vector<uint64_t>> distances;
    for (const Sample& row : rows) {
      if (row.event.value >= distances.size()) distances.resize(row.event.value + 1U);
      uint64_t& before = last[timer_of(row)];
      auto& known = distances[row.event.value];
      if (before != 0 && row.time_ns > before && known.size() < 4096) known.push_back(row.time_ns - before);
      before = row.time_ns;
    }
    std::vector<uint64_t> ticks;
    for (auto& known : distances) {
      const auto middle = known.begin() + static_cast<ptrdiff_t>(known.size() / 2);
      std::nth_element(known.begin(), middle, known.end());
      ticks.push_back(known.empty() ? 0 : *middle);
    }
    return ticks;
  }

  ByteWriter& out_;
  ColumnWriter io_{out_};
  const ProfileSnapshot& now_;
  const SnapshotSizes& before_;
  const SnapshotSizes& after_;
  std::vector<PlaceId> chain_;
};

}  // namespace

SnapshotSizes append_delta(ByteWriter& out, const ProfileSnapshot& now, const SnapshotSizes& before) {
  CHECK(before == SnapshotSizes() || before.lineage == now.sizes().lineage);
  const SnapshotSizes after = cut(now, before);
  DeltaWriter(out, now, before, after).write();
  return after;
}

}  // namespace cicada::sink
