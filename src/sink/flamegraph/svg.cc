// SPDX-License-Identifier: Apache-2.0
// The file holds the data once, as columns, for the script, and the picture of the whole for everyone without one. A frame
// costs about 15 bytes in the columns and 100 in the picture, so the picture has only what is wider than half a pixel.
#include "sink/flamegraph/svg.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "base/seeded_hash.h"
#include "sink/file_sink.h"
#include "sink/flamegraph/svg_text.h"
#include "sink/flamegraph/viewer/assets.h"

namespace cicada::sink {
namespace {

using profile::CallNode;
using profile::CallTree;
using profile::NodeKind;
using profile::StringId;

constexpr double kWidth = 1200, kMargin = 12, kRow = 18, kTop = 132;
constexpr double kLetter = 6.65;       // width of a letter of the frames' font, in pixels
constexpr double kNarrowestDrawn = 0.5;
constexpr double kNarrowestKept = 0.05;
constexpr size_t kMaxNameBytes = 600;
constexpr size_t kMaxDepth = 1400;     // 1,024 user frames, inlined calls, the kernel's

struct KindStyle {
  char letter;  // of the style sheet's classes
  std::string_view text;
};
// In the order of profile::NodeKind.
constexpr KindStyle kKinds[] = {{'g', "all"},  {'g', "group"},       {'n', "native"}, {'l', "library"}, {'i', "inlined"},
                                {'j', "JIT"},  {'p', "interpreted"}, {'k', "kernel"}, {'m', "marker"},  {'u', "unknown"}};

class Drawing {
 public:
  Drawing(const CallTree& tree, const Caption& caption, const Baseline* baseline, std::string& out)
      : tree_(tree), caption_(caption), baseline_(baseline), out_(out) {}

  void append() {
    select();
    const double height = kTop + (deepest_drawn_ + 1) * kRow + kMargin;
    out_ += fmt::format(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\" version=\"1.1\" width=\"{0}\" "
        "height=\"{1}\" viewBox=\"0 0 {0} {1}\">\n<title>{2}</title>\n<style>{3}</style>\n",
        kWidth, height, xml_text(caption_.title), kSvgStyle);
    append_words();
    append_legend();
    append_frames();
    append_data();
    out_ += fmt::format("<script><![CDATA[{}]]></script>\n</svg>\n", kSvgScript);
  }

 private:
  uint64_t total(uint32_t at) const { return tree_.nodes[at].total; }
  double share(uint32_t at) const {
    const double after = tree_.total() == 0 ? 0 : static_cast<double>(total(at)) / static_cast<double>(tree_.total());
    if (baseline_ == nullptr || baseline_->total[0] == 0) return after;
    return std::max(after, static_cast<double>(baseline_->total[at]) / static_cast<double>(baseline_->total[0]));
  }

  // Chooses the nodes to keep: all that are wide enough, and of a very large tree the widest.
  void select() {
    if (tree_.nodes.empty()) return;
    const double pixel = 1 / (kWidth - 2 * kMargin);
    double least = kNarrowestKept * pixel;
    std::vector<double> shares(tree_.nodes.size());
    for (uint32_t at = 0; at < shares.size(); ++at) shares[at] = share(at);
    if (shares.size() > kMaxNodes) {
      std::vector<double> sorted = shares;
      std::nth_element(sorted.begin(), sorted.begin() + kMaxNodes, sorted.end(), std::greater<>());
      least = std::max(least, std::nextafter(sorted[kMaxNodes], 2.0));
    }
    kept_.assign(tree_.nodes.size(), false);
    depth_.assign(tree_.nodes.size(), 0);
    for (uint32_t at = 0; at < tree_.nodes.size(); ++at) {
      const uint32_t parent = tree_.nodes[at].parent;
      depth_[at] = at == 0 ? 0 : depth_[parent] + 1;
      kept_[at] = at == 0 || (kept_[parent] && shares[at] >= least && depth_[at] < kMaxDepth);
      omitted_ += !kept_[at];
      const double width = tree_.total() == 0 ? 0 : static_cast<double>(total(at)) / static_cast<double>(tree_.total()) / pixel;
      if (kept_[at] && width >= kNarrowestDrawn) deepest_drawn_ = std::max(deepest_drawn_, depth_[at]);
    }
  }

  void append_words() {
    out_ += fmt::format("<text id=\"title\" x=\"{}\" y=\"32\">{}</text>\n", kMargin, xml_text(shortened(caption_.title, 72)));
    std::string notes;
    for (const std::string& note : caption_.notes) notes += (notes.empty() ? "" : " · ") + note;
    if (tree_.total() == 0) notes += notes.empty() ? "no samples" : " · no samples";
    out_ += fmt::format("<text class=\"note\" x=\"{}\" y=\"56\">{}</text>\n", kMargin, xml_text(caption_.subtitle));
    out_ += fmt::format("<text class=\"note\" x=\"{}\" y=\"74\">{}</text>\n", kMargin, xml_text(shortened(notes, 190)));
  }

