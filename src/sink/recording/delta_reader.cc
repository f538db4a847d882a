// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "sink/recording/delta_calls.h"
#include "sink/recording/delta_codec.h"
#include "sink/recording/delta_names.h"
#include "sink/recording/delta_samples.h"
#include "sink/recording/delta_tables.h"

namespace cicada::sink {
namespace {

using namespace profile;

// Events that samples refer to keep their place and their value.
bool continues(const std::vector<Event>& events, const ProfileSnapshot& profile) {
  const auto& known = profile.header.events;
  const auto same = [](const Event& a, const Event& b) { return a.value == b.value && a.unit == b.unit; };
  return profile.sample_count() == 0 || (events.size() >= known.size() && std::equal(known.begin(), known.end(), events.begin(), same));
}

class DeltaReader {
 public:
  DeltaReader(Profile& profile, Bytes delta, MemoryBudget& budget) : profile_(profile), io_(delta, budget) {}

  Result<void> read() {
    TRY(read_header());
    TRY(read_strings());
    TRY(read_table<Image>("images", profile_.images().size(), [&](auto& rows) { code_images(io_, rows, profile_.sizes()); },
                          [&](const Image& row) { return profile_.intern_image(row); }));
    TRY(read_table<Function>("functions", profile_.functions().size(), [&](auto& rows) { code_functions(io_, rows, first_new_string_, profile_.sizes()); },
                             [&](const Function& row) { return profile_.intern_function(row); }));
    TRY(read_calls());
    TRY(read_changing_table<Process>("processes", profile_.processes(), [&](auto& rows) { code_processes(io_, rows, profile_.sizes()); },
                                     [&](const Process& row) { return profile_.intern_process(row.pid, row.start_ns); },
                                     [&](ProcessId id, const Process& row) { profile_.set_process(id, row); }));
    TRY(read_changing_table<Thread>("threads", profile_.threads(), [&](auto& rows) { code_threads(io_, rows, profile_.sizes()); },
                                    [&](const Thread& row) { return profile_.intern_thread(row.process, row.tid); },
                                    [&](ThreadId id, const Thread& row) {
                                      profile_.set_thread(id, row);
                                      described_threads_.push_back(id);
                                    }));
    TRY(read_label_sets());
    TRY(read_names());
    TRY(read_samples());
    return read_thread_times();
  }

 private:
  static Error malformed(std::string_view what) { return make_error(ErrorKind::kCorrupt, "malformed {}", what); }

  // The number of new rows of a table that has `size`.
  Result<size_t> begin(std::string_view what, size_t size, size_t row_bytes) {
    const uint64_t first = io_.number();
    const size_t count = io_.count(0, row_bytes + kIndexBytes);
    if (io_.failed() || size + count >= 0xffffffff) return malformed(what);
    if (first != size) return make_error(ErrorKind::kCorrupt, "{} from number {} on, where {} are", what, first, size);
    return count;
  }

  Result<void> read_header() {
    Header header;
    code_header(io_, header);
    if (io_.failed() || !continues(header.events, profile_)) return malformed("header");
    profile_.header = std::move(header);
    return {};
  }

  Result<void> read_strings() {
    first_new_string_ = profile_.strings().size();
    const size_t count = TRY(begin("strings", first_new_string_, sizeof(std::string_view)));
    std::string text;
    for (size_t i = 0; i < count; ++i) {
      const std::string_view escaped = io_.cursor().c_string();
      text.clear();
      for (size_t at = 0; at < escaped.size(); ++at) {
        if (escaped[at] != '\1') text.push_back(escaped[at]);
        else if (++at < escaped.size()) text.push_back(static_cast<char>(escaped[at] - 1));
      }
      if (io_.failed() || !io_.budget().take(text.size()) || profile_.intern(text) != StringId(first_new_string_ + i)) return malformed("strings");
    }
    return {};
  }

  // Our tables have no equal rows, so a row that does not get the next id is not a new one.
  template <typename Row, typename Code, typename Intern>
  Result<void> read_table(std::string_view what, size_t size, Code code, Intern intern) {
    std::vector<Row> rows(TRY(begin(what, size, sizeof(Row))));
    code(rows);
    if (io_.failed()) return malformed(what);
    for (const Row& row : rows)
      if (intern(row).value != size++) return malformed(what);
    return {};
  }

