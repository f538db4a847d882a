// SPDX-License-Identifier: Apache-2.0
// A profile as the scripts of a page read it (docs/viewer.md has the layout; viewer/profile_data.js reads it): JSON with a
// payload of tables and columns of LEB128 numbers, gzip, base64: 3-4 bytes a sample and a node where JSON numbers take 20,
// and base64 has no byte that could close a <script>.
//
//   PackedProfile packed(tree);
//   packed.add_samples(profile, leaf_of_sample);
//   out += packed.json(caption, duration_us);
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "profile/call_tree.h"
#include "sink/flamegraph/annotation.h"
#include "sink/flamegraph/packed_nodes.h"
#include "sink/flamegraph/svg_caption.h"
#include "sink/recording/byte_writer.h"

namespace cicada::sink {

// The other side of a comparison: the tree holds the values after, this the values before, by node.
struct Baseline {
  std::vector<uint64_t> self, total;
  // What a share is a share of. Zero: the total of each side. Otherwise growth of everything is seen, too: both relate to the rate before.
  double whole_before = 0, whole_after = 0;

  double before() const { return whole_before > 0 ? whole_before : std::max<double>(1, static_cast<double>(total[0])); }
  double after(const profile::CallTree& tree) const { return whole_after > 0 ? whole_after : std::max<double>(1, static_cast<double>(tree.total())); }
};

// What a page knows of a process and of a thread: JSON.
std::string process_json(const profile::ProfileSnapshot& profile, const profile::Process& process);
std::string thread_json(const profile::ProfileSnapshot& profile, const profile::Thread& thread);

// What is said of one event: JSON with `more` in it ("\"key\":value,"). `payload`: as above, before it is packed.
// `states`: in which threads waited.
std::string page_json(const Caption& caption, const std::vector<std::string_view>& states, uint64_t duration_us, bool comparison, std::string_view more, std::string_view payload);

class PackedProfile {
 public:
  // `kept`: which nodes are packed, by index; a kept one's parent is kept. Empty: all. `tree` outlives this.
  explicit PackedProfile(const profile::CallTree& tree, std::vector<bool> kept = {});

  // One of the two. Samples are sorted by time, in microseconds since the first; `leaf` as build_call_tree gives it.
  void add_samples(const profile::ProfileSnapshot& profile, std::span<const uint32_t> leaf);
  void add_values(const Baseline* baseline);
  void add_annotations(const std::vector<Annotation>& annotations);

  std::string json(const Caption& caption, uint64_t duration_us = 0) const;

 private:
  bool keeps(uint32_t at) const { return kept_.empty() || kept_[at]; }

  const profile::CallTree& tree_;
  const std::vector<bool> kept_;
  PackedNodes nodes_;
  std::string processes_, threads_, annotations_, comparison_;
  ByteWriter columns_;
};

}  // namespace cicada::sink
