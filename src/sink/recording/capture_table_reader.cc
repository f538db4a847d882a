// SPDX-License-Identifier: Apache-2.0
#include "sink/recording/capture_table_reader.h"

#include "sink/recording/byte_writer.h"

namespace cicada::sink {

using namespace profile;

Result<void> TableReader::read_strings(ByteCursor& in) {
  const size_t count = TRY(read_count(in, 1, "strings"));
  std::vector<uint64_t> sizes(count);
  for (uint64_t& size : sizes) size = in.uleb128();
  ids_.strings.reserve(ids_.strings.size() + count);
  for (const uint64_t size : sizes) {
    const Bytes text = in.take(size);
    if (in.failed()) return corrupt("strings");
    ids_.strings.push_back(profile_.intern({reinterpret_cast<const char*>(text.data()), text.size()}));
  }
  return {};
}

Result<void> TableReader::read_images(ByteCursor& in) {
  const size_t count = TRY(read_count(in, 3, "images"));
  bool bad = false;
  for (size_t i = 0; i < count && !bad; ++i) {
    Image image;
    image.path = ids_.string(in.uleb128(), bad);
    image.build_id = ids_.string(in.uleb128(), bad);
    const uint8_t kind = in.u8();
    if (kind > static_cast<uint8_t>(ImageKind::kJit)) bad = true;
    image.kind = bad ? ImageKind::kUnknown : static_cast<ImageKind>(kind);
    if (!bad) ids_.images.push_back(profile_.intern_image(image));
  }
  if (bad || in.failed()) return corrupt("images");
  return {};
}

Result<void> TableReader::read_functions(ByteCursor& in) {
  const size_t count = TRY(read_count(in, 3, "functions"));
  bool bad = false;
  std::vector<Function> rows(count);
  for (auto& row : rows) row.name = ids_.string(in.uleb128(), bad);
  for (auto& row : rows) row.linkage_name = ids_.string(in.uleb128(), bad);
  for (auto& row : rows) row.image = optional_id(ids_.images, in.uleb128(), bad);
  if (bad || in.failed()) return corrupt("functions");
  for (const auto& row : rows) ids_.functions.push_back(profile_.intern_function(row));
  return {};
}

Result<void> TableReader::read_frames(ByteCursor& in) {
  const size_t count = TRY(read_count(in, 5, "frames"));
  bool bad = false;
  std::vector<Frame> rows(count);
  for (auto& row : rows) {
    const uint8_t kind = in.u8();
    if (kind > static_cast<uint8_t>(FrameKind::kLabel)) return corrupt("frames");
    row.kind = static_cast<FrameKind>(kind);
  }
  for (auto& row : rows) row.image = optional_id(ids_.images, in.uleb128(), bad);
  for (auto& row : rows) row.address_space = static_cast<uint32_t>(in.uleb128());
  uint64_t last = 0;
  for (auto& row : rows) last = row.address = last + static_cast<uint64_t>(from_zigzag(in.uleb128()));
  for (auto& row : rows) row.label = ids_.string(in.uleb128(), bad);
  if (bad || in.failed()) return corrupt("frames");
  for (const auto& row : rows) ids_.frames.push_back(profile_.intern_frame(row));
  return {};
}

Result<void> TableReader::read_stacks(ByteCursor& in) {
  const size_t count = TRY(read_count(in, 2, "stacks"));
  std::vector<uint64_t> up(count);
  for (uint64_t& distance : up) distance = in.uleb128();
  int64_t frame = 0;
  ids_.stacks.reserve(ids_.stacks.size() + count);
  for (const uint64_t distance : up) {
    frame = static_cast<int64_t>(static_cast<uint64_t>(frame) + static_cast<uint64_t>(from_zigzag(in.uleb128())));
    if (in.failed() || distance > ids_.stacks.size() || frame < 0 || static_cast<uint64_t>(frame) >= ids_.frames.size()) return corrupt("stacks");
    const StackId parent = distance == 0 ? StackId() : ids_.stacks[ids_.stacks.size() - distance];
    ids_.stacks.push_back(profile_.intern_stack(parent, ids_.frames[static_cast<size_t>(frame)]));
  }
  return {};
}

Result<void> TableReader::read_processes(ByteCursor& in) {
  while (!in.at_end()) {
    bool bad = false;
    const uint64_t index = in.uleb128();
    const auto pid = static_cast<Pid>(in.uleb128());
    const uint64_t start_ns = in.uleb128();
    const StringId name = ids_.string(in.uleb128(), bad), cmdline = ids_.string(in.uleb128(), bad), cgroup = ids_.string(in.uleb128(), bad);
    const auto parent = static_cast<Pid>(in.uleb128());
    if (bad || in.failed() || index > ids_.processes.size()) return corrupt("processes");
    if (index == ids_.processes.size()) ids_.processes.push_back(profile_.intern_process(pid, start_ns));
    profile_.edit_process(ids_.processes[index], [&](Process& row) {
      row.name = name;
      row.cmdline = cmdline;
      row.cgroup = cgroup;
      row.parent_pid = parent;
    });
  }
  return {};
}

Result<void> TableReader::read_threads(ByteCursor& in) {
  while (!in.at_end()) {
    bool bad = false;
    const uint64_t index = in.uleb128(), process = in.uleb128();
    const auto tid = static_cast<Tid>(in.uleb128());
    const uint64_t name_and_main = in.uleb128();
    const StringId name = ids_.string(name_and_main >> 1, bad);
    if (bad || in.failed() || index > ids_.threads.size() || process >= ids_.processes.size()) return corrupt("threads");
    if (index == ids_.threads.size()) ids_.threads.push_back(profile_.intern_thread(ids_.processes[process], tid));
    profile_.edit_thread(ids_.threads[index], [&](Thread& row) {
      row.name = name;
      row.main = (name_and_main & 1) != 0;
    });
  }
  return {};
}

Result<void> TableReader::read_locations(ByteCursor& in) {
  uint64_t frame = 0;
  std::vector<Location> locations;
  while (!in.at_end()) {
    frame += in.uleb128();
    const size_t count = TRY(read_count(in, 4, "locations"));
    if (frame >= ids_.frames.size()) return corrupt("locations");
    bool bad = false;
    locations.assign(count, {});
    for (Location& location : locations) {
      const uint64_t function = in.uleb128();
      location.file = ids_.string(in.uleb128(), bad);
      location.line = static_cast<uint32_t>(in.uleb128());
      const uint8_t source = in.u8();
      if (bad || in.failed() || function >= ids_.functions.size()) return corrupt("locations");
      location.function = ids_.functions[function];
      location.source = source >> 1 <= static_cast<uint8_t>(NameSource::kCallFrame) ? static_cast<NameSource>(source >> 1) : NameSource::kNone;
      location.inlined = (source & 1) != 0;
    }
    profile_.set_locations(ids_.frames[frame], locations);
  }
  return {};
}

}  // namespace cicada::sink
