// SPDX-License-Identifier: Apache-2.0
// pprof's gzipped protobuf. Samples are added up by thread and stack first: 10 million samples are some hundred thousand
// stacks. Messages are written as they are made; only the string table waits for the end, which the format allows.
// Each sample carries labels (process, pid, thread, tid, and its own, as user), so that `pprof -tagfocus` works without grouping.
#include <algorithm>

#include "base/clean_text.h"
#include "profile/completeness.h"
#include "profile/frame_text.h"
#include "profile/kernel_context.h"
#include "profile/stack_totals.h"
#include "sink/file_sink.h"
#include "sink/formats.h"
#include "sink/gzip.h"
#include "sink/pprof/pprof_fields.h"

namespace cicada::sink {
namespace {

using profile::Profile;
using profile::ProfileSnapshot;
using protozero::pbf_builder;

constexpr size_t kFlushBytes = 256 << 10;

class Writer {
 public:
  Writer(const ProfileSnapshot& profile, const profile::CallTreeOptions& options, OutputFile& file)
      : profile_(profile), options_(options), contexts_(profile), gzip_(file), location_of_frame_(profile.frames().size(), 0),
        last_address_(profile.images().size() + 2, 0), executable_value_(profile.images().size(), 0), labels_(profile.threads().size()) {}

  void write() {
    const std::vector<profile::EventId> events = options_.event ? std::vector{*options_.event} : sampled_events(profile_);
    for (const profile::EventId event : events) units_.push_back(value_unit(profile_.event(event)));
    const profile::Event& first = profile_.event(events.front());
    values_count_samples_ = first.unit == profile::Unit::kSamples;
    write_header(first);
    for (size_t i = 0; i < events.size(); ++i) {
      options_.event = events[i];
      for (const profile::StackTotal& total : add_up_stacks(profile_, options_)) write_sample(total, i);
    }
    write_mappings();
    for (size_t i = 0; i <= strings_.size(); ++i) {  // index 0 is the empty string
      message_.add_string(pprof::Profile::kStringTable, i == 0 ? "" : std::string(strings_.text(profile::StringId(i - 1))));
      flush(kFlushBytes);
    }
    flush(0);
    gzip_.finish();
  }

 private:
  uint64_t string(std::string_view text) {
    const profile::StringId id = strings_.intern(clean_text(text, clean_));
    return id.valid() ? uint64_t{id.value} + 1 : 0;
  }

  void flush(size_t above) {
    if (bytes_.size() <= above) return;
    gzip_.write(bytes_);
    bytes_.clear();
  }

  void write_type(pprof::Profile field, std::string_view type, std::string_view unit) {
    pbf_builder<pprof::ValueType> value_type(message_, field);
    value_type.add_int64(pprof::ValueType::kType, static_cast<int64_t>(string(type)));
    value_type.add_int64(pprof::ValueType::kUnit, static_cast<int64_t>(string(unit)));
  }

  // Two values a sample: how often the first event was sampled, then one of each event.
  void write_header(const profile::Event& first) {
    const profile::Header& header = profile_.header;
    write_type(pprof::Profile::kSampleType, "samples", "count");
    for (const profile::ValueUnit& unit : units_) write_type(pprof::Profile::kSampleType, unit.type, unit.unit);
    message_.add_int64(pprof::Profile::kDefaultSampleType, static_cast<int64_t>(string(units_.front().type)));
    write_type(pprof::Profile::kPeriodType, units_.front().type, units_.front().unit);
    message_.add_int64(pprof::Profile::kPeriod, static_cast<int64_t>(first.period));
    message_.add_int64(pprof::Profile::kTimeNanos, static_cast<int64_t>(header.start_realtime_ns));
    message_.add_int64(pprof::Profile::kDurationNanos, static_cast<int64_t>(header.duration_ns));
    for (const std::string& warning : header.warnings) message_.add_int64(pprof::Profile::kComment, static_cast<int64_t>(string(warning)));
  }

