// SPDX-License-Identifier: Apache-2.0
// Tables may come in any order, so there are two passes: one that collects strings, functions, mappings and locations, one
// over the samples. protozero checks every length and throws; nothing thrown leaves this file.
#include <unordered_map>

#include "sink/gzip.h"
#include "sink/pprof_fields.h"
#include "sink/profile_reader.h"
#include "sink/value_splitter.h"

namespace cicada::sink {
namespace {

using namespace profile;
using protozero::data_view;
using protozero::pbf_message;

// gzip itself reaches 1032:1; profiles 3 to 20.
constexpr uint64_t kFreeBytes = 64 << 20;
constexpr uint64_t kMaxExpansion = 64;
constexpr size_t kMaxLinesOfLocation = 4096;

class PprofReader {
 public:
  explicit PprofReader(Bytes bytes) : message_(reinterpret_cast<const char*>(bytes.data()), bytes.size()), splitter_(profile_) {}

  Result<Profile> read() {
    TRY(read_tables());
    TRY(read_locations());
    TRY(choose_value());
    TRY(read_samples());
    return std::move(profile_);
  }

 private:
  struct Type {
    int64_t type = 0, unit = 0;
  };

  Result<std::string_view> text(int64_t index) const {
    if (index < 0 || static_cast<uint64_t>(index) >= strings_.size()) return make_error(ErrorKind::kCorrupt, "no string {}", index);
    return strings_[static_cast<size_t>(index)];
  }

  Result<void> read_tables() {
    pbf_message<pprof::Profile> in(message_);
    while (in.next()) {
      switch (in.tag()) {
        case pprof::Profile::kSampleType: types_.push_back(read_type(in.get_message())); break;
        case pprof::Profile::kStringTable: {
          const data_view view = in.get_view();
          strings_.emplace_back(view.data(), view.size());
          break;
        }
        case pprof::Profile::kFunction: functions_in_.push_back(in.get_view()); break;
        case pprof::Profile::kMapping: mappings_in_.push_back(in.get_view()); break;
        case pprof::Profile::kLocation: locations_in_.push_back(in.get_view()); break;
        case pprof::Profile::kTimeNanos: profile_.header.start_realtime_ns = static_cast<uint64_t>(in.get_int64()); break;
        case pprof::Profile::kDurationNanos: profile_.header.duration_ns = static_cast<uint64_t>(in.get_int64()); break;
        case pprof::Profile::kPeriodType: period_type_ = read_type(in.get_message()); break;
        case pprof::Profile::kPeriod: period_ = in.get_int64(); break;
        case pprof::Profile::kDefaultSampleType: default_type_ = in.get_int64(); break;
        default: in.skip();
      }
    }
    if (types_.empty()) return make_error(ErrorKind::kCorrupt, "no sample type: not a pprof profile");
    if (strings_.empty() || !strings_[0].empty()) return make_error(ErrorKind::kCorrupt, "the string table does not begin with \"\"");
    for (const data_view& view : functions_in_) TRY(read_function(pbf_message<pprof::Function>(view)));
    for (const data_view& view : mappings_in_) TRY(read_mapping(pbf_message<pprof::Mapping>(view)));
    return {};
  }

  static Type read_type(pbf_message<pprof::ValueType> in) {
    Type type;
    while (in.next()) {
      switch (in.tag()) {
        case pprof::ValueType::kType: type.type = in.get_int64(); break;
        case pprof::ValueType::kUnit: type.unit = in.get_int64(); break;
        default: in.skip();
      }
    }
    return type;
  }

  struct FunctionRow {
    FunctionId function;
    StringId file;
  };

  Result<void> read_function(pbf_message<pprof::Function> in) {
    uint64_t id = 0;
    int64_t name = 0, linkage = 0, file = 0;
    while (in.next()) {
      switch (in.tag()) {
        case pprof::Function::kId: id = in.get_uint64(); break;
        case pprof::Function::kName: name = in.get_int64(); break;
        case pprof::Function::kSystemName: linkage = in.get_int64(); break;
        case pprof::Function::kFilename: file = in.get_int64(); break;
        default: in.skip();
      }
    }
    profile::Function row;
    row.name = profile_.intern(TRY(text(name)));
    const std::string_view linkage_name = TRY(text(linkage));
    if (linkage != name) row.linkage_name = profile_.intern(linkage_name);
    functions_[id] = {profile_.intern_function(row), profile_.intern(TRY(text(file)))};
    return {};
  }

  Result<void> read_mapping(pbf_message<pprof::Mapping> in) {
    uint64_t id = 0;
    int64_t file = 0, build_id = 0;
    while (in.next()) {
      switch (in.tag()) {
        case pprof::Mapping::kId: id = in.get_uint64(); break;
        case pprof::Mapping::kFilename: file = in.get_int64(); break;
        case pprof::Mapping::kBuildId: build_id = in.get_int64(); break;
        default: in.skip();
      }
    }
    const std::string_view path = TRY(text(file));
    if (path.empty() || path == "[unknown]") return {};
    Image image;
    image.path = profile_.intern(path);
    image.build_id = profile_.intern(TRY(text(build_id)));
    image.kind = path.starts_with("[kernel") ? ImageKind::kKernel
                 : path == "[vdso]"          ? ImageKind::kVdso
                 : path.find(".so") != std::string_view::npos ? ImageKind::kLibrary
                                                              : ImageKind::kExecutable;
    images_[id] = profile_.intern_image(image);
    return {};
  }

