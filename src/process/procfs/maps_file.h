// SPDX-License-Identifier: Apache-2.0
// Reads /proc/PID/maps.
//
//   7f3a1c000000-7f3a1c021000 r-xp 00001000 08:02 393449   /tmp/odd\012name (deleted)
//
// The kernel escapes newline as \012 and nothing else in this file, so a file really called 'a\012b' reads the same: names are for
// people, files are opened through /proc/PID/map_files. Blanks and ' (deleted)' at the end of a real name are equally ambiguous.
// Threads: any.
#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/address.h"
#include "base/process_key.h"
#include "base/result.h"
#include "process/images/file_identity.h"

namespace cicada::process {

struct MapsEntry {
  Range<RuntimeAddr> range;
  FileOffset offset;
  FileIdentity file;
  bool readable = false, writable = false, executable = false, shared = false;
  bool deleted = false;  // ' (deleted)' is taken off the path
  std::string path;      // unescaped; "[vdso]", "[heap]"; empty: anonymous
};

enum class MapsFilter : uint8_t { kAll, kExecutable };

struct MapsFile {
  std::vector<MapsEntry> entries;  // ascending, disjoint
  size_t malformed_lines = 0;      // skipped
};

// A process may have 65,530 mappings (vm.max_map_count) or, where root raised that, millions, and a name of 4 KiB for each: both bounds end the
// reading.
inline constexpr size_t kMaxMapsEntries = 1 << 20;
inline constexpr size_t kMaxMapsBytes = 32 << 20;

// Takes ' (deleted)' off the path.
bool take_deleted(std::string& path);
// Parses one line without its newline. Nothing: not a maps line.
std::optional<MapsEntry> find_maps_entry(std::string_view line);
MapsFile parse_maps(std::string_view text, MapsFilter filter);

// The same for a text that comes in parts, of which none need exist for long: a file of 60,000 mappings is 6 MB.
class MapsText {
 public:
  // `name` is what errors call it.
  MapsText(std::string name, MapsFilter filter) : name_(std::move(name)), filter_(filter) {}
  // Fails: kLimit.
  Result<void> append(std::string_view part);
  MapsFile finish();

 private:
  std::string name_;
  MapsFilter filter_;
  MapsFile file_;
  std::string cut_;  // the beginning of the next line
  size_t bytes_ = 0;
};
// Fails: kGone (no such process any more), kPermission, kLimit.
Result<MapsFile> read_maps(Pid pid, MapsFilter filter);

}  // namespace cicada::process