  // Of the event with this index.
  void write_sample(const profile::StackTotal& total, size_t event) {
    ids_.clear();
    profile::ImageId executable;
    const auto context = contexts_.find(total.stack);
    for (profile::StackId stack = total.stack; stack.valid(); stack = profile_.stacks()[stack.value].parent) {
      const profile::FrameId frame = profile_.stacks()[stack.value].frame;
      const uint64_t id = location(frame);
      if (id != 0) ids_.push_back(id);
      if (context && stack == context->entry) ids_.push_back(name_location(std::string(context->text)));
      const profile::ImageId image = profile_.frames()[frame.value].image;
      if (image.valid() && profile_.images()[image.value].kind == profile::ImageKind::kExecutable) executable = image;
    }
    if (executable.valid()) executable_value_[executable.value] += total.value;
    if (const std::string_view cut = profile::cut_text(total.end_reason); !cut.empty()) ids_.push_back(name_location(cut));
    for (size_t g = options_.group_by.size(); g-- > 0;) {
      const profile::Sample sample{.thread = total.thread, .stack = total.stack, .labels = total.labels, .cpu = total.cpu};
      ids_.push_back(name_location(group_text(profile_, options_.group_by[g], sample)));
    }
    if (ids_.empty()) ids_.push_back(name_location("[no stack]"));  // pprof drops samples without a location
    sample_bytes_.clear();
    {
      pbf_builder<pprof::Sample> sample(sample_bytes_);
      sample.add_packed_uint64(pprof::Sample::kLocationId, ids_.begin(), ids_.end());
      values_.assign(1 + units_.size(), 0);
      // A row that was read from another file may stand for many.
      if (event == 0) values_[0] = static_cast<int64_t>(values_count_samples_ ? total.value : total.samples);
      values_[1 + event] = static_cast<int64_t>(total.value * units_[event].factor);
      sample.add_packed_int64(pprof::Sample::kValue, values_.begin(), values_.end());
    }
    sample_bytes_ += labels(total.thread);
    {
      pbf_builder<pprof::Sample> sample(sample_bytes_);
      for (const profile::Label& label : profile_.labels(total.labels)) text_label(sample, profile_.text(label.key), profile_.text(label.value));
    }
    message_.add_message(pprof::Profile::kSample, sample_bytes_);
    flush(kFlushBytes);
  }

  // The encoded labels of a thread, made once: they are half of a sample's bytes.
  const std::string& labels(profile::ThreadId id) {
    std::string& bytes = labels_[id.value];
    if (!bytes.empty()) return bytes;
    pbf_builder<pprof::Sample> sample(bytes);
    const profile::Thread& thread = profile_.threads()[id.value];
    const profile::Process& process = profile_.processes()[thread.process.value];
    text_label(sample, "process", profile_.text(process.name));
    number_label(sample, "pid", process.pid);
    text_label(sample, "thread", profile_.text(thread.name));
    number_label(sample, "tid", thread.tid);
    return bytes;
  }

  void text_label(pbf_builder<pprof::Sample>& sample, std::string_view key, std::string_view text) {
    if (text.empty()) return;
    pbf_builder<pprof::Label> label(sample, pprof::Sample::kLabel);
    label.add_int64(pprof::Label::kKey, static_cast<int64_t>(string(key)));
    label.add_int64(pprof::Label::kStr, static_cast<int64_t>(string(text)));
  }

  void number_label(pbf_builder<pprof::Sample>& sample, std::string_view key, int64_t number) {
    pbf_builder<pprof::Label> label(sample, pprof::Sample::kLabel);
    label.add_int64(pprof::Label::kKey, static_cast<int64_t>(string(key)));
    label.add_int64(pprof::Label::kNum, number);
  }

  // 0: a frame that is not to be shown.
  uint64_t location(profile::FrameId frame) {
    uint64_t& id = location_of_frame_[frame.value];
    if (id == kHidden) return 0;
    if (id != 0) return id;
    if (!options_.kernel_frames && node_kind(profile_, frame, profile_.place(frame)) == profile::NodeKind::kKernel) {
      id = kHidden;
      return 0;
    }
    id = ++locations_;
    std::vector<std::pair<uint64_t, uint32_t>> rows;  // function, line; innermost first
    profile::PlaceId place = profile_.place(frame);
    do {
      if (!options_.expand_inlined && profile_.outer(place).valid()) continue;
      profile::Location line;
      if (place.valid()) line = profile_.places()[place.value];
      const std::string_view linkage = place.valid() ? profile_.text(profile_.functions()[line.function.value].linkage_name) : "";
      rows.emplace_back(function(frame_name(profile_, frame, place), linkage, profile_.text(line.file)), line.line);
    } while ((place = profile_.outer(place)).valid());
    const profile::Frame& f = profile_.frames()[frame.value];
    const size_t mapping = mapping_of(frame);
    last_address_[mapping] = std::max(last_address_[mapping], f.address);
    pbf_builder<pprof::Location> out(message_, pprof::Profile::kLocation);
    out.add_uint64(pprof::Location::kId, id);
    out.add_uint64(pprof::Location::kMappingId, mapping + 1);
    out.add_uint64(pprof::Location::kAddress, f.address);
    add_lines(out, rows);
    return id;
  }

  static void add_lines(pbf_builder<pprof::Location>& out, const std::vector<std::pair<uint64_t, uint32_t>>& rows) {
    for (const auto& [function, number] : rows) {
      pbf_builder<pprof::Line> line(out, pprof::Location::kLine);
      line.add_uint64(pprof::Line::kFunctionId, function);
      line.add_int64(pprof::Line::kLine, number);
    }
  }

