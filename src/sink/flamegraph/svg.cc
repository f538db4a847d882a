// SPDX-License-Identifier: Apache-2.0
// The file holds the data once, packed, for the script, and the picture of the whole for everyone without one. A frame
// costs about 5 bytes packed and 130 in the picture, so the picture has only what is wider than half a pixel.
//
// The picture's colours and fonts are attributes, which every program that draws SVG knows. The style sheet refines them where variables and
// the reader's dark colours are known: in browsers.
#include "sink/flamegraph/svg.h"

#include <algorithm>
#include <cmath>

#include "sink/file_sink.h"
#include "sink/flamegraph/palette.h"
#include "sink/flamegraph/svg_text.h"
#include "sink/flamegraph/viewer/assets.h"
#include "sink/gzip.h"

namespace cicada::sink {
namespace {

using profile::CallNode;
using profile::CallTree;

constexpr double kWidth = 1200, kMargin = 12, kRow = 18, kTop = 132;
constexpr double kLetter = 6.65;       // width of a letter of the frames' font, in pixels
constexpr double kNarrowestDrawn = 0.5;
constexpr double kNarrowestKept = 0.05;
constexpr size_t kMaxDepth = 1400;     // 1,024 user frames, inlined calls, the kernel's

class Drawing {
 public:
  Drawing(const CallTree& tree, const Caption& caption, const Baseline* baseline, const ShortNames& names, std::string& out)
      : tree_(tree), caption_(caption), baseline_(baseline), names_(names), out_(out) {}

  void append() {
    select();
    const double height = kTop + (deepest_drawn_ + 1) * kRow + kMargin;
    out_ += fmt::format(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\" version=\"1.1\" width=\"{0}\" "
        "height=\"{1}\" viewBox=\"0 0 {0} {1}\">\n<title>{2}</title>\n<style>{3}</style>\n",
        kWidth, height, xml_text(caption_.title), kSvgStyle);
    out_ += fmt::format("<g id=\"picture\" font-family=\"sans-serif\" font-size=\"12\" fill=\"#68738a\">\n<rect id=\"paper\" width=\"{}\" height=\"{}\" fill=\"#fff\"/>\n",
                        kWidth, height);
    append_words();
    append_legend();
    append_frames();
    out_ += "</g>\n";
    append_data();
    out_ += fmt::format("<script type=\"text/plain\" id=\"viewer\">{}</script>\n<script><![CDATA[{}]]></script>\n</svg>\n", gzip_text(kSvgScript), kBootScript);
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
      const double width = tree_.total() == 0 ? 0 : static_cast<double>(total(at)) / static_cast<double>(tree_.total()) / pixel;
      if (kept_[at] && width >= kNarrowestDrawn) deepest_drawn_ = std::max(deepest_drawn_, depth_[at]);
    }
  }

  void append_words() {
    out_ += fmt::format("<text id=\"title\" x=\"{}\" y=\"32\" font-size=\"18\" font-weight=\"600\" fill=\"#1b2130\">{}</text>\n", kMargin, xml_text(shortened(caption_.title, 72)));
    std::string notes;
    for (const std::string& note : caption_.notes) notes += (notes.empty() ? "" : " · ") + note;
    if (tree_.total() == 0) notes += notes.empty() ? "no samples" : " · no samples";
    out_ += fmt::format("<text x=\"{}\" y=\"56\">{}</text>\n", kMargin, xml_text(caption_.subtitle));
    out_ += fmt::format("<text x=\"{}\" y=\"74\">{}</text>\n", kMargin, xml_text(shortened(notes, 190)));
  }

