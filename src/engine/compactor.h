// SPDX-License-Identifier: Apache-2.0
// When and how the tables of a session's profile are made anew with what its samples refer to (profile/compaction.h), so that memory follows
// what retention keeps, not what was ever seen.
//
//   grown to twice what they were ──▶ the source forgets what it was sent ──▶ rows are copied ──▶ what came meanwhile; ids change
//                                      (some seconds, beside the loop)         (a thread)          (the loop's thread, milliseconds)
//
// Meanwhile there are two profiles, and no samples are dropped.
// Threads: the loop's.
#pragma once
#include <atomic>
#include <memory>
#include <string>
#include <thread>

#include "engine/retention.h"
#include "ingest/sample_source.h"
#include "profile/compaction.h"

namespace cicada::engine {

class Compactor {
 public:
  // After samples were dropped: begins if it is worth it.
  void start_if_due(const profile::Profile& profile, const Retention& retention);
  // Samples are being looked at: none of them may be dropped.
  bool is_copying() const { return state_ == State::kCopying; }
  // In every turn of the loop. True: `profile` is another one now.
  bool step(profile::Profile& profile, ingest::SampleSource& source, symbolize::Symbolizer& symbolizer);
  // Before the source ends.
  void cancel();
  std::string statistics() const;

 private:
  enum class State : uint8_t { kIdle, kPreparing, kCopying };

  State state_ = State::kIdle;
  std::unique_ptr<profile::Compaction> compaction_;
  std::atomic<bool> copied_{false};
  size_t bytes_after_ = 0;       // of tables, after the last one
  uint64_t dropped_before_ = 0;  // samples, before the last one
  uint64_t done_ = 0, longest_ns_ = 0;
  std::jthread thread_;
};

}  // namespace cicada::engine
