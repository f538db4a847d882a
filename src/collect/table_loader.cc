// SPDX-License-Identifier: Apache-2.0
#include "collect/table_loader.h"

#include <sys/prctl.h>

#include "base/diagnostics.h"

namespace cicada::collect {

TableLoader::TableLoader(TableStore& store, ImageUnwinders& images, unsigned workers) : store_(store), images_(images) {
  for (unsigned i = 0; i < std::max(1U, workers); ++i) {
    threads_.emplace_back([this](std::stop_token stop) { work(stop); });
  }
}

TableLoader::~TableLoader() {
  for (std::jthread& thread : threads_) thread.request_stop();
  wake_.notify_all();
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

void TableLoader::enqueue(uint32_t image) {
  if (!queued_.insert(image).second) return;
  if (has_nothing_to_do()) working_since_ = std::chrono::steady_clock::now();
  queue_.push_back(image);
  wake_.notify_one();
}

bool TableLoader::idle() const {
  const std::lock_guard lock(mutex_);
  return has_nothing_to_do();
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
  const std::lock_guard lock(mutex_);
  const auto current = has_nothing_to_do() ? std::chrono::steady_clock::duration{} : std::chrono::steady_clock::now() - working_since_;
  return std::chrono::duration_cast<std::chrono::microseconds>(worked_ + current);
}

void TableLoader::work(std::stop_token stop) {
  ::prctl(PR_SET_NAME, "cicada-tables");
  store_.prepare();
  for (;;) {
    uint32_t image = 0;
    {
      std::unique_lock lock(mutex_);
      if (!wake_.wait(lock, stop, [&] { return !queue_.empty(); })) return;
      image = queue_.front();
      queue_.pop_front();
      ++busy_;
    }
    bool never_fits = false;
    if (const auto unwinder = images_.get(image)) {
      const unwind::RowTable& table = (*unwinder)->rows();
      if (table.empty()) {
        store_.load_without_cfi(image);
      } else if (const Result<void> loaded = store_.load(image, table); !loaded) {
        diagnostics().warn((*unwinder)->name(), "no unwind table: {}", loaded.error().message());
        never_fits = loaded.error().kind() == ErrorKind::kLimit;
      }
    } else {
      diagnostics().info(fmt::format("image {}", image), "no unwind table: {}", unwinder.error().message());
    }
    const std::lock_guard lock(mutex_);
    queued_.erase(image);
    if (never_fits) refused_.insert(image);
    --busy_;
    ++compiled_;
    if (has_nothing_to_do()) worked_ += std::chrono::steady_clock::now() - working_since_;
  }
}

}  // namespace cicada::collect
