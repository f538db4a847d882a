// SPDX-License-Identifier: Apache-2.0
#include "bpf_source/table_loader.h"

#include <algorithm>

#include "base/diagnostics.h"

namespace cicada::bpf_source {

TableLoader::TableLoader(TableStore& store, ingest::ImageUnwinders& images, unsigned workers, Loaded loaded)
    : store_(store),
      images_(images),
      loaded_(std::move(loaded)),
      queue_({.thread_name = "cicada-tables", .workers = std::max(1U, workers), .heavy = ingest::ImageUnwinders::kLargeImage}) {
  queue_.submit({.run = [this](WorkQueue::Attempt&) { store_.prepare(); }});
}

void TableLoader::request(uint32_t image) {
  const std::lock_guard lock(mutex_);
  if (requested_.insert(image).second) enqueue(image);
}

void TableLoader::request_again(uint32_t image) {
  if (store_.is_loaded(image)) return;
  const std::lock_guard lock(mutex_);
  if (refused_.contains(image)) return;
  requested_.insert(image);
  enqueue(image);
}

void TableLoader::request_newer(uint32_t image, uint64_t version) {
  const std::lock_guard lock(mutex_);
  if (queued_.contains(image)) return;
  Newer& newer = newer_[image];
  const auto now = std::chrono::steady_clock::now();
  if (newer.version >= version || now < newer.not_before || refused_.contains(image)) return;
  newer.not_before = now + newer.pause;
  newer.pause = std::min(2 * newer.pause, kMaxNewerAfter);
  enqueue(image);
}

void TableLoader::enqueue(uint32_t image) {
  if (!queued_.insert(image).second) return;
  WorkQueue::Job job = images_.job_of(image);
  job.run = [this, image](WorkQueue::Attempt&) { load(image); };
  job.give_up = [this, image](const Error&) { note_over(image, false); };
  if (queue_.submit(std::move(job)) == 0) queued_.erase(image);
}

bool TableLoader::idle() const {
  const std::lock_guard lock(mutex_);
  return queued_.empty();
}

uint64_t TableLoader::requested() const {
  const std::lock_guard lock(mutex_);
  return requested_.size();
}

uint64_t TableLoader::compiled() const {
  const std::lock_guard lock(mutex_);
  return compiled_;
}

std::chrono::microseconds TableLoader::working() const {
  return std::chrono::duration_cast<std::chrono::microseconds>(queue_.counts().busy);
}

// What has been read of an image's code leaves user space sooner than the kernel: its table may be the newer one.
bool TableLoader::has_newer(uint32_t image, uint64_t version) const {
  const std::lock_guard lock(mutex_);
  const auto newer = newer_.find(image);
  return newer != newer_.end() && newer->second.version > version && store_.is_loaded(image);
}

void TableLoader::load(uint32_t image) {
  bool never_fits = false;
  if (const auto unwinder = images_.get(image)) {
    const unwind::UnwindRows& rows = (*unwinder)->rows();
    const uint64_t version = (*unwinder)->version();
    if (rows.empty()) {
      store_.load_without_cfi(image);
      diagnostics().info((*unwinder)->name(), "no unwind table in it: frame pointers");
    } else if (has_newer(image, version)) {
      diagnostics().info((*unwinder)->name(), "a newer unwind table is there");
    } else if (const Result<void> loaded = store_.load(image, rows); !loaded) {
      diagnostics().warn((*unwinder)->name(), "no unwind table: {}", loaded.error().message());
      never_fits = loaded.error().kind() == ErrorKind::kLimit && !store_.is_loaded(image);
    } else {
      diagnostics().info((*unwinder)->name(), "unwind table of {} KiB loaded", (rows.bytes().size() + 1023) >> 10);
      if (loaded_) loaded_(image, rows);
      const std::lock_guard lock(mutex_);
      if (version != 0 || newer_.contains(image)) newer_[image].version = version;
    }
  } else {
    diagnostics().info(fmt::format("image {}", image), "no unwind table: {}", unwinder.error().message());
    if (unwinder.error().kind() == ErrorKind::kCorrupt) store_.load_without_cfi(image);
  }
  note_over(image, never_fits);
}

void TableLoader::note_over(uint32_t image, bool never_fits) {
  const std::lock_guard lock(mutex_);
  queued_.erase(image);
  if (never_fits) refused_.insert(image);
  ++compiled_;
}

}  // namespace cicada::bpf_source