  // A location that is only a name: a group, or the lack of a stack.
  uint64_t name_location(std::string_view name) {
    const uint64_t function_id = function(name, "", "");
    if (name_locations_.size() <= function_id) name_locations_.resize(function_id + 1, 0);
    uint64_t& id = name_locations_[function_id];
    if (id != 0) return id;
    id = ++locations_;
    pbf_builder<pprof::Location> out(message_, pprof::Profile::kLocation);
    out.add_uint64(pprof::Location::kId, id);
    add_lines(out, {{function_id, 0}});
    return id;
  }

  uint64_t function(std::string_view name, std::string_view linkage_name, std::string_view file) {
    const Function row{string(name), linkage_name.empty() ? string(name) : string(linkage_name), string(file)};
    const uint32_t at = function_index_.find_or_append(
        mix_hash(row.name << 32 | row.linkage_name, row.file), [&](uint32_t stored) { return functions_[stored] == row; },
        [&] {
          functions_.push_back(row);
          pbf_builder<pprof::Function> out(message_, pprof::Profile::kFunction);
          out.add_uint64(pprof::Function::kId, functions_.size());
          out.add_int64(pprof::Function::kName, static_cast<int64_t>(row.name));
          out.add_int64(pprof::Function::kSystemName, static_cast<int64_t>(row.linkage_name));
          out.add_int64(pprof::Function::kFilename, static_cast<int64_t>(row.file));
          return static_cast<uint32_t>(functions_.size() - 1);
        });
    return uint64_t{at} + 1;
  }

  // Images in the order of the profile, then one for the kernel's frames and one for everything else without an image.
  size_t mapping_of(profile::FrameId frame) const {
    const profile::ImageId image = image_of(profile_, frame, profile_.place(frame));
    if (image.valid()) return image.value;
    return profile_.images().size() + (profile_.frames()[frame.value].kind == profile::FrameKind::kKernel ? 0 : 1);
  }

  // Addresses are link addresses, and each mapping begins at 0. pprof takes the first for the program that was profiled and shows its
  // name and build-id: the executable with the most samples below it.
  void write_mappings() {
    const auto main = std::max_element(executable_value_.begin(), executable_value_.end());
    const size_t first = main == executable_value_.end() || *main == 0 ? 0 : static_cast<size_t>(main - executable_value_.begin());
    for (size_t nth = 0; nth < last_address_.size(); ++nth) {
      const size_t i = nth == 0 ? first : nth <= first ? nth - 1 : nth;
      const bool image = i < profile_.images().size();
      const std::string_view name = image ? profile_.text(profile_.images()[i].path) : i == profile_.images().size() ? "[kernel]" : "[unknown]";
      pbf_builder<pprof::Mapping> out(message_, pprof::Profile::kMapping);
      out.add_uint64(pprof::Mapping::kId, i + 1);
      const uint64_t end = last_address_[i] | 0xfff;
      out.add_uint64(pprof::Mapping::kMemoryLimit, end == ~uint64_t{0} ? end : end + 1);
      out.add_int64(pprof::Mapping::kFilename, static_cast<int64_t>(string(name)));
      if (image) out.add_int64(pprof::Mapping::kBuildId, static_cast<int64_t>(string(profile_.text(profile_.images()[i].build_id))));
      for (const auto has : {pprof::Mapping::kHasFunctions, pprof::Mapping::kHasFilenames, pprof::Mapping::kHasLineNumbers, pprof::Mapping::kHasInlineFrames})
        out.add_bool(has, true);  // there is nothing for a reader to look up again
    }
  }

  struct Function {
    uint64_t name, linkage_name, file;
    bool operator==(const Function&) const = default;
  };
  static constexpr uint64_t kHidden = ~uint64_t{0};

  const ProfileSnapshot& profile_;
  profile::CallTreeOptions options_;
  profile::KernelContexts contexts_;
  GzipWriter gzip_;
  std::vector<profile::ValueUnit> units_;  // of the events
  bool values_count_samples_ = true;       // those of the first event that is written
  std::vector<int64_t> values_;
  std::string bytes_, clean_;
  pbf_builder<pprof::Profile> message_{bytes_};
  profile::StringTable strings_;
  std::vector<Function> functions_;
  profile::ContentIndex function_index_;
  uint64_t locations_ = 0;
  std::vector<uint64_t> location_of_frame_, name_locations_, last_address_, ids_;
  std::vector<uint64_t> executable_value_;  // by image
  std::vector<std::string> labels_;  // by thread
  std::string sample_bytes_;
};

class PprofSink : public FileSink {
 public:
  using FileSink::FileSink;

 private:
  void write(const ProfileSnapshot& profile, OutputFile& file) override { Writer(profile, options_.tree, file).write(); }
};

}  // namespace

std::unique_ptr<profile::Sink> make_pprof_sink(std::string path, const SinkOptions& options) {
  return std::make_unique<PprofSink>(std::move(path), options, "pprof profile");
}

}  // namespace cicada::sink
