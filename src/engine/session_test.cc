// SPDX-License-Identifier: Apache-2.0
// The loop with a source from a script: no kernel, no privileges.
#include "engine/session.h"

#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <set>
#include <thread>

#include "base/monotonic_clock.h"
#include "symbolize/image_namer.h"

namespace cicada::engine {
namespace {

class NoFiles final : public symbolize::ImageFiles {
 public:
  symbolize::ImageFile find(const profile::ProfileSnapshot&, profile::ImageId) override {
    return {[](const std::stop_token&) -> Result<UniqueFd> { return make_error(ErrorKind::kNotFound, "no files here"); }, {}, 1000};
  }
};

// Each drain() gives `per_drain` samples of each event.
class ScriptedSource : public ingest::SampleSource {
 public:
  struct Script {
    size_t per_drain = 10;
    size_t drains = ~size_t{0};        // then it has ended by itself
    size_t gone_after = ~size_t{0};    // drains after which the targets are gone
    std::optional<Error> stop_error = {};
    std::vector<profile::Event> events{1};
    bool ever_new = false;             // each second sample is of a function, a process and a thread that were never seen before
  };
  explicit ScriptedSource(Script script) : script_(std::move(script)) {}

  Result<void> start(profile::Profile& profile) override {
    profile.header.events = script_.events;
    thread_ = profile.intern_thread(profile.intern_process(1, 1), 1);
    return {};
  }
  Result<bool> drain(profile::Profile& profile, int timeout_ms, std::span<const int>) override {
    ::usleep(static_cast<useconds_t>(std::min(timeout_ms, 1) * 1000));
    for (size_t i = 0; i < script_.per_drain; ++i) {
      for (size_t e = 0; e < script_.events.size(); ++e) {
        const bool is_new = script_.ever_new && ++sent_ % 2 == 0;
        const uint64_t address = is_new ? 0x100000 + sent_ : 0x1000 + profile.sample_count() % 64;
        const auto frame = profile.intern_frame({profile::FrameKind::kJit, {}, 1, address, {}});
        const auto thread = is_new ? profile.intern_thread(profile.intern_process(2, sent_), 2) : thread_;
        profile.append_sample({.time_ns = monotonic_ns(), .thread = thread, .stack = profile.intern_stack({}, frame), .event = {static_cast<uint8_t>(e)}});
      }
    }
    return ++drains_ < script_.drains;
  }
  Result<void> stop(profile::Profile& profile) override {
    profile.header.events[0].fired = profile.sample_count();
    if (script_.stop_error) return *script_.stop_error;
    return {};
  }
  bool prepare_compaction() override { return true; }
  void rebase(profile::RowCopier& ids) override { thread_ = ids.thread(thread_); }
  bool targets_gone() const override { return drains_ >= script_.gone_after; }
  symbolize::ImageFiles& image_files() override { return files_; }
  std::vector<symbolize::JitSymbol> take_jit_symbols() override { return std::exchange(jit_, {}); }
  std::shared_ptr<process::ProcessMetadataCache> metadata() override { return metadata_; }

 private:
  Script script_;
  size_t drains_ = 0, sent_ = 0;
  profile::ThreadId thread_;
  NoFiles files_;
  std::vector<symbolize::JitSymbol> jit_{{.address_space = 1, .code = {RuntimeAddr(0x1000), RuntimeAddr(0x1040)}, .name = "jitted", .file = {}}};
  std::shared_ptr<process::ProcessMetadataCache> metadata_ = std::make_shared<process::ProcessMetadataCache>();
};

struct Seen {
  size_t updates = 0, finishes = 0, samples = 0;
  std::string name;
};

class SpySink final : public profile::Sink {
 public:
  SpySink(Seen& seen, bool fails) : seen_(seen), fails_(fails) {}
  Result<void> update(const profile::ProfileSnapshot& profile) override {
    ++seen_.updates;
    seen_.samples = profile.sample_count();
    return {};
  }
  Result<void> finish(const profile::ProfileSnapshot& profile) override {
    ++seen_.finishes;
    seen_.samples = profile.sample_count();
    for (size_t i = 0; i < profile.frames().size(); ++i) {
      const auto locations = profile.locations(profile::FrameId(i));
      if (!locations.empty()) seen_.name = profile.text(profile.functions()[locations[0].function.value].name);
    }
    if (fails_) return make_error(ErrorKind::kIo, "disk full");
    return {};
  }
  std::string description() const override { return fails_ ? "failing" : "spy"; }

