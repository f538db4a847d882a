// SPDX-License-Identifier: Apache-2.0
// Functions, files and lines of the frames of a difference, for both directions (column_io.h). In the order of addresses neighbours are in the
// same function, or in the next one: three numbers that take 3.4 bytes a sample of compilers take 1.6.
#pragma once
#include <tuple>

#include "profile/profile.h"
#include "sink/recording/delta_tables.h"
#include "sink/recording/number_map.h"

namespace cicada::sink {

struct NamedFrame {
  profile::FrameId frame;
  size_t count = 0;  // of its locations
};

inline void sort_by_address(std::vector<NamedFrame>& rows, const profile::ProfileSnapshot& known) {
  const auto key = [&](const NamedFrame& row) {
    const profile::Frame& frame = known.frames()[row.frame.value];
    return std::tuple(frame.kind, frame.image, frame.address_space, frame.address, row.frame);
  };
  std::sort(rows.begin(), rows.end(), [&](const NamedFrame& a, const NamedFrame& b) { return key(a) < key(b); });
}

// `frames`: by id, each once; afterwards by address. `locations` are theirs, innermost first, in the order of addresses.
template <typename Io>
void code_names(Io& io, const profile::ProfileSnapshot& known, std::vector<NamedFrame>& frames, std::vector<profile::Location>& locations,
                const profile::SnapshotSizes& limits) {
  uint64_t next = 0;
  for (NamedFrame& row : frames) {
    const uint64_t id = next + io.number(row.frame.value - next);
    if (id < next || id >= limits.frames) return io.fail();
    row.frame = profile::FrameId(id);
    next = id + 1;
  }
  io.end_column();
  sort_by_address(frames, known);
  size_t all = 0;
  for (NamedFrame& row : frames) {
    row.count = io.number(row.count);
    if (row.count > profile::Profile::kMaxLocations) return io.fail();
    all += row.count;
  }
  io.end_column();
  if (io.count(all, sizeof(profile::Location)) != all) return io.fail();
  locations.resize(all);

  // Outermost first, so that a level is beside the same level of the frame before.
  const auto each = [&](auto visit) {
    size_t end = 0;
    for (const NamedFrame& row : frames) {
      end += row.count;
      for (size_t level = 0; level < row.count; ++level) visit(locations[end - 1 - level], level);
    }
    io.end_column();
  };
  std::vector<uint64_t> functions(profile::Profile::kMaxLocations);  // the last, by level
  each([&](profile::Location& row, size_t level) {
    const uint64_t id = functions[level] = io.near(functions[level], row.function.value);
    if (id >= limits.functions) io.fail();
    row.function = profile::FunctionId(id);
  });
  NumberMap<uint64_t> files, lines;  // the last of each function; files: plus one
  uint64_t last_file = 0;
  each([&](profile::Location& row, size_t) {
    uint64_t& file = files[row.function.value];
    if (file == 0) file = last_file;
    file = last_file = io.near(file, row.file.valid() ? uint64_t{row.file.value} + 1 : 0);
    if (file > limits.strings) io.fail();
    row.file = file == 0 ? profile::StringId() : profile::StringId(file - 1);
  });
  each([&](profile::Location& row, size_t) {
    uint64_t& line = lines[row.function.value];
    line = io.near(line, row.line);
    row.line = static_cast<uint32_t>(line);
  });
  each([&](profile::Location& row, size_t) {
    const uint8_t origin = io.byte(static_cast<uint8_t>(static_cast<unsigned>(row.source) << 1 | (row.inlined ? 1U : 0U)));
    if (origin >> 1 > static_cast<uint8_t>(profile::NameSource::kCallFrame)) io.fail();
    row.source = static_cast<profile::NameSource>(origin >> 1);
    row.inlined = (origin & 1) != 0;
  });
}

}  // namespace cicada::sink