  // Rows that changed stand before the new ones.
  template <typename Row, typename Table, typename Code, typename Intern, typename Set>
  Result<void> read_changing_table(std::string_view what, const Table& table, Code code, Intern intern, Set set) {
    const size_t known = table.size(), added = TRY(begin(what, known, sizeof(Row)));
    std::vector<uint64_t> ids(io_.count(0, sizeof(Row)));
    for (uint64_t& id : ids) id = io_.number();
    for (size_t i = 0; i < added; ++i) ids.push_back(known + i);
    std::vector<Row> rows(ids.size());
    code(rows);
    if (io_.failed()) return malformed(what);
    for (size_t i = 0; i < rows.size(); ++i) {
      if (ids[i] > table.size()) return malformed(what);
      const auto id = intern(rows[i]);
      if (id.value != ids[i]) return malformed(what);
      set(id, rows[i]);
    }
    return {};
  }

  Result<void> read_calls() {
    std::vector<Frame> frames(TRY(begin("frames", profile_.frames().size(), sizeof(Frame))));
    std::vector<Stack> stacks(TRY(begin("stacks", profile_.stacks().size(), sizeof(Stack))));
    const SnapshotSizes before = profile_.sizes();
    CallCoder(io_, profile_, before, frames, stacks).code(before);
    if (io_.failed()) return malformed("stacks");
    size_t next = before.frames;
    for (const Frame& row : frames)
      if (profile_.intern_frame(row).value != next++) return malformed("frames");
    next = before.stacks;
    for (const Stack& row : stacks)
      if (profile_.intern_stack(row.parent, row.frame).value != next++) return malformed("stacks");
    return {};
  }

  Result<void> read_label_sets() {
    const size_t count = TRY(begin("labels", profile_.label_set_count(), 0));
    std::vector<Label> labels;
    for (size_t i = 0; i < count; ++i) {
      const size_t next = profile_.label_set_count();
      code_label_set(io_, labels, profile_.sizes());
      const bool keyed = std::all_of(labels.begin(), labels.end(), [](const Label& label) { return label.key.valid(); });
      if (io_.failed() || !keyed || profile_.intern_labels(labels).value != next) return malformed("labels");
    }
    return {};
  }

  Result<void> read_names() {
    std::vector<NamedFrame> frames(io_.count(0, sizeof(NamedFrame)));
    std::vector<Place> places;
    code_names(io_, profile_, frames, places, profile_.sizes());
    if (io_.failed()) return malformed("names");
    std::vector<PlaceId> ids;
    for (const Place& row : places) ids.push_back(profile_.intern_place(row.outer.valid() ? ids[row.outer.value] : PlaceId(), row));
    for (const NamedFrame& row : frames) profile_.set_place(row.frame, row.place == 0 ? PlaceId() : ids[row.place - 1]);
    return {};
  }

  Result<void> read_samples() {
    const size_t count = io_.count(0, sizeof(Sample));
    if (io_.failed() || count > kMaxDeltaSamples || count + profile_.sample_count() >= 0xffffffff) return malformed("samples");
    std::vector<Sample> rows(count);
    SamplePrediction prediction;
    SampleCoder(io_, profile_).code(rows, prediction);
    if (io_.failed()) return malformed("samples");
    // The sums of an event have a row for each stack up to the highest.
    std::vector<size_t> sums(kMaxEvents);
    for (const Sample& row : rows) {
      size_t& end = sums[row.event.value];
      if (end == 0) end = profile_.sums_of(row.event).size();
      const size_t wanted = row.stack.valid() ? size_t{row.stack.value} + 2 : 1;
      if (wanted > end && !io_.budget().take((wanted - end) * sizeof(StackSum))) return malformed("samples");
      end = std::max(end, wanted);
    }
    profile_.append_samples(rows);
    return {};
  }

  // Files of a cicada that did not know of these end before.
  Result<void> read_thread_times() {
    if (io_.cursor().at_end()) return {};
    std::vector<Thread> rows(described_threads_.size());
    code_thread_times(io_, rows);
    if (io_.failed()) return malformed("times of threads");
    for (size_t i = 0; i < rows.size(); ++i) profile_.edit_thread(described_threads_[i], [&](Thread& row) { row.cpu_ns = rows[i].cpu_ns; });
    return {};
  }

  Profile& profile_;
  ColumnReader io_;
  std::vector<ThreadId> described_threads_;
  size_t first_new_string_ = 0;
};

}  // namespace

Result<void> apply_delta(Profile& profile, Bytes delta, MemoryBudget& budget) { return DeltaReader(profile, delta, budget).read(); }

}  // namespace cicada::sink