 private:
  Seen& seen_;
  bool fails_;
};

std::unique_ptr<ScriptedSource> source(ScriptedSource::Script script = {}) { return std::make_unique<ScriptedSource>(std::move(script)); }

TEST(Session, EndsWhenItsSourceEnds) {
  Session session(source({.drains = 5}), {});
  ASSERT_TRUE(session.start());
  ASSERT_TRUE(session.run({}));
  EXPECT_EQ(session.profile().sample_count(), 50u);
}

TEST(Session, EndsWithItsTimeItsDescriptorItsTargetsOrWhoLooks) {
  Session session(source({.gone_after = 3}), {});
  ASSERT_TRUE(session.start());
  const uint64_t begin = monotonic_ns();
  ASSERT_TRUE(session.run({.duration_ns = 50'000'000}));
  EXPECT_GE(monotonic_ns() - begin, 50'000'000u);
  ASSERT_TRUE(session.run({.when_targets_exit = true}));
  const UniqueFd stop(::eventfd(1, EFD_CLOEXEC));
  ASSERT_TRUE(session.run({.stop_fds = {stop.get()}}));
  ASSERT_TRUE(session.run({.each_second = [](const profile::ProfileSnapshot&) { return true; }}));
  EXPECT_GT(session.profile().header.duration_ns, 1'000'000'000u);
}

TEST(Session, EverySinkFinishesWithNamesThoughAnotherFails) {
  Session session(source({.drains = 3}), {});
  Seen failing, good;
  session.add_sink(std::make_unique<SpySink>(failing, true));
  session.add_sink(std::make_unique<SpySink>(good, false));
  ASSERT_TRUE(session.start());
  ASSERT_TRUE(session.run({}));
  const auto outcomes = session.finish();
  ASSERT_EQ(outcomes.size(), 2u);
  EXPECT_EQ(outcomes[0].description, "failing");
  ASSERT_TRUE(outcomes[0].error);
  EXPECT_EQ(outcomes[0].error->message(), "disk full");
  EXPECT_FALSE(outcomes[1].error);
  EXPECT_EQ(good.finishes, 1u);
  EXPECT_EQ(good.samples, 30u);
  EXPECT_EQ(good.name, "jitted");
  EXPECT_TRUE(session.finish().empty());
}

// Which waits until it is asked to stop.
TEST(Session, ClosesItsSourceThoughANamerHangs) {
  class Hanging final : public symbolize::Namer {
    Result<symbolize::NamedAddresses> name(std::span<const uint64_t>, symbolize::NameDepth, const std::stop_token& stop) override {
      std::mutex mutex;
      std::unique_lock lock(mutex);
      std::condition_variable_any().wait(lock, stop, [] { return false; });
      return make_error(ErrorKind::kIo, "stopped");
    }
  };
  class AllHang final : public symbolize::ImageNamers {
    std::unique_ptr<symbolize::Namer> make(symbolize::ImageToName) override { return std::make_unique<Hanging>(); }
  };
  class Native final : public ScriptedSource {
   public:
    explicit Native(bool& closed) : ScriptedSource({.drains = 1}), closed_(closed) {}
    ~Native() override { closed_ = true; }
    Result<bool> drain(profile::Profile& profile, int timeout_ms, std::span<const int> fds) override {
      profile::Image image;
      image.path = profile.intern("/hangs");
      profile.intern_frame({profile::FrameKind::kNative, profile.intern_image(image), 0, 0x1000, {}});
      return ScriptedSource::drain(profile, timeout_ms, fds);
    }
    bool& closed_;
  };
  bool closed = false;
  SessionConfig config;
  config.names.image_namers = std::make_shared<AllHang>();
  Session session(std::make_unique<Native>(closed), config);
  ASSERT_TRUE(session.start());
  ASSERT_TRUE(session.run({}));
  session.finish();
  EXPECT_TRUE(closed);
}

TEST(Session, AFailureAtTheEndLosesNothing) {
  Session session(source({.drains = 2, .stop_error = make_error(ErrorKind::kIo, "ring gone")}), {});
  Seen seen;
  session.add_sink(std::make_unique<SpySink>(seen, false));
  ASSERT_TRUE(session.start());
  ASSERT_TRUE(session.run({}));
  session.finish();
  EXPECT_EQ(seen.samples, 20u);
  ASSERT_EQ(session.profile().header.warnings.size(), 1u);
  EXPECT_EQ(session.profile().header.warnings[0], "ring gone");
}

TEST(Session, SnapshotsGrowWhileItRunsAndEachStaysWhatItWas) {
  Session session(source({.events = {{.name = "clock"}, {.name = "faults", .unit = profile::Unit::kEvents}}}), {});
  ASSERT_TRUE(session.start());
  std::atomic<bool> ended{false};
  size_t grown = 0;
  std::jthread viewer([&] {
    std::shared_ptr<const profile::ProfileSnapshot> before = session.snapshot();
    size_t count_before = before->sample_count();
    while (!ended) {
      const auto now = session.snapshot();
      EXPECT_EQ(before->sample_count(), count_before);
      EXPECT_EQ(now->totals_of({0}).samples + now->totals_of({1}).samples, now->sample_count());
      if (now->sample_count() > count_before) ++grown;
      before = now;
      count_before = now->sample_count();
    }
  });
  ASSERT_TRUE(session.run({.duration_ns = 300'000'000}));
  ended = true;
  viewer.join();
  EXPECT_GT(grown, 5u);
  ASSERT_TRUE(session.stop());
  EXPECT_EQ(session.snapshot()->sample_count(), session.profile().sample_count());
}

TEST(Session, HasATableOfFunctionsForAnyThread) {
  SessionConfig config;
  config.functions = profile::CallTreeOptions{};
  Session session(source({.per_drain = 100}), config);
  ASSERT_TRUE(session.start());
  std::atomic<bool> ended{false};
  size_t looked = 0;
  std::jthread viewer([&] {
    while (!ended) {
      const auto functions = session.functions();
      uint64_t self = 0;
      for (const profile::FunctionCost& cost : largest_functions(functions->rows, 1000)) {
        self += cost.self;
        EXPECT_FALSE(functions->texts.text(cost.name).empty());
      }
      EXPECT_EQ(self, functions->total);
      EXPECT_EQ(self, functions->profile->sample_count());
      looked += self != 0;
    }
  });
  ASSERT_TRUE(session.run({.duration_ns = 2'200'000'000}));
  ended = true;
  viewer.join();
  EXPECT_GT(looked, 0u);
}

TEST(Session, KeepsWhatRetentionSays) {
  SessionConfig config;
  config.retention.keep_samples = 10'000;
  Session session(source({.per_drain = 20'000}), config);
  ASSERT_TRUE(session.start());
  ASSERT_TRUE(session.run({.each_second = [](const profile::ProfileSnapshot&) { return true; }}));
  EXPECT_LT(session.profile().sample_count(), 10'000u + 4096);
  EXPECT_GE(session.profile().sample_count(), 10'000u);
  EXPECT_EQ(session.profile().sizes().samples, session.profile().samples().dropped() + session.profile().sample_count());
}

// What a frame of the script is called: those at 0x1000 have a name, once it is known.
void expect_right_names(const profile::ProfileSnapshot& profile) {
  for (size_t i = 0; i < profile.frames().size(); ++i) {
    const auto locations = profile.locations(profile::FrameId(i));
    const bool named = profile.frames()[i].address < 0x1040;
    if (locations.empty()) continue;
    EXPECT_TRUE(named && profile.text(profile.functions()[locations[0].function.value].name) == "jitted") << i;
  }
}

TEST(Session, MemoryIsFlatUnderEverNewCode) {
  SessionConfig config;
  config.retention.keep_samples = 20'000;
  Session session(source({.per_drain = 50, .ever_new = true}), config);
  ASSERT_TRUE(session.start());
  std::vector<size_t> bytes;
  std::set<uint64_t> lineages;
  uint64_t counted = 0;  // rows by their number, across compactions
  ASSERT_TRUE(session.run({.each_second = [&](const profile::ProfileSnapshot& now) {
    bytes.push_back(session.profile().table_bytes());
    lineages.insert(now.sizes().lineage);
    const uint64_t dropped = now.samples().dropped();
    for (uint64_t i = std::max(counted, dropped); i < now.sizes().samples; ++i) {
      EXPECT_EQ(now.frames()[now.stacks()[now.samples().stack[i - dropped].value].frame.value].address >= 0x100000, i % 2 == 1);
    }
    counted = now.sizes().samples;
    return lineages.size() > 3 || bytes.size() > 300;
  }}));
  EXPECT_GT(lineages.size(), 3u);
  const profile::Profile& profile = session.profile();
  EXPECT_TRUE(profile.validate());
  // A row of each table for each new sample and its index: 150 bytes. What is kept, twice as much again before it is worth it, and some seconds.
  const size_t ever = profile.sizes().samples / 2;
  EXPECT_LT(profile.stacks().size(), ever / 2);
  EXPECT_LT(*std::max_element(bytes.begin(), bytes.end()), 48u << 20);
  session.symbolize();
  expect_right_names(profile);
  EXPECT_FALSE(profile.locations(profile::FrameId(profile.stacks()[profile.samples().stack[0].value].frame.value)).empty() &&
               profile.locations(profile::FrameId(profile.stacks()[profile.samples().stack[1].value].frame.value)).empty());
}

TEST(Session, KeepsSoManyBytes) {
  SessionConfig config;
  config.retention.keep_bytes = 8 << 20;
  Session session(source({.per_drain = 20, .ever_new = true}), config);
  ASSERT_TRUE(session.start());
  std::vector<size_t> bytes;
  std::set<uint64_t> lineages;
  ASSERT_TRUE(session.run({.each_second = [&](const profile::ProfileSnapshot& now) {
    lineages.insert(now.sizes().lineage);
    bytes.push_back(session.profile().table_bytes() + session.profile().sample_bytes());
    return lineages.size() > 2 || bytes.size() > 300;
  }}));
  EXPECT_GT(lineages.size(), 2u);
  EXPECT_LT(*std::max_element(bytes.begin(), bytes.end()), 32u << 20);  // rows are copied late on a busy machine
  EXPECT_GT(bytes.back(), 3u << 20);  // and keeps what it may
}

TEST(Session, ForgetsWhatWasTakenAndGivesEachSampleOnce) {
  Session session(source({.per_drain = 500}), {});
  ASSERT_TRUE(session.start());
  std::atomic<bool> ended{false};
  uint64_t taken = 0;
  std::jthread taker([&] {
    while (!ended) {
      const Session::Taken some = session.take();
      taken += some.profile->sample_count() - some.first;
      ::usleep(1000);
    }
  });
  ASSERT_TRUE(session.run({.duration_ns = 1'200'000'000}));
  ended = true;
  taker.join();
  EXPECT_GT(session.profile().samples().dropped(), 0u);
  ASSERT_TRUE(session.stop());
  const Session::Taken rest = session.take();
  EXPECT_EQ(taken + rest.profile->sample_count() - rest.first, session.profile().sizes().samples);
}

}  // namespace
}  // namespace cicada::engine
