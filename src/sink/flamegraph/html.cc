// SPDX-License-Identifier: Apache-2.0
// The profile is packed as tables in JSON followed by columns of LEB128 numbers, gzip, base64: 3-4 bytes a sample and a node
// where JSON numbers take 20, and base64 has no byte that could close a <script>.
#include "sink/flamegraph/html.h"

#include <algorithm>
#include <unordered_map>

#include "base/seeded_hash.h"
#include "profile/stack_totals.h"
#include "sink/file_sink.h"
#include "sink/flamegraph/svg_text.h"
#include "sink/flamegraph/viewer/assets.h"
#include "sink/gzip.h"
#include "sink/recording/byte_writer.h"

namespace cicada::sink {
namespace {

using profile::CallNode;
using profile::CallTree;
using profile::Profile;
using profile::ProfileSnapshot;
using profile::StringId;

constexpr size_t kMaxNameBytes = 4096;  // one 100 kB C++ name must not fill the file; nobody reads further

void append_base64(std::string_view bytes, std::string& out) {
  static constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  out.reserve(out.size() + bytes.size() / 3 * 4 + 4);
  for (size_t i = 0; i < bytes.size(); i += 3) {
    const auto byte = [&](size_t k) { return i + k < bytes.size() ? static_cast<uint8_t>(bytes[i + k]) : 0U; };
    const uint32_t bits = byte(0) << 16 | byte(1) << 8 | byte(2);
    out += kDigits[bits >> 18];
    out += kDigits[bits >> 12 & 63];
    out += i + 1 < bytes.size() ? kDigits[bits >> 6 & 63] : '=';
    out += i + 2 < bytes.size() ? kDigits[bits & 63] : '=';
  }
}

class Packer {
 public:
  explicit Packer(const CallTree& tree) : tree_(tree) {
    index_of_tree_string_.assign(tree.strings.size() + 1, kUnset);
    name_index("");
  }

  void pack_nodes() {
    columns_.uleb128(std::max<size_t>(tree_.nodes.size(), 1));
    if (tree_.nodes.empty()) columns_.uleb128(0), columns_.uleb128(frame_index({}, true));
    for (uint32_t at = 0; at < tree_.nodes.size(); ++at) {
      columns_.uleb128(at - tree_.nodes[at].parent);
      columns_.uleb128(frame_index(tree_.nodes[at], at == 0));
    }
  }

  // Sorted by time, in microseconds since the first.
  void pack_samples(const ProfileSnapshot& profile, std::span<const uint32_t> leaf) {
    const profile::Samples& samples = profile.samples();
    std::vector<uint32_t> order;
    order.reserve(leaf.size());
    for (uint32_t i = 0; i < leaf.size(); ++i)
      if (leaf[i] != profile::kNoNode) order.push_back(i);
    const bool timed = has_times(profile);
    const auto earlier = [&](uint32_t a, uint32_t b) { return samples.time_ns[a] < samples.time_ns[b]; };
    if (!std::ranges::is_sorted(order, earlier)) std::ranges::stable_sort(order, earlier);
    columns_.uleb128(order.size());
    uint64_t before = 0;
    for (const uint32_t i : order) {
      const uint64_t start = std::min(profile.header.start_monotonic_ns == 0 ? ~uint64_t{0} : profile.header.start_monotonic_ns,
                                      samples.time_ns[order.front()]);
      const uint64_t time = timed ? (samples.time_ns[i] - start) / 1000 : 0;
      columns_.uleb128(time - before);
      before = time;
      columns_.uleb128(samples.thread[i].value);
      columns_.uleb128(leaf[i]);
      columns_.uleb128(profile.value(i));
      columns_.uleb128(samples.cpu[i]);
    }
    for (const profile::Process& process : profile.processes())
      processes_ += fmt::format("{}{{\"pid\":{},\"name\":{},\"cmdline\":{},\"cgroup\":{}}}", processes_.empty() ? "" : ",", process.pid,
                                json_text(profile.text(process.name)), json_text(shortened(profile.text(process.cmdline), 500)), json_text(shortened(profile.text(process.cgroup), 500)));
    for (const profile::Thread& thread : profile.threads())
      threads_ += fmt::format("{}{{\"process\":{},\"tid\":{},\"name\":{},\"main\":{}}}", threads_.empty() ? "" : ",",
                              static_cast<int64_t>(thread.process.valid() ? thread.process.value : -1), thread.tid,
                              json_text(profile.text(thread.name)), thread.main);
  }

  void pack_comparison(const Baseline& baseline) {
    columns_.uleb128(0);  // samples
    for (uint32_t at = 0; at < tree_.nodes.size(); ++at) {
      columns_.uleb128(tree_.nodes[at].self);
      columns_.uleb128(baseline.self[at]);
    }
  }

