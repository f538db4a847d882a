// SPDX-License-Identifier: Apache-2.0
#include "engine/session.h"

#include <malloc.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <time.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <thread>

#include "base/catching.h"
#include "base/cpu_list.h"
#include "base/diagnostics.h"
#include "base/monotonic_clock.h"
#include "base/parallel.h"
#include "base/readable.h"
#include "ingest/batching.h"

#ifndef CICADA_VERSION
#define CICADA_VERSION "unknown"
#endif

namespace cicada::engine {
namespace {

constexpr int kDrainSamples = 10, kLongestDrainMs = 50;  // between two looks at the ring; from 1,000 Hz on a gap of 20 ms is the budget
constexpr uint64_t kUpdateNs = 1'000'000'000;
constexpr uint64_t kNamesNs = 100'000'000;  // that frames wait at most before they are asked for
// Samples and stacks: of a larger profile no more than two outputs are made at a time, each of which may have a call tree of its own.
constexpr size_t kMaxWrittenTogether = 1 << 19;

// At the end: what was not looked up by then has no name. A gigabyte of debug information takes 5 s.
constexpr std::chrono::seconds kNamingTime(60);
constexpr std::chrono::milliseconds kNamingTimeOfOthers(1000);  // files of neither root nor the user: they may be there to keep us busy

constexpr int kNiceOfResults = -5;

// The calling thread, and those it starts, go before usual ones until this ends: three quarters of a CPU that another one wants, instead of half.
class ScopedNiceBoost {
 public:
  explicit ScopedNiceBoost(bool wanted) : before_(::getpriority(PRIO_PROCESS, 0)), changed_(wanted && ::setpriority(PRIO_PROCESS, 0, before_ + kNiceOfResults) == 0) {}
  ~ScopedNiceBoost() {
    if (changed_) ::setpriority(PRIO_PROCESS, 0, before_);
  }
  ScopedNiceBoost(const ScopedNiceBoost&) = delete;
  ScopedNiceBoost& operator=(const ScopedNiceBoost&) = delete;

 private:
  int before_;
  bool changed_;
};

uint64_t realtime_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

uint64_t fastest_hz(const profile::Header& header) {
  uint64_t hz = 0;
  for (const profile::Event& event : header.events) hz = std::max(hz, event.frequency_hz);
  return hz;
}

void describe_host(profile::Header& header) {
  utsname host{};
  ::uname(&host);
  header.host = host.nodename;
  header.kernel = fmt::format("{} {}", host.sysname, host.release);
  header.architecture = host.machine;
  header.cicada_version = CICADA_VERSION;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), header.boot_id);
  if (const auto cpus = online_cpus()) header.cpu_count = static_cast<uint32_t>(cpus->size());
}

// Names of JIT code, stacks that waited: what was freed is in pieces, which the allocator keeps for threads that have ended. Whoever shows the profile
// next needs it more.
void give_memory_back() {
#ifdef __GLIBC__
  ::malloc_trim(0);
#endif
}

}  // namespace

Session::Session(std::unique_ptr<ingest::SampleSource> source, SessionConfig config) : config_(std::move(config)), source_(std::move(source)) {
  metadata_ = source_->metadata();
  describe_host(profile_.header);
  profile_.header.command = config_.command_line;
  if (config_.functions) functions_.emplace(snapshots_, *config_.functions);
}

Session::~Session() = default;

Result<void> Session::start() {
  profile_.header.start_realtime_ns = realtime_ns();
  profile_.header.start_monotonic_ns = monotonic_ns();
  TRY(source_->start(profile_));
  kernel_names_ = source_->kernel_names();
  symbolize::SymbolizeOptions names = config_.names;
  names.kernel_names = kernel_names_.get();
  symbolizer_ = std::make_unique<symbolize::Symbolizer>(source_->image_files(), names);
  running_ = true;
  snapshots_.publish(profile_);
  return {};
}

Result<void> Session::run(const StopRule& rule) {
  const uint64_t begin = monotonic_ns();
  const uint64_t end = rule.duration_ns ? begin + *rule.duration_ns : ~uint64_t{0};
  uint64_t next_update = begin + kUpdateNs, next_names = begin + kNamesNs;
  const int drain_ms = ingest::sleep_ms(fastest_hz(profile_.header), kDrainSamples, kLongestDrainMs);
  for (;;) {
    const uint64_t now = monotonic_ns();
    if (now >= end || any_readable(rule.stop_fds) || (rule.when_targets_exit && source_->targets_gone())) return {};
    const uint64_t left_ms = std::min<uint64_t>((end - now) / 1'000'000 + 1, static_cast<uint64_t>(drain_ms));
    if (!TRY(source_->drain(profile_, static_cast<int>(left_ms), rule.stop_fds))) return {};
    profile_.header.duration_ns = monotonic_ns() - profile_.header.start_monotonic_ns;
    if (config_.names_while_recording && now >= next_names) {
      next_names = now + kNamesNs;
      symbolizer_->request(profile_);
      symbolizer_->apply_ready(profile_);
    }
    if (compactor_.step(profile_, *source_, *symbolizer_)) snapshots_.publish(profile_);
    snapshots_.publish_if_wanted(profile_);
    if (now >= next_update) {
      next_update = now + kUpdateNs;
      update();
      if (rule.each_second && rule.each_second(profile_)) return {};
    }
  }
}

