// SPDX-License-Identifier: Apache-2.0
// Two passes, because tables may come in any order: one that collects strings, functions, mappings and locations (pprof_tables.h), one
// over the samples. protozero checks every length and throws; nothing thrown leaves this file.
#include <algorithm>
#include <optional>

#include "sink/gzip.h"
#include "sink/pprof/pprof_fields.h"
#include "sink/pprof/pprof_tables.h"
#include "sink/profile_reader.h"

namespace cicada::sink {
namespace {

using namespace profile;
using protozero::data_view;
using protozero::pbf_message;

// gzip itself reaches 1032:1; profiles 3 to 20.
constexpr uint64_t kFreeBytes = 64 << 20;
constexpr uint64_t kMaxExpansion = 64;
// Of the tree of all stacks, inlined calls included. A stack row takes two bytes or more, and has some inlined calls; but 4,096 of them in one
// row of 30,000 in a stack make a tree of 6 GB from 430 bytes.
constexpr uint64_t kFreeFrames = 1 << 20;
constexpr uint64_t kMaxFramesPerByte = 16;

class PprofReader {
 public:
  explicit PprofReader(Bytes bytes) : message_(reinterpret_cast<const char*>(bytes.data()), bytes.size()), tables_(message_, profile_) {}

  Result<Profile> read() {
    TRY(tables_.read());
    TRY(choose_events());
    TRY(read_samples());
    return std::move(profile_);
  }

 private:
  // Each type of value is an event. The profile's default comes first, else the last one, as in pprof. Two types are one event: how often it
  // was sampled ("samples") and what that stands for, which has the period's type; of a CPU clock the number of samples is kept.
  Result<void> choose_events() {
    const PprofTables::Values& values = tables_.values();
    if (values.types.size() > kMaxTypes) return make_error(ErrorKind::kLimit, "more than {} types of values", kMaxTypes);
    const PprofTables::Type& of_period = values.period_type;
    const bool clock = TRY(tables_.text(of_period.type)) == "cpu" && TRY(tables_.text(of_period.unit)) == "nanoseconds" && values.period > 0;
    std::optional<size_t> samples, period, first;
    for (size_t i = 0; i < values.types.size(); ++i) {
      const PprofTables::Type& type = values.types[i];
      if (!samples && TRY(tables_.text(type.type)) == "samples" && TRY(tables_.text(type.unit)) == "count") samples = i;
      if (type.type == of_period.type && type.unit == of_period.unit) period = i;
      if (values.default_type != 0 && type.type == values.default_type) first = i;
    }
    columns_.assign(values.types.size(), {});
    if (samples && (clock || (period && period != samples))) {
      const size_t left_out = clock ? period.value_or(*samples) : *samples;
      const size_t kept = clock ? *samples : *period;
      columns_[left_out].event.reset();
      columns_[kept].event = 0;
      if (!first || first == left_out) first = kept;
    }
    const size_t begin = first.value_or(values.types.size() - 1);
    profile_.header.events.clear();
    for (size_t n = 0; n < columns_.size(); ++n) {
      const size_t i = n == 0 ? begin : n <= begin ? n - 1 : n;
      if (!columns_[i].event) continue;
      columns_[i].event = profile_.header.events.size();
      profile_.header.events.push_back(TRY(make_event(values.types[i], clock && i == samples, columns_[i].factor)));
    }
    return {};
  }

  Result<Event> make_event(const PprofTables::Type& type, bool clock, uint64_t& factor) const {
    Event event;
    if (clock) {
      const auto period = static_cast<uint64_t>(tables_.values().period);
      event.period = event.sample_ns = period;
      event.frequency_hz = 1'000'000'000 / period;
      return event;
    }
    event.name = std::string(TRY(tables_.text(type.type)));
    const std::string_view unit = TRY(tables_.text(type.unit));
    if (unit == "count" && event.name != "samples") event.unit = Unit::kEvents;
    for (const KnownUnit& known : kUnits) {
      if (known.name != unit) continue;
      event.unit = known.unit;
      factor = known.factor;
    }
    // As we write it.
    if (event.name == "off-cpu") event.spent = profile::Spent::kWaiting;
    if (event.name == "wakeups") event.spent = profile::Spent::kOthersWaiting;
    return event;
  }