  std::string json(const Caption& caption, uint64_t duration_us, const Baseline* baseline) {
    const std::string tables = fmt::format("{{\"names\":[{}],\"frames\":[{}],\"processes\":[{}],\"threads\":[{}]}}", names_, frames_,
                                           processes_, threads_);
    std::string raw;
    for (int shift = 0; shift < 32; shift += 8) raw += static_cast<char>(tables.size() >> shift);
    raw += tables;
    raw += columns_.bytes();
    std::string notes;
    for (const std::string& note : caption.notes) notes += (notes.empty() ? "" : ",") + json_text(note);
    std::string out = fmt::format(
        "{{\"version\":1,\"title\":{},\"subtitle\":{},\"notes\":[{}],\"unit\":{},\"event\":{},\"duration_us\":{},\"comparison\":{},{}\"payload\":\"",
        json_text(caption.title), json_text(caption.subtitle), notes, json_text(caption.unit), json_text(caption.event), duration_us, baseline != nullptr,
        baseline == nullptr ? "" : fmt::format("\"wholes\":[{},{}],", baseline->after(tree_), baseline->before()));
    append_base64(gzip(raw), out);
    return out += "\"}";
  }

 private:
  static constexpr uint32_t kUnset = 0xffffffff;

  uint32_t name_index(const std::string& text) {
    const auto [entry, fresh] = name_index_.emplace(text, static_cast<uint32_t>(name_index_.size()));
    if (fresh) names_ += (names_.empty() ? "" : ",") + json_text(text);
    return entry->second;
  }
  uint32_t name_index(StringId id) {
    if (!id.valid()) return 0;
    uint32_t& index = index_of_tree_string_[id.value];
    if (index == kUnset) index = name_index(shortened(tree_.text(id), kMaxNameBytes));
    return index;
  }

  uint32_t frame_index(const CallNode& node, bool root) {
    const uint32_t name = root ? name_index("all") : name_index(node.name), image = name_index(node.image);
    int64_t where = -1;
    if (node.file.valid() && !tree_.text(node.file).empty())
      where = name_index(node.line == 0 ? std::string(tree_.text(node.file)) : fmt::format("{}:{}", tree_.text(node.file), node.line));
    uint32_t hash = 2166136261U;
    for (const char c : tree_.text(node.name)) hash = (hash ^ static_cast<uint8_t>(c)) * 16777619U;
    const std::string key = fmt::format("{},{},{},{}", name, image, static_cast<uint32_t>(node.kind) << 2 | ((hash >> 13) & 3), where);
    const auto [entry, fresh] = frame_index_.emplace(key, static_cast<uint32_t>(frame_index_.size()));
    if (fresh) frames_ += (frames_.empty() ? "" : ",") + key;
    return entry->second;
  }

  const CallTree& tree_;
  std::vector<uint32_t> index_of_tree_string_;
  std::unordered_map<std::string, uint32_t, SeededHash> name_index_, frame_index_;
  std::string names_, frames_, processes_, threads_;
  ByteWriter columns_;
};

void append_page(const Caption& caption, const std::string& json, std::string& out) {
  out += kReportBeforeTitle;
  out += xml_text(caption.title);
  out += kReportBeforeProfile;
  out += json;
  out += kReportEnd;
}

std::string report_json(const ProfileSnapshot& profile, const CallTree& tree, std::span<const uint32_t> leaf_of_sample, const Caption& caption) {
  Packer packer(tree);
  packer.pack_nodes();
  packer.pack_samples(profile, leaf_of_sample);
  return packer.json(caption, has_times(profile) ? profile.header.duration_ns / 1000 : 0, nullptr);
}

class HtmlSink : public FileSink {
 public:
  using FileSink::FileSink;

 private:
  // One event: its data; several: an array of them, among which the page has a switch.
  void write(const ProfileSnapshot& profile, OutputFile& file) override {
    profile::CallTreeOptions options = options_.tree;
    const std::vector<profile::EventId> events = options.event ? std::vector{*options.event} : sampled_events(profile);
    std::string all;
    for (const profile::EventId event : events) {
      options.event = event;
      std::vector<uint32_t> leaf;
      const CallTree tree = profile::build_call_tree(profile, options, &leaf);
      all += (all.empty() ? "" : ",") + report_json(profile, tree, leaf, make_caption(profile, title(profile), event));
    }
    std::string out;
    append_page(make_caption(profile, title(profile), events.front()), events.size() == 1 ? all : "[" + all + "]", out);
    file.write(out);
  }
};

}  // namespace

void append_report_html(const ProfileSnapshot& profile, const CallTree& tree, std::span<const uint32_t> leaf_of_sample,
                        const Caption& caption, std::string& out) {
  append_page(caption, report_json(profile, tree, leaf_of_sample, caption), out);
}

void append_diff_report_html(const CallTree& tree, const Baseline& baseline, const Caption& caption, std::string& out) {
  CHECK(baseline.self.size() == tree.nodes.size() && !tree.nodes.empty());
  Packer packer(tree);
  packer.pack_nodes();
  packer.pack_comparison(baseline);
  append_page(caption, packer.json(caption, 0, &baseline), out);
}

std::unique_ptr<profile::Sink> make_html_sink(std::string path, const SinkOptions& options) {
  return std::make_unique<HtmlSink>(std::move(path), options, "report");
}

}  // namespace cicada::sink