  // Which colour is what, and how much of the time was spent there itself.
  void append_legend() {
    out_ += "<g id=\"legend\">";
    double x = kMargin;
    const auto swatch = [&](std::string_view fill, const std::string& text) {
      out_ += fmt::format("<rect {} x=\"{:.0f}\" y=\"88\" width=\"12\" height=\"12\" rx=\"3\"/><text class=\"key\" x=\"{:.0f}\" y=\"98\">{}</text>",
                          fill, x, x + 17, text);
      x += 17 + 6.4 * static_cast<double>(text.size()) + 20;
    };
    if (baseline_ != nullptr) {
      swatch("style=\"fill:rgb(240,84,70)\"", "more than before");
      swatch("style=\"fill:rgb(84,132,240)\"", "less than before");
    } else {
      uint64_t self[std::size(kKinds)] = {};
      for (const CallNode& node : tree_.nodes) self[static_cast<size_t>(node.kind)] += node.self;
      for (size_t kind = 0; kind < std::size(kKinds); ++kind) {
        if (self[kind] == 0 || kind < 2) continue;
        const double percent = 100 * static_cast<double>(self[kind]) / static_cast<double>(tree_.total());
        swatch(fmt::format("class=\"{}0\"", kKinds[kind].letter), fmt::format("{} {:.1f} %", kKinds[kind].text, percent));
      }
    }
    out_ += "</g>\n";
  }

  void append_frames() {
    out_ += "<g id=\"frames\">\n";
    std::vector<uint64_t> start(tree_.nodes.size(), 0), used(tree_.nodes.size(), 0);
    if (tree_.total() != 0) {
      const double scale = (kWidth - 2 * kMargin) / static_cast<double>(tree_.total());
      profile::walk(
          tree_,
          [&](uint32_t at) {
            const CallNode& node = tree_.nodes[at];
            if (!kept_[at]) return;
            if (at != 0) {
              start[at] = start[node.parent] + used[node.parent];
              used[node.parent] += node.total;
            }
            const double width = static_cast<double>(node.total) * scale;
            if (width >= kNarrowestDrawn) append_frame(at, kMargin + static_cast<double>(start[at]) * scale, width);
          },
          [](uint32_t) {});
    }
    out_ += "</g>\n";
  }

  void append_frame(uint32_t at, double x, double width) {
    const double y = kTop + depth_[at] * kRow;
    const uint32_t style = style_of(tree_.nodes[at]);
    out_ += fmt::format("<rect class=\"{}{}\" x=\"{:.1f}\" y=\"{}\" width=\"{:.1f}\" height=\"17\"{}/>", kKinds[style >> 2].letter,
                        style & 3, x, y, width > 3 ? width - 0.8 : width, baseline_ != nullptr ? heat(at) : "");
    const double letters = std::floor((width - 7) / kLetter);
    if (letters >= 2)
      out_ += fmt::format("<text x=\"{:.1f}\" y=\"{}\">{}</text>", x + 4, y + 12.5,
                          xml_text(shortened(text_of(at), static_cast<size_t>(letters))));
    out_ += '\n';
  }

  // As heat(difference()) in svg.js.
  std::string heat(uint32_t at) const {
    const double after_all = baseline_->after(tree_), before_all = baseline_->before();
    const double a = static_cast<double>(total(at)) / after_all, b = static_cast<double>(baseline_->total[at]) / before_all;
    const double most = std::max(a, b), error = std::sqrt(a / after_all + b / before_all);
    const double d = most == 0 ? 0 : (a - b) / most * std::min(1.0, std::abs(a - b) / (error == 0 ? 1 : error) / 3);
    const auto mix = [&](double from, double to) { return std::lround(from + (to - from) * std::sqrt(std::abs(d))); };
    return d >= 0 ? fmt::format(" style=\"fill:rgb({},{},{})\"", mix(236, 240), mix(232, 84), mix(228, 70))
                  : fmt::format(" style=\"fill:rgb({},{},{})\"", mix(236, 84), mix(232, 132), mix(228, 240));
  }

  std::string_view text_of(uint32_t at) const { return at == 0 ? "all" : tree_.text(tree_.nodes[at].name); }

  // Four shades a kind, so that neighbours are told apart and a function keeps its shade from one picture to the next.
  uint32_t style_of(const CallNode& node) const {
    uint32_t hash = 2166136261U;
    for (const char c : tree_.text(node.name)) hash = (hash ^ static_cast<uint8_t>(c)) * 16777619U;
    return static_cast<uint32_t>(node.kind) << 2 | ((hash >> 13) & 3);
  }

