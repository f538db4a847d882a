// SPDX-License-Identifier: Apache-2.0
#include "profile/synthetic_profile_for_test.h"

#include <algorithm>
#include <cmath>
#include <random>

namespace cicada::profile {

std::span<const std::string> hostile_names() {
  static const std::string names[] = {
      "semi;colon", "new\nline\r", "\"double\" 'single' \\back", "</script><script>alert(1)</script>", "]]><!--&amp;&lt;",
      "invalid \xff\xfe utf-8 \xc3", std::string("nul \0 inside", 12), "tab\tand\x01" "control\x7f", "%3B;%", "\u2028\u2029 line separators",
      std::string(100000, 'N'), "trailing space 42", " ", "{\"json\":[1]}", "operator<<(std::ostream&, foo<bar, 'x'> const&)",
  };
  return names;
}

namespace {

class Maker {
 public:
  explicit Maker(const SyntheticOptions& options) : options_(options), random_(options.seed) {}

  Profile make() {
    make_header();
    make_frames();
    make_stacks();
    make_threads();
    make_samples();
    return std::move(profile_);
  }

 private:
  size_t below(size_t end) { return std::uniform_int_distribution<size_t>(0, end - 1)(random_); }
  std::string name(std::string_view prefix, size_t i) const {
    if (options_.hostile_names && i < hostile_names().size()) return hostile_names()[i];
    return fmt::format("{}_{}", prefix, i);
  }

  void make_header() {
    Header& header = profile_.header;
    header.host = "synthetic";
    header.kernel = "6.1.0";
    header.architecture = "x86_64";
    header.cicada_version = "0";
    header.command = {"cicada", "record"};
    header.events[0] = {.period = 10101010, .frequency_hz = 99, .sample_ns = 10101010, .fired = options_.samples, .counts = {{"stored", options_.samples, true}}};
    header.start_realtime_ns = 1700000000000000000;
    header.start_monotonic_ns = 1000000000;
    header.cpu_count = options_.cpus;
    header.end_reasons = {{"outermost frame", options_.samples, false}};
  }

  void make_frames() {
    for (size_t i = 0; i < 8; ++i)
      images_.push_back(profile_.intern_image({profile_.intern(fmt::format("/usr/lib/lib{}.so", name("image", i))), profile_.intern(fmt::format("{:040x}", i + 1)),
                                               i == 0 ? ImageKind::kExecutable : ImageKind::kLibrary}));
    const ImageId kernel = profile_.intern_image({profile_.intern("[kernel]"), {}, ImageKind::kKernel});
    for (size_t i = 0; i < options_.functions; ++i) {
      const bool in_kernel = i % 10 == 9;
      const ImageId image = in_kernel ? kernel : images_[below(images_.size())];
      const FunctionId function = profile_.intern_function({profile_.intern(name("function", i)), {}, image});
      const FunctionId inlined = profile_.intern_function({profile_.intern(name("inlined", i)), {}, image});
      const StringId file = profile_.intern(name("/src/file", i % 20));
      for (size_t site = 0; site < 3; ++site) {
        Frame frame;
        frame.kind = in_kernel ? FrameKind::kKernel : FrameKind::kNative;
        frame.image = in_kernel ? ImageId() : image;
        frame.address = (in_kernel ? 0xffffffff81000000 : 0x1000) + i * 0x100 + site * 0x10;
        frames_.push_back(profile_.intern_frame(frame));
        const auto line = static_cast<uint32_t>(10 + site);
        const Location locations[] = {{inlined, file, line, true, NameSource::kDwarf}, {function, file, line, false, NameSource::kSymtab}};
        if (i % 7 != 6) profile_.set_locations(frames_.back(), std::span(locations).subspan(i % 4 == 0 && site == 0 ? 0 : 1));
      }
    }
  }

  // Each stack grows out of a random earlier one: a tree of calls with common roots.
  void make_stacks() {
    stacks_.push_back(profile_.intern_stack({}, frames_[0]));
    while (stacks_.size() < options_.stacks) {
      StackId stack = stacks_[below(stacks_.size())];
      while (stack.valid() && profile_.stacks()[stack.value].depth + 4 > options_.depth) stack = profile_.stacks()[stack.value].parent;
      for (size_t i = 1 + below(6); i-- > 0;) stack = profile_.intern_stack(stack, frames_[below(frames_.size())]);
      stacks_.push_back(stack);
    }
  }

  void make_threads() {
    for (unsigned p = 0; p < options_.processes; ++p) {
      const auto pid = static_cast<Pid>(1000 + p * 100);
      const ProcessId process = profile_.intern_process(pid, 5000000 + p);
      profile_.edit_process(process, [&](auto& row) { row.name = profile_.intern(name("process", p)); });
      profile_.edit_process(process, [&](auto& row) { row.cmdline = profile_.intern("/bin/x --flag"); });
      profile_.edit_process(process, [&](auto& row) { row.cgroup = profile_.intern(fmt::format("/system.slice/{}.service", p % 2)); });
      for (unsigned t = 0; t < options_.threads; ++t) {
        threads_.push_back(profile_.intern_thread(process, static_cast<Tid>(pid + static_cast<Pid>(t))));
        profile_.edit_thread(threads_.back(), [&](auto& row) { row.name = profile_.intern(name("thread", p + t)); });
      }
    }
  }

  void make_samples() {
    std::normal_distribution<double> jitter(0, 3000);
    std::exponential_distribution<double> rarity(8.0);
    ThreadId thread = threads_[0];
    uint64_t time = profile_.header.start_monotonic_ns;
    for (size_t i = 0; i < options_.samples; ++i) {
      const auto cpu = static_cast<uint16_t>(i % options_.cpus);
      if (cpu == 0) time += profile_.header.events[0].period;
      if (below(10) == 0) thread = threads_[below(threads_.size())];
      const double at = std::min(rarity(random_), 0.999999);
      Sample sample;
      sample.time_ns = time + uint64_t{cpu} * 1000000 + static_cast<uint64_t>(std::abs(jitter(random_)));
      sample.thread = thread;
      sample.stack = below(50) == 0 ? StackId() : pick_stack(thread, at);
      sample.cpu = cpu;
      sample.in_kernel = below(20) == 0;
      sample.end_reason = END_OUTERMOST;
      profile_.append_sample(sample);
    }
    profile_.header.duration_ns = time - profile_.header.start_monotonic_ns + profile_.header.events[0].period;
  }

  // A process runs its own program: an equal part of all stacks. `at`: 0 (hot) … 1 (rare).
  StackId pick_stack(ThreadId thread, double at) const {
    const size_t part = std::max<size_t>(1, stacks_.size() / options_.processes);
    const size_t first = profile_.threads()[thread.value].process.value * part;
    return stacks_[std::min(stacks_.size() - 1, first + static_cast<size_t>(at * static_cast<double>(part)))];
  }

  SyntheticOptions options_;
  std::mt19937 random_;
  Profile profile_;
  std::vector<ImageId> images_;
  std::vector<FrameId> frames_;
  std::vector<StackId> stacks_;
  std::vector<ThreadId> threads_;
};

}  // namespace

Profile make_synthetic_profile(const SyntheticOptions& options) { return Maker(options).make(); }

}  // namespace cicada::profile
