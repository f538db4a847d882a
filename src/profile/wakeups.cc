// SPDX-License-Identifier: Apache-2.0
#include "profile/wakeups.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "profile/frame_text.h"
#include "profile/row_copier.h"
#include "profile/thread_state.h"

namespace cicada::profile {
namespace {

constexpr size_t kMostSteps = 100'000'000;  // looks at waits of wakers, and frames
constexpr double kLeastShare = 0.01;       // of a wait, that is followed further: else two that wait for each other make 2^N stacks

bool is_spent(const ProfileSnapshot& profile, size_t row, Spent spent) { return profile.event(profile.samples().event[row]).spent == spent; }

class ChainMaker {
 public:
  ChainMaker(const ProfileSnapshot& from, unsigned hops) : from_(from), wakeups_(from), hops_(hops), copier_(into_, from) { into_.header = from.header; }

  // Twice: what a waker waited meanwhile is known by those of its waits that were kept, each of which stands for others. So it is right on average, not in
  // each wait; what is left for the waker itself is known once all have been added up.
  Profile make() {
    go_through([](const Sample&) {});
    is_sum_known_ = true;
    go_through([&](const Sample& row) { into_.append_sample(row); });
    if (steps_ > kMostSteps) into_.header.warnings.push_back(fmt::format("wakers of wakers: more than {} looks; some stacks end at the first waker", kMostSteps));
    return std::move(into_);
  }

 private:
  template <typename Keep>
  void go_through(Keep keep) {
    steps_ = 0;
    for (size_t row = 0; row < from_.sample_count(); ++row) {
      if (is_spent(from_, row, Spent::kOthersWaiting)) continue;
      const std::optional<Wait> wait = wakeups_.find_wait(row);
      row_ = copier_.copy(from_.sample(row));
      if (wait && wait->wakeup) follow(row_.stack, {static_cast<double>(row_.value), 1}, wait->begin_ns, *wait->wakeup, hops_);
      else keep(row_);
    }
  }

  // Of a wait's time.
  struct Charge {
    double value = 0, share = 0;
  };

  // `at`: what waited from `begin_ns` to the wakeup.
  void follow(StackId at, Charge charge, uint64_t begin_ns, size_t wakeup, unsigned hops) {
    const ThreadId waker = from_.samples().thread[wakeup];
    at = append(mark(at, std::string(kWokenBy) + thread_name(from_, waker) + "]"), from_.samples().stack[wakeup]);
    double rest = 1, scale = 1;
    if (hops > 1 && steps_ <= kMostSteps) {
      const std::vector<Part>& parts = parts_of(waker, begin_ns, from_.samples().time_ns[wakeup], hops);
      Sums& sums = sums_[{row_.thread.value, row_.labels.valid() ? row_.labels.value : ~uint32_t{0}, at.value}];
      if (is_sum_known_) {
        scale = sums.waited > sums.all ? sums.all / sums.waited : 1;
        rest = 1 - scale * sums.waited / sums.all;
      } else {
        sums.all += charge.value;
        for (const Part& part : parts) sums.waited += charge.value * part.share;
      }
      for (const Part& part : parts) {
        const StackId waited = append(mark(at, kWhichWaited), from_.samples().stack[part.wait.row]);
        const Charge further{charge.value * part.share * scale, charge.share * part.share};
        if (part.wait.wakeup && further.share >= kLeastShare) follow(waited, further, std::max(part.wait.begin_ns, begin_ns), *part.wait.wakeup, hops - 1);
        else store(waited, further.value);
      }
    }
    store(at, charge.value * rest);
  }

  struct Part {
    Wait wait;
    double share = 0;
  };
  // What a thread waited in between, in shares of the time. The result is good until the next call with as many hops.
  const std::vector<Part>& parts_of(ThreadId thread, uint64_t begin_ns, uint64_t end_ns, unsigned hops) {
    std::vector<Part>& parts = parts_[hops];
    parts.clear();
    if (end_ns <= begin_ns) return parts;
    const std::span<const Wait> waits = wakeups_.waits_of(thread);
    auto at = std::partition_point(waits.begin(), waits.end(), [&](const Wait& wait) { return wait.end_ns <= begin_ns; });
    for (; at != waits.end() && at->begin_ns < end_ns && ++steps_ <= kMostSteps; ++at) {
      if (at->end_ns <= begin_ns) continue;  // of two recordings of one time they overlap
      const double overlap = static_cast<double>(std::min(at->end_ns, end_ns) - std::max(at->begin_ns, begin_ns));
      const double stands_for = std::max(1.0, static_cast<double>(from_.value(at->row)) / static_cast<double>(at->length_ns()));
      parts.push_back({*at, overlap / static_cast<double>(end_ns - begin_ns) * stands_for});
    }
    return parts;
  }

