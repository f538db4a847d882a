// SPDX-License-Identifier: Apache-2.0
// A profile of 10 million samples that goes on growing by 1,000 samples a second, and who looks at it. Medians of many runs, in CPU time; goals
// are those of docs/measurements/snapshots.md.
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <random>

#include "engine/live_functions.h"
#include "profile/compaction.h"
#include "profile/live_tree.h"
#include "profile/synthetic_profile_for_test.h"
#include "sink/recording/delta_codec.h"

namespace {

using namespace cicada;
using profile::Profile;
using profile::ProfileSnapshot;

constexpr size_t kSamplesPerSecond = 1000, kNewStacksPerSecond = 20, kRows = 50;

// Of this thread, not of the clock on the wall: the machine may be shared.
double cpu_ms() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) * 1e-6;
}
double mib(size_t bytes) { return static_cast<double>(bytes) / (1 << 20); }
size_t allocated() { return ::mallinfo2().uordblks + ::mallinfo2().hblkhd; }

struct Times {
  std::vector<double> all{};
  double median() {
    std::nth_element(all.begin(), all.begin() + static_cast<ptrdiff_t>(all.size() / 2), all.end());
    return all[all.size() / 2];
  }
  double longest() const { return *std::max_element(all.begin(), all.end()); }
};

template <typename Work>
auto timed(Times& times, Work work) {
  const double start = cpu_ms();
  auto result = work();
  times.all.push_back(cpu_ms() - start);
  return result;
}

void print(const char* what, Times times, double goal_ms = 0) {
  std::printf("%-66s %9.3f ms  longest %9.3f  (%zu runs)", what, times.median(), times.longest(), times.all.size());
  if (goal_ms != 0) std::printf("  goal %.0f ms: %s", goal_ms, times.median() <= goal_ms ? "met" : "MISSED");
  std::printf("\n");
}

// What the recorder does in a second: samples of stacks that are known, some of new code, whose names come a second later.
class Recorder {
 public:
  explicit Recorder(Profile& profile) : profile_(profile) {
    for (size_t i = 0; i < profile.samples().size() && leaves_.size() < (1 << 20); i += 1 + profile.samples().size() / (1 << 20))
      leaves_.push_back({profile.samples().thread[i], profile.samples().stack[i]});
    images_ = std::max<size_t>(1, profile.images().size());
  }
  void second() {
    for (const profile::FrameId frame : unnamed_) name(frame, ++names_);
    unnamed_.clear();
    samples(kSamplesPerSecond);
    for (size_t i = 0; i < kNewStacksPerSecond; ++i) {
      auto [thread, stack] = random_leaf();
      for (size_t depth = 0; depth < 3; ++depth) {
        const profile::FrameId frame =
            profile_.intern_frame({profile::FrameKind::kNative, profile::ImageId(random_() % images_), 0, 0x40000000 + ++addresses_ * 16, {}});
        unnamed_.push_back(frame);
        stack = profile_.intern_stack(stack, frame);
      }
      add({thread, stack});
    }
  }
  void samples(size_t count) {
    for (size_t i = 0; i < count; ++i) add(random_leaf());
  }
  void rebase(profile::RowCopier& ids) {
    for (Leaf& leaf : leaves_) leaf = {ids.thread(leaf.thread), ids.stack(leaf.stack)};
    for (profile::FrameId& frame : unnamed_) frame = ids.frame(frame);
  }
  void name(profile::FrameId frame, size_t number) {
    const profile::Location location[] = {{profile_.intern_function({profile_.intern(fmt::format("late_{}", number)), {}, profile_.frames()[frame.value].image})}};
    profile_.set_locations(frame, location);
  }

 private:
  struct Leaf {
    profile::ThreadId thread;
    profile::StackId stack;
  };
  const Leaf& random_leaf() { return leaves_[random_() % leaves_.size()]; }
  void add(const Leaf& leaf) {
    profile_.append_sample({.time_ns = time_ += 1000000, .thread = leaf.thread, .stack = leaf.stack, .end_reason = END_OUTERMOST});
  }

