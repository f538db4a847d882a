// SPDX-License-Identifier: Apache-2.0
// What `-e` can name: events, tracepoints, functions of the kernel and of programs, USDT probes, by pattern. Threads: any.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "base/process_key.h"
#include "base/result.h"
#include "bpf_source/image_reader.h"

namespace cicada::bpf_source {

struct ProbeQuestion {
  std::string pattern;    // as after -e, without terms; * and ? also where -e takes none
  std::vector<Pid> pids;  // whose files are looked into; empty: those of all processes, if the pattern names a file
  size_t most = 1000;     // that are listed
};

struct ListedProbe {
  std::string event;  // as -e takes it
  std::string kind;   // "event", "tracepoint", "kernel function", "function", "USDT probe"
  std::string more;   // which numbers it hands over, or where it is; for people
};

struct ProbeList {
  std::vector<ListedProbe> probes;
  uint64_t matches = 0;            // all
  std::vector<std::string> notes;  // what was not looked at, or is left out, and why
};

// Fails: kInvalid (no pattern), kPermission.
Result<ProbeList> list_probes(const ProbeQuestion& question, std::shared_ptr<ImageReader> reader);

}  // namespace cicada::bpf_source
