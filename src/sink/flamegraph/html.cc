// SPDX-License-Identifier: Apache-2.0
// The profile is packed as tables in JSON followed by columns of LEB128 numbers, gzip, base64: 3-4 bytes a sample and a node
// where JSON numbers take 20, and base64 has no byte that could close a <script>.
#include "sink/flamegraph/html.h"

#include <zlib.h>

#include <algorithm>
#include <unordered_map>

#include "base/seeded_hash.h"
#include "profile/stack_totals.h"
#include "sink/file_sink.h"
#include "sink/flamegraph/svg_text.h"
#include "sink/flamegraph/viewer/assets.h"

namespace cicada::sink {
namespace {

using profile::CallNode;
using profile::CallTree;
using profile::Profile;
using profile::ProfileSnapshot;
using profile::StringId;

constexpr size_t kMaxNameBytes = 4096;  // one 100 kB C++ name must not fill the file; nobody reads further

void append_number(std::string& out, uint64_t value) {
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  out += static_cast<char>(value);
}

std::string gzip_bytes(std::string_view bytes) {
  z_stream stream{};
  CHECK(deflateInit2(&stream, 4, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK);
  std::string out;
  std::string block(256 << 10, '\0');
  constexpr size_t kStep = size_t{1} << 30;  // avail_in has 32 bits
  int status = Z_OK;
  while (status != Z_STREAM_END) {
    const size_t step = std::min(bytes.size(), kStep);
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
    stream.avail_in = static_cast<uInt>(step);
    bytes.remove_prefix(step);
    do {
      stream.next_out = reinterpret_cast<Bytef*>(block.data());
      stream.avail_out = static_cast<uInt>(block.size());
      status = deflate(&stream, bytes.empty() ? Z_FINISH : Z_NO_FLUSH);
      out.append(block.data(), block.size() - stream.avail_out);
    } while (stream.avail_out == 0);
  }
  deflateEnd(&stream);
  return out;
}

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
    append_number(columns_, std::max<size_t>(tree_.nodes.size(), 1));
    if (tree_.nodes.empty()) append_number(columns_, 0), append_number(columns_, frame_index({}, true));
    for (uint32_t at = 0; at < tree_.nodes.size(); ++at) {
      append_number(columns_, at - tree_.nodes[at].parent);
      append_number(columns_, frame_index(tree_.nodes[at], at == 0));
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
    append_number(columns_, order.size());
    uint64_t before = 0;
    for (const uint32_t i : order) {
      const uint64_t start = std::min(profile.header.start_monotonic_ns == 0 ? ~uint64_t{0} : profile.header.start_monotonic_ns,
                                      samples.time_ns[order.front()]);
      const uint64_t time = timed ? (samples.time_ns[i] - start) / 1000 : 0;
      append_number(columns_, time - before);
      before = time;
      append_number(columns_, samples.thread[i].value);
      append_number(columns_, leaf[i]);
      append_number(columns_, profile.value(i));
      append_number(columns_, samples.cpu[i]);
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
    append_number(columns_, 0);  // samples
    for (uint32_t at = 0; at < tree_.nodes.size(); ++at) {
      append_number(columns_, tree_.nodes[at].self);
      append_number(columns_, baseline.self[at]);
    }
  }

  std::string json(const Caption& caption, uint64_t duration_us, const Baseline* baseline) {
    const std::string tables = fmt::format("{{\"names\":[{}],\"frames\":[{}],\"processes\":[{}],\"threads\":[{}]}}", names_, frames_,
                                           processes_, threads_);
    std::string raw;
    for (int shift = 0; shift < 32; shift += 8) raw += static_cast<char>(tables.size() >> shift);
    raw += tables;
    raw += columns_;
    std::string notes;
    for (const std::string& note : caption.notes) notes += (notes.empty() ? "" : ",") + json_text(note);
    std::string out = fmt::format(
        "{{\"version\":1,\"title\":{},\"subtitle\":{},\"notes\":[{}],\"unit\":{},\"event\":{},\"duration_us\":{},\"comparison\":{},{}\"payload\":\"",
        json_text(caption.title), json_text(caption.subtitle), notes, json_text(caption.unit), json_text(caption.event), duration_us, baseline != nullptr,
        baseline == nullptr ? "" : fmt::format("\"wholes\":[{},{}],", baseline->after(tree_), baseline->before()));
    append_base64(gzip_bytes(raw), out);
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
  std::string names_, frames_, processes_, threads_, columns_;
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