  Profile& profile_;
  std::mt19937 random_{1};
  std::vector<Leaf> leaves_;  // as often as they are sampled
  std::vector<profile::FrameId> unnamed_;
  size_t images_, names_ = 0, addresses_ = 0;
  uint64_t time_ = uint64_t{1} << 50;
};

void look(Profile& profile, Recorder& recorder) {
  engine::Snapshots snapshots;
  snapshots.publish(profile);
  Times publishing, handle, table, cold, cold_grouped, update, update_grouped;
  {
    const engine::LiveFunctions functions(snapshots, {}, std::chrono::milliseconds(50));
    while (functions.latest()->total == 0) ::usleep(1000);
    for (int i = 0; i < 100; ++i) {
      recorder.second();
      snapshots.publish(profile);
      ::usleep(20'000);
      const auto shown = timed(table, [&] {
        const auto latest = functions.latest();
        return largest_functions(latest->rows, kRows);
      });
      if (shown.size() != kRows) std::abort();
    }
  }
  const profile::CallTreeOptions by_thread{.group_by = {profile::GroupBy::kProcess, profile::GroupBy::kThread}};
  for (int i = 0; i < 15; ++i) {
    profile::LiveTree tree{{}};
    timed(cold, [&] { return tree.update(*snapshots.latest()), 0; });
  }
  profile::LiveTree live{{}}, grouped{by_thread};
  live.update(*snapshots.latest());
  timed(cold_grouped, [&] { return grouped.update(*snapshots.latest()), 0; });
  for (int i = 0; i < 200; ++i) {
    recorder.second();
    timed(publishing, [&] { return snapshots.publish(profile), 0; });
    const auto seen = timed(handle, [&] { return snapshots.latest(); });
    timed(update, [&] { return live.update(*seen), 0; });
    timed(update_grouped, [&] { return grouped.update(*seen), 0; });
  }
  print("recorder: make a snapshot", publishing);
  print("any thread: a handle", handle);
  print("any thread: a handle and its table of 50 functions (LiveFunctions)", table, 1);
  print("call tree and functions, updated by a second", update, 5);
  print("the same by process and thread", update_grouped, 5);
  std::printf("%-66s %zu nodes, %zu functions; by process and thread %zu nodes\n", "  of", live.tree().nodes.size(), live.functions().rows().size(), grouped.tree().nodes.size());
  print("call tree and functions from nothing, of the sums by stack", cold);
  print("by process and thread from nothing, of all samples", cold_grouped);
  Times renaming;
  for (size_t round = 0; round < 5; ++round) {
    for (size_t i = round; i < profile.frames().size(); i += 10) recorder.name(profile::FrameId(i), i + round);
    snapshots.publish(profile);
    timed(renaming, [&] { return live.update(*snapshots.latest()), 0; });
  }
  print("the same when a tenth of all frames are renamed", renaming);
}

void serialise(Profile& profile, Recorder& recorder) {
  Times writing, reading;
  size_t bytes = 0;
  constexpr int kSeconds = 100;
  sink::MemoryBudget budget(size_t{1} << 32);
  Profile copy;
  profile::SnapshotSizes sent;
  const auto send = [&](const ProfileSnapshot& now, Times& times, Times& read_times) {
    do {
      sink::ByteWriter message;
      sent = timed(times, [&] { return sink::append_delta(message, now, sent); });
      bytes += message.bytes().size();
      const Bytes sent_bytes(reinterpret_cast<const uint8_t*>(message.bytes().data()), message.bytes().size());
      if (!timed(read_times, [&] { return sink::apply_delta(copy, sent_bytes, budget); })) std::abort();
    } while (sent != now.sizes());
  };
  Times all, all_read;
  send(profile, all, all_read);
  bytes = 0;
  for (int i = 0; i < kSeconds; ++i) {
    recorder.second();
    send(profile, writing, reading);
  }
  print("difference of a second: written", writing);
  print("difference of a second: applied", reading);
  std::printf("%-66s %9zu bytes\n", "difference of a second, not compressed", bytes / kSeconds);
  if (copy.sample_count() != profile.sample_count()) std::abort();
}

void hold(Profile& profile, Recorder& recorder) {
  for (const int minutes : {1, 10, 60}) {
    const size_t free_before = allocated();
    for (int i = 0; i < minutes * 60; ++i) recorder.second();
    const size_t grown = allocated() - free_before;
    const ProfileSnapshot held = profile;
    const size_t before = allocated();
    for (int i = 0; i < minutes * 60; ++i) recorder.second();
    const size_t with_held = allocated() - before;
    std::printf("a snapshot held for %2d min: %8.2f MiB more than the %.2f MiB that the profile grows by\n", minutes, mib(with_held) - mib(grown), mib(grown));
  }
}

void recorder_cost(Profile& profile, Recorder& recorder) {
  constexpr size_t kCount = 500000;
  const auto per_sample = [&](const char* what, size_t samples_per_look) {
    engine::Snapshots snapshots;
    const double start = cpu_ms();
    for (size_t i = 0; i < kCount; i += samples_per_look) {
      recorder.samples(samples_per_look);
      if (samples_per_look != kCount) snapshots.publish(profile);
    }
    std::printf("%-66s %9.0f ns a sample\n", what, (cpu_ms() - start) * 1e6 / kCount);
  };
  per_sample("recorder: append, nobody looks", kCount);
  per_sample("recorder: append, somebody looks every second", kSamplesPerSecond);
  per_sample("recorder: append, somebody looks every 50 ms", kSamplesPerSecond / 20);
}

void print_compaction(const char* what, Profile& profile) {
  Times copying, finishing;
  for (int i = 0; i < 5; ++i) {
    auto compaction = std::make_unique<profile::Compaction>(profile);
    timed(copying, [&] { return compaction->copy({}), 0; });
    timed(finishing, [&] { return compaction->finish(profile, [](profile::RowCopier&) {}), 0; });
  }
  std::printf("compaction of %zu stacks, %zu samples\n", profile.stacks().size(), profile.sample_count());
  print(what, copying);
  print("  the loop's thread", finishing);
}

// Code that nobody has seen before, all the time: 20 new stacks of 3 new frames a second, samples of the last minute are kept.
void ever_new(Profile& profile, Recorder& recorder, bool compact) {
  constexpr size_t kSlack = 4 << 20;  // engine/compactor.cc
  size_t after = 0, compactions = 0;
  std::printf("ever new code, %s: MiB of the profile after each 20 min:", compact ? "compacted" : "not compacted");
  for (int second = 1; second <= 2 * 3600; ++second) {
    recorder.second();
    profile.drop_samples(profile.sample_count() - std::min(profile.sample_count(), 60 * kSamplesPerSecond));
    if (compact && profile.table_bytes() > 2 * after + kSlack) {
      profile::Compaction compaction(profile);
      compaction.copy({});
      compaction.finish(profile, [&](profile::RowCopier& ids) { recorder.rebase(ids); });
      after = profile.table_bytes();
      ++compactions;
    }
    if (second % 1200 == 0) std::printf(" %.1f", mib(profile.table_bytes() + profile.sample_bytes()));
  }
  std::printf(compact ? " (%zu compactions)\n" : "\n", compactions);
}

}  // namespace

int main(int argc, char** argv) {
  const size_t samples = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 10000000, stacks = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 50000;
  Profile profile = profile::make_synthetic_profile({.samples = samples, .stacks = stacks, .functions = 5000, .depth = 60, .processes = 20, .threads = 4, .cpus = 16});
  size_t sampled = 0;
  for (const profile::StackSum& sum : profile.sums_of({})) sampled += sum.samples != 0;
  std::printf("%zu samples, %zu stacks of which %zu are sampled, %zu frames\n", profile.sample_count(), profile.stacks().size(), sampled, profile.frames().size());
  Recorder recorder(profile);
  look(profile, recorder);
  serialise(profile, recorder);
  recorder_cost(profile, recorder);
  hold(profile, recorder);
  print_compaction("  beside the loop", profile);
  profile.drop_samples(profile.sample_count() - 1000000);
  print_compaction("  beside the loop", profile);
  for (const bool compact : {false, true}) {
    Profile young = profile::make_synthetic_profile({.samples = 60 * kSamplesPerSecond, .stacks = 2000, .functions = 1000});
    Recorder fresh(young);
    ever_new(young, fresh, compact);
  }
  return 0;
}
