// SPDX-License-Identifier: Apache-2.0
#include "engine/compactor.h"

#include <malloc.h>
#include <sys/resource.h>

#include "base/monotonic_clock.h"

namespace cicada::engine {
namespace {

constexpr size_t kSlackBytes = 4 << 20;  // what tables may grow by whatever they were
constexpr int kNice = 10;

}  // namespace

void Compactor::start_if_due(const profile::Profile& profile, const Retention& retention) {
  if (state_ != State::kIdle || profile.samples().dropped() == dropped_before_) return;  // everything is in use
  const size_t tables = profile.table_bytes();
  const bool too_large = retention.keep_bytes && tables + profile.sample_bytes() > *retention.keep_bytes;
  // Those that are too large and in use become smaller with the samples: in steps that are worth it.
  if (tables > 2 * bytes_after_ + kSlackBytes || (too_large && tables > bytes_after_ + bytes_after_ / 4 + kSlackBytes / 4)) state_ = State::kPreparing;
}

bool Compactor::step(profile::Profile& profile, ingest::SampleSource& source, symbolize::Symbolizer& symbolizer) {
  if (state_ == State::kPreparing && source.prepare_compaction()) {
    state_ = State::kCopying;
    dropped_before_ = profile.samples().dropped();
    compaction_ = std::make_unique<profile::Compaction>(profile);
    copied_ = false;
    thread_ = std::jthread([this](const std::stop_token& stop) {
      ::setpriority(PRIO_PROCESS, 0, kNice);  // of this thread
      compaction_->copy(stop);
      copied_ = true;
    });
  }
  if (state_ != State::kCopying || !copied_) return false;
  const uint64_t begin = monotonic_ns();
  thread_.join();
  compaction_->finish(profile, [&](profile::RowCopier& ids) {
    source.rebase(ids);
    symbolizer.rebase(profile, ids);
  });
  bytes_after_ = profile.table_bytes();
  state_ = State::kIdle;
  ++done_;
  longest_ns_ = std::max(longest_ns_, monotonic_ns() - begin);
  thread_ = std::jthread([old = std::move(compaction_)]() mutable {
    old.reset();       // a hundred thousand chunks may go with it
    ::malloc_trim(0);  // they were allocated by other threads, whose heaps would keep them
  });
  return true;
}

void Compactor::cancel() {
  if (thread_.joinable()) {
    thread_.request_stop();
    thread_.join();
  }
  compaction_.reset();
  state_ = State::kIdle;
}

std::string Compactor::statistics() const {
  return fmt::format("compactions of the profile: {}, the loop waited {:.1f} ms for one at most", done_, static_cast<double>(longest_ns_) * 1e-6);
}

}  // namespace cicada::engine