// Once a second.
void Session::update() {
  symbolizer_->add_jit_symbols(source_->take_jit_symbols());
  update_sinks();
  retain();
}

// The latest snapshot is made anew, because the one there is has what was dropped.
void Session::retain() {
  if (compactor_.is_copying() || !apply_retention(profile_, config_.retention, monotonic_ns(), taken_)) return;
  snapshots_.publish(profile_);
  compactor_.start_if_due(profile_, config_.retention);
}

Session::Taken Session::take() {
  Taken taken{snapshot()};
  const uint64_t first = taken.profile->samples().dropped();
  taken.first = static_cast<size_t>(std::max(taken_.exchange(taken.profile->sizes().samples), first) - first);
  return taken;
}

Result<void> Session::stop() {
  if (!running_) return {};
  running_ = false;
  if (config_.for_the_end) config_.for_the_end->release();
  compactor_.cancel();
  profile_.header.duration_ns = monotonic_ns() - profile_.header.start_monotonic_ns;
  const Result<void> stopped = source_->stop(profile_);
  snapshots_.publish(profile_);
  return stopped;
}

symbolize::SymbolizeStats Session::symbolize() {
  if (symbolizer_ == nullptr) return {};  // never started
  symbolizer_->add_jit_symbols(source_->take_jit_symbols());
  const auto now = symbolize::Symbolizer::Clock::now();
  const auto all = now + kNamingTime;
  const symbolize::SymbolizeStats stats = symbolizer_->finish(profile_, {all, config_.names.debuginfod ? all : now + kNamingTimeOfOthers});
  snapshots_.publish(profile_);
  return stats;
}

void Session::describe_retention() {
  const uint64_t dropped = profile_.samples().dropped();
  if (dropped == 0) return;
  profile::Header& header = profile_.header;
  const uint64_t end_ns = header.start_monotonic_ns + header.duration_ns;
  const uint64_t first_ns = profile_.sample_count() == 0 ? end_ns : std::clamp(profile_.samples().time_ns[0], header.start_monotonic_ns, end_ns);
  header.warnings.push_back(fmt::format("only the last {:.0f} of {:.0f} s are kept: {} of {} samples", static_cast<double>(end_ns - first_ns) * 1e-9,
                                        static_cast<double>(header.duration_ns) * 1e-9, profile_.sample_count(), profile_.sample_count() + dropped));
  header.start_realtime_ns += first_ns - header.start_monotonic_ns;
  header.start_monotonic_ns = first_ns;
  header.duration_ns = end_ns - first_ns;
  header.target_cpu_ns = 0;  // of the whole time
  profile_.forget_cpu_times();  // likewise
}

std::vector<SinkOutcome> Session::finish() {
  std::vector<SinkOutcome> outcomes;
  if (source_ == nullptr) return outcomes;
  if (const Result<void> stopped = stop(); !stopped) profile_.header.warnings.push_back(stopped.error().message());
  const bool large = profile_.sample_count() + profile_.stacks().size() > kMaxWrittenTogether;
  // Somebody waits, for what is a tenth of a second of work, and it is not sampled any more. A large profile takes its turn.
  const ScopedNiceBoost boost(!large);
  const Result<void> named = catching("naming frames", [&]() -> Result<void> { return names_ = symbolize(), Result<void>(); });
  if (!named) profile_.header.warnings.push_back(named.error().message());
  last_statistics_ = source_->statistics();
  snapshots_.publish(profile_);
  const std::jthread closing([this] { close_source(); });
  for (const auto& sink : sinks_) outcomes.push_back({sink->description(), std::nullopt});
  for_each_parallel(sinks_.size(), large ? 2 : 4, [&](size_t i) {
    const auto finished = catching(outcomes[i].description, [&] { return sinks_[i]->finish(profile_); });
    if (!finished) outcomes[i].error = finished.error();
  });
  return outcomes;
}

void Session::close_source() {
  symbolizer_.reset();
  kernel_names_.reset();
  source_.reset();
  give_memory_back();
}

process::ProcessMetadataCache& Session::metadata() { return *metadata_; }
std::vector<std::string> Session::statistics() const {
  std::vector<std::string> lines = source_ == nullptr ? last_statistics_ : source_->statistics();
  lines.push_back(fmt::format("names: {} of {} frames in {} images ({} without symbols), {:.3f} s and {:.3f} s of CPU; {} had one before the end",
                              names_.named, names_.frames, names_.images, names_.images_without_symbols, names_.seconds, names_.cpu_seconds,
                              names_.named_before));
  lines.push_back(compactor_.statistics());
  return lines;
}

void Session::update_sinks() {
  for (const auto& sink : sinks_) {
    if (const auto updated = catching("writing", [&] { return sink->update(profile_); }); !updated) {
      diagnostics().warn(sink->description(), "{}", updated.error().message());
    }
  }
}

}  // namespace cicada::engine
