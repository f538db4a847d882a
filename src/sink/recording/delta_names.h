// SPDX-License-Identifier: Apache-2.0
// Places of the frames of a difference: functions, files, lines, and what they are inlined into, for both directions (column_io.h). In the order of
// addresses neighbours are in the same function, or in the next one: three numbers that take 3.4 bytes a sample of compilers take 1.6.
#pragma once
#include <tuple>

#include "profile/profile.h"
#include "sink/recording/delta_tables.h"
#include "sink/recording/number_map.h"

namespace cicada::sink {

struct NamedFrame {
  profile::FrameId frame;
  size_t place = 0;  // its number in this difference + 1; 0: the frame has no name any more
};

inline void sort_by_address(std::vector<NamedFrame>& rows, const profile::ProfileSnapshot& known) {
  const auto key = [&](const NamedFrame& row) {
    const profile::Frame& frame = known.frames()[row.frame.value];
    return std::tuple(frame.kind, frame.image, frame.address_space, frame.address, row.frame);
  };
  std::sort(rows.begin(), rows.end(), [&](const NamedFrame& a, const NamedFrame& b) { return key(a) < key(b); });
}

// `frames`: by id, each once; afterwards by address. `places`: what they refer to, `outer` by the number in this difference.
template <typename Io>
void code_names(Io& io, const profile::ProfileSnapshot& known, std::vector<NamedFrame>& frames, std::vector<profile::Place>& places,
                const profile::SnapshotSizes& limits) {
  using profile::Place, profile::PlaceId;
  uint64_t next = 0;
  for (NamedFrame& row : frames) {
    const uint64_t id = next + io.number(row.frame.value - next);
    if (id < next || id >= limits.frames) return io.fail();
    row.frame = profile::FrameId(id);
    next = id + 1;
  }
  io.end_column();
  sort_by_address(frames, known);
  places.resize(io.count(places.size(), 2 * sizeof(Place)));  // as read, and in the profile
  for (size_t i = 0; i < places.size(); ++i) {
    Place& row = places[i];
    const uint64_t up = io.number(row.outer.valid() ? i - row.outer.value : 0);
    if (up > i) return io.fail();
    row.outer = up == 0 ? PlaceId() : PlaceId(i - up);
    row.depth = up == 0 ? 1 : places[i - up].depth + 1;
    if (row.depth > profile::Profile::kMaxLocations) return io.fail();
  }
  io.end_column();
  uint64_t highest = 0;  // places are numbered as frames have them
  for (NamedFrame& row : frames) {
    row.place = io.near(highest + 1, row.place);
    if (row.place > places.size()) return io.fail();
    highest = std::max<uint64_t>(highest, row.place);
  }
  io.end_column();

  std::vector<uint64_t> functions(profile::Profile::kMaxLocations + 1);  // the last, by depth
  for (Place& row : places) {
    const uint64_t id = functions[row.depth] = io.near(functions[row.depth], row.function.value);
    if (id >= limits.functions) return io.fail();
    row.function = profile::FunctionId(id);
  }
  io.end_column();
  NumberMap<uint64_t> files, lines;  // the last of each function; files: plus one
  uint64_t last_file = 0;
  for (Place& row : places) {
    uint64_t& file = files[row.function.value];
    if (file == 0) file = last_file;
    file = last_file = io.near(file, row.file.valid() ? uint64_t{row.file.value} + 1 : 0);
    if (file > limits.strings) return io.fail();
    row.file = file == 0 ? profile::StringId() : profile::StringId(file - 1);
  }
  io.end_column();
  for (Place& row : places) {
    uint64_t& line = lines[row.function.value];
    line = io.near(line, row.line);
    row.line = static_cast<uint32_t>(line);
  }
  io.end_column();
  for (Place& row : places) {
    const uint8_t origin = io.byte(static_cast<uint8_t>(static_cast<unsigned>(row.source) << 1 | (row.inlined ? 1U : 0U)));
    if (origin >> 1 > static_cast<uint8_t>(profile::kLastNameSource)) return io.fail();
    row.source = static_cast<profile::NameSource>(origin >> 1);
    row.inlined = (origin & 1) != 0;
  }
  io.end_column();
}

}  // namespace cicada::sink
