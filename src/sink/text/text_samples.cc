// SPDX-License-Identifier: Apache-2.0
// Every sample as text, leaf first, in the layout of `perf script`, so that scripts written for that read this:
//
//   make 4711/4712 [003] 12.345678901: 10101010 cpu-clock:
//           55d0c0de1234 parse_rule (/usr/bin/make)
#include <algorithm>
#include <numeric>
#include <vector>

#include "base/clean_text.h"
#include "profile/completeness.h"
#include "profile/frame_text.h"
#include "profile/kernel_context.h"
#include "profile/stack_totals.h"
#include "sink/file_sink.h"
#include "sink/formats.h"

namespace cicada::sink {
namespace {

// Why a user stack is not whole, behind the colon where perf script has nothing; empty if it is.
std::string incomplete(uint8_t reason) {
  if (reason == END_NONE || reason >= profile::kEndReasons.size() || profile::kEndReasons[reason].complete) return {};
  return fmt::format(" (incomplete: {})", profile::kEndReasons[reason].text);
}

// What stands for the image of code that is in none. Markers without code are of the kernel's context ("[softirq: rcu]").
std::string_view place_without_image(profile::FrameKind kind) {
  switch (kind) {
    case profile::FrameKind::kJit: return "[jit]";
    case profile::FrameKind::kKernel:
    case profile::FrameKind::kLabel: return "[kernel]";
    case profile::FrameKind::kNative:
    case profile::FrameKind::kUnknown: break;
  }
  return "[unknown]";
}

using profile::Profile;
using profile::ProfileSnapshot;

class TextSamplesSink : public FileSink {
 public:
  using FileSink::FileSink;

 private:
  void write(const ProfileSnapshot& profile, OutputFile& file) override {
    lines_.assign(profile.frames().size(), {});
    profile::KernelContexts contexts(profile);
    std::vector<uint64_t> factors;
    for (const profile::Event& event : profile.header.events) factors.push_back(profile::value_unit(event).factor);
    for (const profile::SampleIndex i : in_time_order(profile)) {
      if (file.failed()) break;
      const profile::Sample sample = profile.sample(i);
      // A line says its event: all of them are shown, unless one is asked for.
      if (!is_wanted(profile, options_.tree, options_.tree.event.value_or(sample.event), i)) continue;
      const profile::Thread& thread = profile.threads()[sample.thread.value];
      const profile::Process& process = profile.processes()[thread.process.value];
      file.write(fmt::format("{} {}/{} [{:03}] {}.{:09}: {} {}:{}\n", clean_text(profile.text(thread.name.valid() ? thread.name : process.name)),
                             std::max(0, process.pid), std::max(0, thread.tid), sample.cpu, sample.time_ns / 1000000000, sample.time_ns % 1000000000,
                             sample.value * factors[sample.event.value], clean_text(profile.event(sample.event).name), incomplete(sample.end_reason)));
      const auto context = contexts.find(sample.stack);
      for (profile::StackId stack = sample.stack; stack.valid(); stack = profile.stacks()[stack.value].parent) {
        file.write(lines(profile, profile.stacks()[stack.value].frame));
        if (context && stack == context->entry) file.write(fmt::format("\t{:>16x} {} ([kernel])\n", 0, context->text));
      }
      for (size_t g = options_.tree.group_by.size(); g-- > 0;)
        file.write(fmt::format("\t{:>16x} {} ([group])\n", 0, clean_text(group_text(profile, options_.tree.group_by[g], sample))));
      file.write('\n');
    }
  }

  // The kernel hands samples out by CPU, so those of two CPUs may arrive in turns of a few microseconds: scripts subtract times.
  static std::vector<profile::SampleIndex> in_time_order(const ProfileSnapshot& profile) {
    const auto& time_ns = profile.samples().time_ns;
    std::vector<profile::SampleIndex> order(time_ns.size());
    std::iota(order.begin(), order.end(), profile::SampleIndex{0});
    const auto earlier = [&](profile::SampleIndex a, profile::SampleIndex b) { return time_ns[a] < time_ns[b]; };
    if (!std::is_sorted(order.begin(), order.end(), earlier)) std::stable_sort(order.begin(), order.end(), earlier);
    return order;
  }

  // The lines of a frame, made once, or each time where so many are in hundreds of inlined calls.
  const std::string& lines(const ProfileSnapshot& profile, profile::FrameId id) {
    std::string& text = lines_[id.value];
    if (!text.empty()) return text;
    std::string made = make_lines(profile, id);
    if (kept_bytes_ + made.size() > kMaxKeptBytes) return made_ = std::move(made);
    kept_bytes_ += made.size();
    return text = std::move(made);
  }

  std::string make_lines(const ProfileSnapshot& profile, profile::FrameId id) const {
    std::string text;
    const profile::Frame& frame = profile.frames()[id.value];
    if (!options_.tree.kernel_frames && node_kind(profile, id, profile.place(id)) == profile::NodeKind::kKernel) return text;
    profile::PlaceId place = profile.place(id);
    do {
      const bool inlined = place.valid() && profile.places()[place.value].inlined;
      if (inlined && !options_.tree.expand_inlined) continue;
      const profile::ImageId image = image_of(profile, id, place);
      const std::string_view path = image.valid() ? profile.text(profile.images()[image.value].path) : place_without_image(frame.kind);
      text += fmt::format("\t{:>16x} {} ({})\n", frame.address, clean_text(frame_name(profile, id, place)), inlined ? "inlined" : clean_text(path));
    } while ((place = profile.outer(place)).valid());
    return text;
  }

  static constexpr size_t kMaxKeptBytes = 64 << 20;

  std::vector<std::string> lines_;  // by frame
  size_t kept_bytes_ = 0;
  std::string made_;
};

}  // namespace

std::unique_ptr<profile::Sink> make_text_samples_sink(std::string path, const SinkOptions& options) {
  return std::make_unique<TextSamplesSink>(std::move(path), options, "samples as text");
}

}  // namespace cicada::sink