  struct KnownUnit {
    std::string_view name;
    Unit unit;
    uint64_t factor;
  };
  static constexpr KnownUnit kUnits[] = {{"nanoseconds", Unit::kNanoseconds, 1},           {"microseconds", Unit::kNanoseconds, 1'000},
                                         {"milliseconds", Unit::kNanoseconds, 1'000'000},  {"seconds", Unit::kNanoseconds, 1'000'000'000},
                                         {"bytes", Unit::kBytes, 1},                       {"kilobytes", Unit::kBytes, 1 << 10},
                                         {"megabytes", Unit::kBytes, 1 << 20}};

  struct Column {
    std::optional<size_t> event = 0;  // nothing: says the same as another
    uint64_t factor = 1;
  };

  struct Labels {
    std::string_view process, thread;
    int64_t pid = 0, tid = 0;
  };

  Result<void> read_samples() {
    pbf_message<pprof::Profile> in(message_);
    while (in.next()) {
      if (in.tag() != pprof::Profile::kSample) {
        in.skip();
        continue;
      }
      TRY(read_sample(in.get_message()));
    }
    return {};
  }

  Result<void> read_sample(pbf_message<pprof::Sample> in) {
    path_.clear();
    Labels labels;
    values_.clear();
    const auto take_value = [&](int64_t number) {
      if (values_.size() < columns_.size()) values_.push_back(number);
    };
    while (in.next()) {
      const bool packed = in.wire_type() == protozero::pbf_wire_type::length_delimited;
      switch (in.tag()) {
        case pprof::Sample::kLocationId:
          if (packed) {
            for (const uint64_t id : in.get_packed_uint64()) TRY(push_location(id));
          } else {
            TRY(push_location(in.get_uint64()));
          }
          break;
        case pprof::Sample::kValue:
          if (packed) {
            for (const int64_t number : in.get_packed_int64()) take_value(number);
          } else {
            take_value(in.get_int64());
          }
          break;
        case pprof::Sample::kLabel: TRY(read_label(in.get_message(), labels)); break;
        default: in.skip();
      }
    }
    Sample sample;
    sample.thread = thread_of(labels);
    for (size_t i = path_.size(); i-- > 0;) {  // leaf first in the file
      const size_t before = profile_.stacks().size();
      sample.stack = profile_.intern_stack(sample.stack, path_[i]);
      if (profile_.stacks().size() != before) shown_frames_ += std::max<size_t>(1, profile_.locations(path_[i]).size());
    }
    if (shown_frames_ > kFreeFrames + kMaxFramesPerByte * message_.size())
      return make_error(ErrorKind::kLimit, "{} frames in a profile of {} bytes", shown_frames_, message_.size());
    for (size_t i = 0; i < values_.size(); ++i) {
      if (columns_[i].event) TRY(append(sample, values_[i], columns_[i]));
    }
    return {};
  }

  Result<void> append(Sample sample, int64_t value, const Column& column) {
    if (value < 0) return make_error(ErrorKind::kUnsupported, "negative values (a difference of profiles)");
    if (value == 0) return {};
    if (static_cast<uint64_t>(value) > (kMaxTotal - total_) / column.factor)
      return make_error(ErrorKind::kLimit, "values add up to more than cicada can hold ({})", value);
    sample.value = static_cast<uint64_t>(value) * column.factor;
    total_ += sample.value;
    sample.event = {static_cast<uint8_t>(*column.event)};
    sample.time_ns = profile_.sample_count();
    profile_.append_sample(sample);
    return {};
  }

  Result<void> push_location(uint64_t id) {
    path_.push_back(TRY(tables_.resolve_location(id)));
    return {};
  }

  Result<void> read_label(pbf_message<pprof::Label> in, Labels& labels) const {
    int64_t key = 0, str = 0, num = 0;
    while (in.next()) {
      switch (in.tag()) {
        case pprof::Label::kKey: key = in.get_int64(); break;
        case pprof::Label::kStr: str = in.get_int64(); break;
        case pprof::Label::kNum: num = in.get_int64(); break;
        default: in.skip();
      }
    }
    const std::string_view name = TRY(tables_.text(key));
    if (name == "process" || name == "comm") labels.process = TRY(tables_.text(str));
    if (name == "thread") labels.thread = TRY(tables_.text(str));
    if (name == "pid") labels.pid = num;
    if (name == "tid") labels.tid = num;
    return {};
  }

  ThreadId thread_of(const Labels& labels) {
    const ProcessId process = profile_.intern_process(static_cast<Pid>(labels.pid), 0);
    const ThreadId thread = profile_.intern_thread(process, static_cast<Tid>(labels.tid));
    if (!labels.process.empty()) profile_.edit_process(process, [&](auto& row) { row.name = profile_.intern(labels.process); });
    if (!labels.thread.empty()) profile_.edit_thread(thread, [&](auto& row) { row.name = profile_.intern(labels.thread); });
    return thread;
  }

  data_view message_;
  Profile profile_;
  PprofTables tables_;
  static constexpr uint64_t kMaxTotal = uint64_t{1} << 62;
  static constexpr size_t kMaxTypes = 64;
  uint64_t total_ = 0, shown_frames_ = 0;
  std::vector<Column> columns_;  // by type of value
  std::vector<int64_t> values_;
  std::vector<FrameId> path_;
};

}  // namespace

Result<Profile> parse_pprof(Bytes bytes, const std::string& name) {
  std::vector<uint8_t> raw;
  if (is_gzip(bytes)) {
    auto unpacked = gunzip(bytes, kFreeBytes + kMaxExpansion * bytes.size());
    if (!unpacked) return unpacked.error().within(name);
    raw = *std::move(unpacked);
    bytes = raw;
    if (!bytes.empty() && (bytes[0] == '{' || bytes[0] == '<'))  // JSON or XML; in protobuf these are groups
      return make_error(ErrorKind::kInvalid, "{}: not a format that cicada reads as a profile (.cicada, .folded, .pb.gz)", name);
  }
  try {
    Result<Profile> profile = PprofReader(bytes).read();
    if (!profile) return profile.error().within(name);
    return profile;
  } catch (const protozero::exception& error) {
    return make_error(ErrorKind::kCorrupt, "{}: malformed protobuf ({})", name, error.what());
  }
}

}  // namespace cicada::sink
