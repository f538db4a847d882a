// SPDX-License-Identifier: Apache-2.0
// One recording, from a source to written outputs. Who records opens it with recorder/recorder.h, which brings the source.
//
//   Session session(std::move(source), config);
//   session.add_sink(TRY(sink::make_sink("flame.svg", {})));
//   TRY(session.start());
//   TRY(session.run({.duration_ns = 10'000'000'000, .stop_fds = {signal_fd}}));
//   for (const SinkOutcome& outcome : session.finish()) …
//
// There is one collection loop (run); modes are sources, sinks and stop rules.
// Threads: one; it is the drain thread. snapshot() and functions() are for any; a sink's finish runs on any.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/descriptor_limit.h"
#include "engine/compactor.h"
#include "engine/live_functions.h"
#include "engine/retention.h"
#include "engine/snapshots.h"
#include "ingest/sample_source.h"
#include "profile/sink.h"

namespace cicada::engine {

struct SessionConfig {
  std::vector<std::string> command_line;  // for the profile's header
  symbolize::SymbolizeOptions names;
  bool names_while_recording = true;      // in the background: snapshots have them, and less is left for finish()
  Retention retention;
  std::optional<profile::CallTreeOptions> functions;  // set: functions() has tables
  std::shared_ptr<ReservedDescriptors> for_the_end;   // released by stop()
};

// The recording ends with the first of these.
struct StopRule {
  std::optional<uint64_t> duration_ns = {};
  std::vector<int> stop_fds = {};    // readable: stop
  bool when_targets_exit = false;    // all that the source watches is gone
  std::function<bool(const profile::ProfileSnapshot&)> each_second = {};  // true: stop
};

struct SinkOutcome {
  std::string description;
  std::optional<Error> error;
};

class Session {
 public:
  // Nothing is sampled yet.
  Session(std::unique_ptr<ingest::SampleSource> source, SessionConfig config);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  void add_sink(std::unique_ptr<profile::Sink> sink) { sinks_.push_back(std::move(sink)); }
  // From the return on every interrupt is sampled.
  Result<void> start();
  // Collects until `rule` says stop. May be called again (a collection cycle each, as in an agent).
  Result<void> run(const StopRule& rule);
  // No samples until pause(false); processes are followed all the time. Returns when it is so. Between start() and stop(). Threads: any.
  // The CPU time (ns) that the target has used since the start, without pauses; 0: nobody can tell.
  uint64_t pause(bool paused) { return source_->pause(paused); }
  // Stops sampling, keeps everything. Idempotent; finish() calls it.
  Result<void> stop();
  // Samples were dropped (Retention): the recording is of what is kept, and its header says so. After stop(), once.
  void describe_retention();
  // Names every frame; free for those that have names. The next snapshot has them. Between calls of run().
  symbolize::SymbolizeStats symbolize();
  // stop, symbolize, every sink's finish, several at a time, the first added begun first; ahead of usual threads (nice -5) unless the profile
  // is large. A sink that fails does not keep the others from
  // writing. Outcomes are in the order in which the sinks were added. The end of the session: meanwhile what is in the kernel is taken down,
  // which is mostly waiting (20-50 ms beside busy programs). Once; then only profile(), metadata() and statistics() have answers.
  std::vector<SinkOutcome> finish();

  // What has come since the last call; the session forgets it then. Threads: any, one at a time.
  struct Taken {
    std::shared_ptr<const profile::ProfileSnapshot> profile;
    size_t first = 0;  // rows from here on are new
  };
  Taken take();
  // The profile as it was a moment ago. Threads: any.
  std::shared_ptr<const profile::ProfileSnapshot> snapshot() const { return snapshots_.latest(); }
  // With the table of its functions, a second or two old; null if the configuration asks for none. Threads: any.
  std::shared_ptr<const FunctionsOfSnapshot> functions() const { return functions_ ? functions_->latest() : nullptr; }
  // The profile itself, and what whoever records has to add to its header: between calls of run().
  const profile::Profile& profile() const { return profile_; }
  profile::Header& header() { return profile_.header; }
  // It leaves the session, after finish().
  profile::Profile release_profile() { return std::move(profile_); }
  process::ProcessMetadataCache& metadata();
  std::vector<std::string> statistics() const;

 private:
  void close_source();
  void retain();
  void update_sinks();
  void update();

  SessionConfig config_;
  profile::Profile profile_;
  Snapshots snapshots_;
  std::optional<LiveFunctions> functions_;
  Compactor compactor_;
  std::atomic<uint64_t> taken_{0};  // number of the first sample that nobody has taken
  std::unique_ptr<ingest::SampleSource> source_;                 // until finish()
  std::shared_ptr<process::ProcessMetadataCache> metadata_;
  std::vector<std::string> last_statistics_;                     // of source_
  std::unique_ptr<symbolize::KernelNames> kernel_names_;
  std::unique_ptr<symbolize::Symbolizer> symbolizer_;  // of source_'s files
  std::vector<std::unique_ptr<profile::Sink>> sinks_;
  bool running_ = false;
  symbolize::SymbolizeStats names_;  // of finish()
};

}  // namespace cicada::engine
