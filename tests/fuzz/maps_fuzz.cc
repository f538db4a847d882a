// SPDX-License-Identifier: Apache-2.0
// module: process
// /proc texts that a process can influence: maps (file names), stat (comm), mountinfo (paths), and CPU lists. What is parsed is also cut into blocks:
// the entries must be ascending and disjoint, or the cutting would abort.
#include <cstdlib>

#include "base/cpu_list.h"
#include "process/tracking/address_blocks.h"
#include "process/procfs/maps_file.h"
#include "process/procfs/proc_fs.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace cicada;
  using namespace cicada::process;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const MapsFile file = parse_maps(text, MapsFilter::kAll);
  std::vector<Range<RuntimeAddr>> ranges;
  for (const MapsEntry& entry : file.entries) ranges.push_back(entry.range);
  const auto minimal = minimal_blocks(ranges);
  if (minimal.size() > exact_blocks(ranges).size()) std::abort();
  if (parse_maps(text, MapsFilter::kExecutable).entries.size() > file.entries.size() + file.malformed_lines) std::abort();
  if (const auto stat = find_stat(text); stat && stat->comm.size() > size) std::abort();
  if (const int hidepid = find_hidepid(text); hidepid != 0 && hidepid != 1 && hidepid != 2 && hidepid != 4) std::abort();
  if (const auto cpus = parse_cpu_list(text.substr(0, 64), "cpus"); cpus && cpus->size() > (1u << 22)) std::abort();
  return 0;
}
