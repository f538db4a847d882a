// SPDX-License-Identifier: Apache-2.0
#include "sink/pprof/pprof_tables.h"

#include <algorithm>

namespace cicada::sink {

using namespace profile;
using protozero::data_view;
using protozero::pbf_message;

namespace {

constexpr size_t kMaxLinesOfLocation = 4096;

PprofTables::Type read_type(pbf_message<pprof::ValueType> in) {
  PprofTables::Type type;
  while (in.next()) {
    switch (in.tag()) {
      case pprof::ValueType::kType: type.type = in.get_int64(); break;
      case pprof::ValueType::kUnit: type.unit = in.get_int64(); break;
      default: in.skip();
    }
  }
  return type;
}

}  // namespace

Result<void> PprofTables::read() {
  std::vector<data_view> functions, mappings, locations;
  pbf_message<pprof::Profile> in(message_);
  while (in.next()) {
    switch (in.tag()) {
      case pprof::Profile::kSampleType: values_.types.push_back(read_type(in.get_message())); break;
      case pprof::Profile::kStringTable: {
        const data_view view = in.get_view();
        strings_.emplace_back(view.data(), view.size());
        break;
      }
      case pprof::Profile::kFunction: functions.push_back(in.get_view()); break;
      case pprof::Profile::kMapping: mappings.push_back(in.get_view()); break;
      case pprof::Profile::kLocation: locations.push_back(in.get_view()); break;
      case pprof::Profile::kTimeNanos: profile_.header.start_realtime_ns = static_cast<uint64_t>(in.get_int64()); break;
      case pprof::Profile::kDurationNanos: profile_.header.duration_ns = static_cast<uint64_t>(in.get_int64()); break;
      case pprof::Profile::kPeriodType: values_.period_type = read_type(in.get_message()); break;
      case pprof::Profile::kPeriod: values_.period = in.get_int64(); break;
      case pprof::Profile::kDefaultSampleType: values_.default_type = in.get_int64(); break;
      default: in.skip();
    }
  }
  if (values_.types.empty()) return make_error(ErrorKind::kCorrupt, "no sample type: not a pprof profile");
  if (strings_.empty() || !strings_[0].empty()) return make_error(ErrorKind::kCorrupt, "the string table does not begin with \"\"");
  for (const data_view& view : functions) TRY(read_function(pbf_message<pprof::Function>(view)));
  for (const data_view& view : mappings) TRY(read_mapping(pbf_message<pprof::Mapping>(view)));
  for (const data_view& view : locations) TRY(read_location(pbf_message<pprof::Location>(view)));
  return {};
}

Result<std::string_view> PprofTables::text(int64_t index) const {
  if (index < 0 || static_cast<uint64_t>(index) >= strings_.size()) return make_error(ErrorKind::kCorrupt, "no string {}", index);
  return strings_[static_cast<size_t>(index)];
}

Result<FrameId> PprofTables::resolve_location(uint64_t id) const {
  const auto frame = frames_.find(id);
  if (frame == frames_.end()) return make_error(ErrorKind::kCorrupt, "no location {}", id);
  return frame->second;
}

Result<void> PprofTables::read_function(pbf_message<pprof::Function> in) {
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

Result<void> PprofTables::read_mapping(pbf_message<pprof::Mapping> in) {
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

Result<void> PprofTables::read_location(pbf_message<pprof::Location> in) {
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
  return {};
}

Result<Location> PprofTables::read_line(pbf_message<pprof::Line> in) const {
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

}  // namespace cicada::sink