  void append_data() {
    out_ += fmt::format("<script type=\"application/json\" id=\"data\">{{\"top\":{},\"unit\":{},\"omitted\":{},\"kinds\":[", kTop,
                        json_text(caption_.unit), omitted_);
    std::string classes;
    for (const KindStyle& kind : kKinds) {
      out_ += fmt::format("{}\"{}\"", &kind == kKinds ? "" : ",", kind.text);
      for (int shade = 0; shade < 4; ++shade) classes += fmt::format("{}\"{}{}\"", classes.empty() ? "" : ",", kind.letter, shade);
    }
    out_ += "],\"classes\":[" + classes + "]";
    Texts names, images;
    std::unordered_map<std::string, uint32_t, SeededHash> frame_index;
    std::string frames, depth, frame, totals, self, before;
    if (!kept_.empty())
      profile::walk(
          tree_,
          [&](uint32_t at) {
            if (!kept_[at]) return;
            const CallNode& node = tree_.nodes[at];
            const std::string file = node.file.valid() ? std::string(tree_.text(node.file)) : "";
            const auto where = file.empty() ? -1 : static_cast<int>(images.index(node.line == 0 ? file : fmt::format("{}:{}", file, node.line)));
            const std::string key = fmt::format("{},{},{},{}", names.index(std::string(shortened(text_of(at), kMaxNameBytes))),
                                                images.index(std::string(tree_.text(node.image))), style_of(node), where);
            const auto [entry, fresh] = frame_index.emplace(key, static_cast<uint32_t>(frame_index.size()));
            if (fresh) frames += (frames.empty() ? "" : ",") + key;
            const char* comma = depth.empty() ? "" : ",";
            depth += fmt::format("{}{}", comma, depth_[at]);
            frame += fmt::format("{}{}", comma, entry->second);
            totals += fmt::format("{}{}", comma, node.total);
            self += fmt::format("{}{}", comma, node.self);
            if (baseline_ != nullptr) before += fmt::format("{}{}", comma, baseline_->total[at]);
          },
          [](uint32_t) {});
    if (depth.empty()) {  // a tree without even a root
      names.index("all"), images.index("");
      frames = "0,0,0,-1", depth = frame = totals = self = "0";
      if (baseline_ != nullptr) before = "0";
    }
    out_ += fmt::format(",\"names\":[{}],\"images\":[{}],\"frames\":[{}],\"depth\":[{}],\"frame\":[{}],\"total\":[{}],\"self\":[{}]",
                        names.json(), images.json(), frames, depth, frame, totals, self);
    if (baseline_ != nullptr)
      out_ += fmt::format(",\"before\":[{}],\"wholes\":[{},{}]", before, tree_.nodes.empty() ? 1 : baseline_->after(tree_), tree_.nodes.empty() ? 1 : baseline_->before());
    out_ += "}</script>\n";
  }

  // Texts by first use.
  class Texts {
   public:
    uint32_t index(const std::string& text) {
      const auto [entry, fresh] = index_.emplace(text, static_cast<uint32_t>(index_.size()));
      if (fresh) json_ += (json_.empty() ? "" : ",") + json_text(text);
      return entry->second;
    }
    const std::string& json() const { return json_; }

   private:
    std::unordered_map<std::string, uint32_t, SeededHash> index_;
    std::string json_;
  };

  const CallTree& tree_;
  const Caption& caption_;
  const Baseline* baseline_;
  std::string& out_;
  std::vector<bool> kept_;
  std::vector<uint32_t> depth_;
  uint64_t omitted_ = 0;
  uint32_t deepest_drawn_ = 0;
};

class SvgSink : public FileSink {
 public:
  using FileSink::FileSink;

 private:
  void write(const profile::ProfileSnapshot& profile, OutputFile& file) override {
    const CallTree tree = profile::build_call_tree(profile, options_.tree);
    std::string out;
    append_flame_graph_svg(tree, make_caption(profile, title(profile)), nullptr, out);
    file.write(out);
  }
};

}  // namespace

void append_flame_graph_svg(const CallTree& tree, const Caption& caption, const Baseline* baseline, std::string& out) {
  CHECK(baseline == nullptr || (baseline->total.size() == tree.nodes.size() && !tree.nodes.empty()));
  Drawing(tree, caption, baseline, out).append();
}

std::unique_ptr<profile::Sink> make_svg_sink(std::string path, const SinkOptions& options) {
  return std::make_unique<SvgSink>(std::move(path), options, "flame graph");
}

}  // namespace cicada::sink