  Result<void> read_locations() {
    for (const data_view& view : locations_in_) {
      pbf_message<pprof::Location> in(view);
      uint64_t id = 0, mapping = 0, address = 0;
      std::vector<Location> lines;
      while (in.next()) {
        switch (in.tag()) {
          case pprof::Location::kId: id = in.get_uint64(); break;
          case pprof::Location::kMappingId: mapping = in.get_uint64(); break;
          case pprof::Location::kAddress: address = in.get_uint64(); break;
          case pprof::Location::kLine:
            if (lines.size() == kMaxLinesOfLocation) return make_error(ErrorKind::kLimit, "more than {} lines at one address", kMaxLinesOfLocation);
            lines.push_back(TRY(read_line(in.get_message())));
            break;
          default: in.skip();
        }
      }
      for (size_t i = 0; i + 1 < lines.size(); ++i) lines[i].inlined = true;
      Frame frame;
      const auto image = images_.find(mapping);
      if (image != images_.end()) frame.image = image->second;
      const bool kernel = frame.image.valid() && profile_.images()[frame.image.value].kind == ImageKind::kKernel;
      frame.kind = kernel ? FrameKind::kKernel : FrameKind::kNative;
      frame.address = address;
      // Several locations at one address (or without any) are told apart by their number.
      const size_t before = profile_.frames().size();
      FrameId known = profile_.intern_frame(frame);
      if (profile_.frames().size() == before) {
        frame.address_space = static_cast<uint32_t>(before);
        known = profile_.intern_frame(frame);
      }
      profile_.set_locations(known, lines);
      frames_[id] = known;
    }
    return {};
  }

  Result<Location> read_line(pbf_message<pprof::Line> in) const {
    uint64_t function = 0;
    int64_t number = 0;
    while (in.next()) {
      switch (in.tag()) {
        case pprof::Line::kFunctionId: function = in.get_uint64(); break;
        case pprof::Line::kLine: number = in.get_int64(); break;
        default: in.skip();
      }
    }
    const auto row = functions_.find(function);
    if (row == functions_.end()) return make_error(ErrorKind::kCorrupt, "no function {}", function);
    Location location;
    location.function = row->second.function;
    location.file = row->second.file;
    location.line = static_cast<uint32_t>(std::clamp<int64_t>(number, 0, 0xffffffff));
    return location;
  }

  // Of several values per sample: the number of samples if the profile has it (then its period gives the time), else the one
  // that the profile names as its default, else the last.
  Result<void> choose_value() {
    size_t best = types_.size() - 1;
    bool counts = false;
    for (size_t i = 0; i < types_.size(); ++i) {
      if (default_type_ != 0 && types_[i].type == default_type_) best = i;
    }
    for (size_t i = 0; i < types_.size(); ++i) {
      if (TRY(text(types_[i].unit)) == "count" && TRY(text(types_[i].type)) == "samples") {
        best = i;
        counts = true;
        break;
      }
    }
    chosen_ = best;
    const std::string_view type = TRY(text(types_[best].type)), unit = TRY(text(types_[best].unit));
    const std::string_view period = TRY(text(period_type_.type)), period_unit = TRY(text(period_type_.unit));
    if (counts && period == "cpu" && period_unit == "nanoseconds" && period_ > 0) {
      profile_.header.event = "cpu-clock";
      profile_.header.period = static_cast<uint64_t>(period_);
      if (period_ > 0) profile_.header.frequency_hz = 1000000000 / static_cast<uint64_t>(period_);
    } else {
      profile_.header.event = unit.empty() || unit == "count" ? std::string(type) : fmt::format("{} ({})", type, unit);
    }
    return {};
  }

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
    size_t values = 0;
    int64_t value = 0;
    const auto take_value = [&](int64_t number) {
      if (values++ == chosen_) value = number;
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
    if (value < 0) return make_error(ErrorKind::kUnsupported, "negative values (a difference of profiles)");
    Sample sample;
    sample.thread = thread_of(labels);
    for (size_t i = path_.size(); i-- > 0;) sample.stack = profile_.intern_stack(sample.stack, path_[i]);  // leaf first in the file
    sample.time_ns = profile_.sample_count();
    if (value == 0) return {};  // of another type only
    return splitter_.append(sample, static_cast<uint64_t>(value));
  }

  Result<void> push_location(uint64_t id) {
    const auto frame = frames_.find(id);
    if (frame == frames_.end()) return make_error(ErrorKind::kCorrupt, "no location {}", id);
    path_.push_back(frame->second);
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
    const std::string_view name = TRY(text(key));
    if (name == "process" || name == "comm") labels.process = TRY(text(str));
    if (name == "thread") labels.thread = TRY(text(str));
    if (name == "pid") labels.pid = num;
    if (name == "tid") labels.tid = num;
    return {};
  }

  ThreadId thread_of(const Labels& labels) {
    const ProcessId process = profile_.intern_process(static_cast<Pid>(labels.pid), 0);
    const ThreadId thread = profile_.intern_thread(process, static_cast<Tid>(labels.tid));
    if (!labels.process.empty()) profile_.process(process).name = profile_.intern(labels.process);
    if (!labels.thread.empty()) profile_.thread(thread).name = profile_.intern(labels.thread);
    return thread;
  }

  data_view message_;
  Profile profile_;
  ValueSplitter splitter_;
  std::vector<std::string_view> strings_;
  std::vector<Type> types_;
  Type period_type_;
  int64_t period_ = 0, default_type_ = 0;
  size_t chosen_ = 0;
  std::vector<data_view> functions_in_, mappings_in_, locations_in_;
  // by id in the file
  std::unordered_map<uint64_t, FunctionRow> functions_;
  std::unordered_map<uint64_t, ImageId> images_;
  std::unordered_map<uint64_t, FrameId> frames_;
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