  // Which colour is what, and how much of the time was spent there itself. What ended a wait counts as that wait.
  void append_legend() {
    out_ += "<g id=\"legend\">";
    double x = kMargin;
    const auto swatch = [&](std::string_view fill, const std::string& text) {
      out_ += fmt::format("<rect fill=\"{}\" x=\"{:.0f}\" y=\"88\" width=\"12\" height=\"12\" rx=\"3\"/><text x=\"{:.0f}\" y=\"98\">{}</text>",
                          fill, x, x + 17, xml_text(text));
      x += 17 + 6.4 * static_cast<double>(text.size()) + 20;
    };
    if (baseline_ != nullptr) {
      swatch(heat_colour(kHeatSteps - 1), "more than before");
      swatch(heat_colour(0), "less than before");
    } else {
      std::vector<uint64_t> of_state(tree_.states.size() + 1), of_kind(kKinds.size());
      std::vector<uint8_t> waited(tree_.nodes.size());
      std::vector<bool> wakes(kKinds.size());
      for (size_t at = 1; at < tree_.nodes.size(); ++at) {
        const CallNode& node = tree_.nodes[at];
        const auto kind = static_cast<size_t>(node.kind);
        const uint8_t own = tree_.state_of_node.empty() ? 0 : tree_.state_of_node[at];
        waited[at] = own != 0 ? own : waited[node.parent];
        (waited[at] != 0 ? of_state[waited[at]] : of_kind[kind]) += node.self;
        if (own == 0 && waited[at] != 0 && node.self != 0 && node.kind != profile::NodeKind::kMarker) wakes[kind] = true;
      }
      for (size_t state = 1; state < of_state.size(); ++state) {
        const std::string_view name = tree_.text(tree_.states[state - 1]);
        if (of_state[state] != 0) swatch(style_of_state(name).shades[0], percent_text(name, of_state[state]));
      }
      for (size_t kind = 2; kind < kKinds.size(); ++kind) {
        if (of_kind[kind] != 0) swatch(kKinds[kind].shades[0], percent_text(kKinds[kind].text, of_kind[kind]));
        else if (wakes[kind]) swatch(kKinds[kind].shades[0], fmt::format("{} of wakers", kKinds[kind].text));
      }
    }
    out_ += "</g>\n";
  }

  std::string percent_text(std::string_view name, uint64_t value) const {
    return fmt::format("{} {:.1f} %", name, 100 * static_cast<double>(value) / static_cast<double>(tree_.total()));
  }

  void append_frames() {
    out_ += "<g id=\"frames\" font-family=\"monospace\" font-size=\"11\" fill=\"#1b1b1f\">\n";
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
    out_ += fmt::format("<rect fill=\"{}\" x=\"{:.1f}\" y=\"{}\" width=\"{:.1f}\" height=\"17\"/>", colour(at), x, y, width > 3 ? width - 0.8 : width);
    const double letters = std::floor((width - 7) / kLetter);
    if (letters >= 2) {
      std::string label = shortened(text_of(at), static_cast<size_t>(letters));
      if (label != text_of(at)) label = shortened(names_.of(text_of(at)), static_cast<size_t>(letters));
      out_ += fmt::format("<text x=\"{:.1f}\" y=\"{}\">{}</text>", x + 4, y + 12.5, xml_text(label));
    }
    out_ += '\n';
  }

  std::string colour(uint32_t at) const {
    if (baseline_ != nullptr)
      return heat_colour(heat_step(static_cast<double>(total(at)), static_cast<double>(baseline_->total[at]), baseline_->after(tree_), baseline_->before()));
    return std::string(colour_of(tree_, style_of(tree_, at)));
  }

  std::string_view text_of(uint32_t at) const { return at == 0 ? "all" : tree_.text(tree_.nodes[at].name); }

  void append_data() {
    PackedProfile packed(tree_, kept_);
    packed.add_values(baseline_);
    out_ += fmt::format("<script type=\"application/json\" id=\"profile\">{}</script>\n", packed.json(caption_));
  }

  const CallTree& tree_;
  const Caption& caption_;
  const Baseline* baseline_;
  const ShortNames& names_;
  std::string& out_;
  std::vector<bool> kept_;
  std::vector<uint32_t> depth_;
  uint32_t deepest_drawn_ = 0;
};

class SvgSink : public FileSink {
 public:
  using FileSink::FileSink;

 private:
  void write(const profile::ProfileSnapshot& profile, OutputFile& file) override {
    profile::CallTreeOptions options = options_.tree;
    options.states = true;
    const CallTree tree = profile::build_call_tree(profile, options);
    ShortNames names;
    names.add(profile);
    std::string out;
    append_flame_graph_svg(tree, make_caption(profile, title(profile)), nullptr, out, names);
    file.write(out);
  }
};

}  // namespace

void append_flame_graph_svg(const CallTree& tree, const Caption& caption, const Baseline* baseline, std::string& out, const ShortNames& names) {
  CHECK(baseline == nullptr || (baseline->total.size() == tree.nodes.size() && !tree.nodes.empty()));
  Drawing(tree, caption, baseline, names, out).append();
}

std::unique_ptr<profile::Sink> make_svg_sink(std::string path, const SinkOptions& options) {
  return std::make_unique<SvgSink>(std::move(path), options, "flame graph");
}

}  // namespace cicada::sink