  StackId mark(StackId at, std::string_view text) {
    Frame frame;
    frame.kind = FrameKind::kLabel;
    frame.label = into_.intern(text);
    return into_.intern_stack(at, into_.intern_frame(frame));
  }

  StackId append(StackId at, StackId stack) {
    frames_.clear();
    steps_ += stack.valid() ? from_.stacks()[stack.value].depth : 0;
    for (; stack.valid(); stack = from_.stacks()[stack.value].parent) frames_.push_back(copier_.frame(from_.stacks()[stack.value].frame));
    std::reverse(frames_.begin(), frames_.end());
    return into_.intern_stack(at, frames_);
  }

  void store(StackId stack, double value) {
    row_.stack = stack;
    if (!is_sum_known_) return;
    row_.value = static_cast<uint64_t>(std::llround(std::max(0.0, value)));
    if (row_.value != 0) into_.append_sample(row_);
  }

  const ProfileSnapshot& from_;
  const Wakeups wakeups_;
  const unsigned hops_;
  Profile into_;
  RowCopier copier_;
  Sample row_;
  std::vector<FrameId> frames_;
  std::map<unsigned, std::vector<Part>> parts_;  // by hops
  struct Sums {
    double all = 0, waited = 0;
  };
  std::map<std::array<uint32_t, 3>, Sums> sums_;  // by thread, labels, and the stack that ends at a waker
  bool is_sum_known_ = false;
  size_t steps_ = 0;
};

}  // namespace

Wakeups::Wakeups(const ProfileSnapshot& profile) : profile_(profile), waits_(profile.threads().size()) {
  for (size_t i = 0; i < profile.label_set_count(); ++i) is_ready_.push_back(is_wait_for_cpu(profile, LabelSetId(i)));
  const Samples& samples = profile.samples();
  for (size_t row = 0; row < samples.size(); ++row)
    if (is_spent(profile, row, Spent::kOthersWaiting) && samples.lasted_ns(row) != 0) wakeup_of_[samples.time_ns[row] - samples.lasted_ns(row)] = row;
  for (size_t row = 0; row < samples.size(); ++row)
    if (const std::optional<Wait> wait = find_wait(row)) waits_[samples.thread[row].value].push_back(*wait);
  for (std::vector<Wait>& waits : waits_) std::sort(waits.begin(), waits.end(), [](const Wait& a, const Wait& b) { return a.begin_ns < b.begin_ns; });
}

std::optional<Wait> Wakeups::find_wait(size_t row) const {
  const Samples& samples = profile_.samples();
  const uint64_t lasted_ns = samples.lasted_ns(row);
  if (!is_spent(profile_, row, Spent::kWaiting) || lasted_ns == 0) return std::nullopt;
  if (samples.labels[row].valid() && is_ready_[samples.labels[row].value]) return std::nullopt;
  Wait wait{samples.time_ns[row] - lasted_ns, samples.time_ns[row], row, std::nullopt};
  if (const auto found = wakeup_of_.find(wait.begin_ns); found != wakeup_of_.end() && samples.time_ns[found->second] <= wait.end_ns) {
    wait.wakeup = found->second;
    wait.end_ns = std::max(samples.time_ns[found->second], wait.begin_ns + 1);
  }
  return wait;
}

std::span<const Wait> Wakeups::waits_of(ThreadId thread) const { return thread.value < waits_.size() ? std::span<const Wait>(waits_[thread.value]) : std::span<const Wait>(); }

Profile follow_wakers(const ProfileSnapshot& profile, unsigned hops) { return ChainMaker(profile, hops).make(); }

}  // namespace cicada::profile
