// SPDX-License-Identifier: Apache-2.0
#include "sink/flamegraph/html.h"

#include "profile/stack_totals.h"
#include "sink/file_sink.h"
#include "sink/flamegraph/svg_text.h"
#include "sink/flamegraph/viewer/assets.h"
#include "sink/gzip.h"

namespace cicada::sink {
namespace {

using profile::CallTree;
using profile::ProfileSnapshot;

void append_page(const Caption& caption, const std::string& json, std::string& out) {
  out += kReportBeforeTitle;
  out += xml_text(caption.title);
  out += kReportBeforeFormats;
  out += kReportBeforeProfile;
  out += json;
  out += kReportBeforeViewer;
  out += gzip_text(kReportScript);
  out += kReportEnd;
}

std::string report_json(const ProfileSnapshot& profile, const CallTree& tree, std::span<const uint32_t> leaf_of_sample, const Caption& caption,
                        const std::vector<Annotation>& annotations = {}) {
  PackedProfile packed(tree);
  packed.add_samples(profile, leaf_of_sample);
  packed.add_annotations(annotations);
  return packed.json(caption, has_times(profile) ? profile.header.duration_ns / 1000 : 0);
}

class HtmlSink : public FileSink {
 public:
  using FileSink::FileSink;

 private:
  // One event: its data; several: an array of them, among which the page has a switch.
  void write(const ProfileSnapshot& profile, OutputFile& file) override {
    profile::CallTreeOptions options = options_.tree;
    options.states = true;
    const std::vector<profile::EventId> events = options.event ? std::vector{*options.event} : sampled_events(profile);
    std::string all;
    for (const profile::EventId event : events) {
      options.event = event;
      std::vector<uint32_t> leaf;
      const CallTree tree = profile::build_call_tree(profile, options, &leaf);
      all += (all.empty() ? "" : ",") + report_json(profile, tree, leaf, make_caption(profile, title(profile), event),
                                                   options_.annotate ? options_.annotate(profile, options) : std::vector<Annotation>());
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
  PackedProfile packed(tree);
  packed.add_values(&baseline);
  append_page(caption, packed.json(caption), out);
}

std::string live_page_html(std::string_view title, const std::span<const Format> formats) {
  std::string out(kLiveBeforeTitle);
  out += xml_text(title);
  out += kLiveBeforeFormats;
  for (const Format& format : formats) out += fmt::format("<option value=\"{0}\">{0}</option>", xml_text(format.extension));
  out += kLiveBeforeProfile;
  out += "{}";
  out += kLiveBeforeViewer;
  out += gzip_text(kLiveScript);
  return out += kLiveEnd;
}
std::string_view live_page_policy() { return kLivePolicy; }

std::unique_ptr<profile::Sink> make_html_sink(std::string path, const SinkOptions& options) {
  return std::make_unique<HtmlSink>(std::move(path), options, "report");
}

}  // namespace cicada::sink
