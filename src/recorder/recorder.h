// SPDX-License-Identifier: Apache-2.0
// The front door: a recording with all that `cicada record` promises, for the command line and for programs that embed it. Strangers' files are
// read by processes of this program that can do nothing else; descriptors are put aside for the results; privileges that recording does not
// need are given up; at the end nobody is waited for longer than a deadline (engine::Session).
//
//   int main(int argc, char** argv) {
//     if (const auto code = recorder::serve_as_reader(argc, argv)) return *code;  // a recorder started this program again, to read
//     …
//   const recorder::Readers readers = TRY(recorder::Readers::start());
//   const auto session = TRY(recorder::open(readers, {.sampling = {.targets = bpf_source::TargetKind::kProcesses, .pids = {pid}}}));
//   session->add_sink(TRY(sink::make_sink("flame.svg", {})));
//   TRY(session->start());
//   TRY(session->run({.duration_ns = 10'000'000'000}));
//   for (const engine::SinkOutcome& outcome : session->finish()) …
//
// Threads: one, before it has started others.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>

#include "base/result.h"
#include "bpf_source/probe_list.h"
#include "bpf_source/sampling_config.h"
#include "engine/session.h"
#include "ingest/lifecycle_callbacks.h"

namespace cicada::sandbox {
class Zygote;
}

namespace cicada::recorder {

// The first thing in main(). An exit code: this process was one that reads, and has ended. Nothing: it is the program.
std::optional<int> serve_as_reader(int argc, char** argv);

struct RecorderConfig {
  bpf_source::SamplingConfig sampling;
  engine::SessionConfig session;  // filled in: who reads (names.image_namers), for whom (names.user, if 0: recording_user()), for_the_end
  ingest::LifecycleCallbacks lifecycle;
  // Those that recording does not need are given up, of the calling thread and those that it starts from now on. Kept: for commands that are
  // still to be started, where they would start with what is left.
  bool keep_privileges = false;
};

// Who starts the processes that read: for any number of recordings. They end with it.
class Readers {
 public:
  // Before there are threads, and before privileges are given up: it needs them to lock readers down. Raises the limit of open files.
  // Fails: this program cannot be started again.
  static Result<Readers> start();
  // CPU time of theirs so far, ns.
  uint64_t cpu_ns() const;

 private:
  friend Result<std::unique_ptr<engine::Session>> open(const Readers& readers, RecorderConfig config);
  friend Result<bpf_source::ProbeList> list_probes(const Readers& readers, const bpf_source::ProbeQuestion& question);
  explicit Readers(std::shared_ptr<sandbox::Zygote> zygote) : zygote_(std::move(zygote)) {}
  std::shared_ptr<sandbox::Zygote> zygote_;
};

// Who records: under sudo or doas the user behind it. His files and programs are his own (SymbolizeOptions::user).
uint32_t recording_user();

// Loads and attaches; nothing is sampled yet. Fails: as BpfSource::open().
Result<std::unique_ptr<engine::Session>> open(const Readers& readers, RecorderConfig config);

// Which probes there are. Fails: as bpf_source::list_probes().
Result<bpf_source::ProbeList> list_probes(const Readers& readers, const bpf_source::ProbeQuestion& question);

}  // namespace cicada::recorder
