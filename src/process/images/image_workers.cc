// SPDX-License-Identifier: Apache-2.0
// Threads that open files, and what becomes of those that hang.
#include <fcntl.h>
#include <unistd.h>

#include <thread>

#include "base/diagnostics.h"
#include "process/images/image_registry_state.h"

namespace cicada::process {

void ImageRegistry::State::enqueue(ImageEntry& image) {
  image.state = ImageState::kOpening;
  ++image.tries;
  queue.push_back(image.job.id);
  ensure_workers();
  work.notify_one();
}

void ImageRegistry::State::ensure_workers() {
  while (workers.size() < options.workers) {
    auto worker = std::make_shared<Worker>();
    workers.push_back(worker);
    ++running_threads;
    std::thread([self = shared_from_this(), worker] { self->run(*worker); }).detach();
  }
}

void ImageRegistry::State::run(Worker& self) {
  std::unique_lock lock(mutex);
  for (;;) {
    work.wait(lock, [&] { return stopping || !queue.empty() || self.abandoned; });
    if (stopping || self.abandoned) break;
    const uint32_t id = queue.front();
    queue.pop_front();
    const ImageJob job = entry(id).job;
    self.job = id;
    self.since = Clock::now();
    lock.unlock();
    auto opened = open_image(job, file_systems);
    if (opened) opened->root = find_root(job);
    lock.lock();
    self.job = 0;
    if (self.abandoned) break;  // the file was given up; its descriptor closes here
    finish(entry(id), std::move(opened));
  }
  --running_threads;
  idle.notify_all();
}

std::shared_ptr<const UniqueFd> ImageRegistry::State::find_root(const ImageJob& job) {
  for (const ImageHint& hint : job.hints) {
    if (auto root = roots.find(hint.pid)) return root;
  }
  return nullptr;
}

void ImageRegistry::State::finish(ImageEntry& image, Result<OpenedImage> opened) {
  if (image.state != ImageState::kOpening) return;
  if (opened) {
    ++counts.opened;
    fill(image, *std::move(opened));
  } else {
    const Error& error = opened.error();
    // A device or FIFO stays what it is. Else the next process that maps the file gives another chance.
    image.state = error.kind() == ErrorKind::kUnsupported ? ImageState::kNotElf : ImageState::kFailed;
    ++counts.open_failed;
    if (error.kind() != ErrorKind::kGone) diagnostics().warn(image.job.path, "code of this file stays unnamed: {}", error.message());
  }
  mark_ready(image.job.id);
}

void ImageRegistry::State::mark_ready(uint32_t id) {
  ready.push_back(id);
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(ready_event.get(), &one, sizeof one);
}

Result<UniqueFd> ImageRegistry::State::open_patiently(uint32_t id) {
  struct Attempt {
    std::mutex mutex;
    std::condition_variable over;
    std::atomic<uint64_t> progress{0};
    std::optional<Result<UniqueFd>> outcome;
  };
  std::unique_lock lock(mutex);
  const ImageJob job = entry(id).job;
  const UniqueFd handle(::fcntl(entry(id).fd.get(), F_DUPFD_CLOEXEC, 0));
  lock.unlock();
  if (handle) TRY(file_systems.ask(job.file, fmt::format("/proc/{}/fd/{}", ::getpid(), handle.get())));
  auto attempt = std::make_shared<Attempt>();
  std::thread([self = shared_from_this(), attempt, id, path = job.path] {
    auto copy = [&]() -> Result<UniqueFd> {
      const UniqueFd fd = TRY(self->open_again(id));
      return copy_of(fd.get(), path, attempt->progress);
    }();
    const std::lock_guard done(attempt->mutex);
    attempt->outcome = std::move(copy);
    attempt->over.notify_all();
  }).detach();
  std::unique_lock waiting(attempt->mutex);
  for (uint64_t before = UINT64_MAX; !attempt->outcome;) {
    const uint64_t now = attempt->progress.load(std::memory_order_relaxed);
    if (now == before) {
      waiting.unlock();
      lock.lock();
      ++counts.stuck;
      return file_systems.note_silent(job.file);
    }
    before = now;
    attempt->over.wait_for(waiting, std::chrono::milliseconds(options.stuck_after_ms), [&] { return attempt->outcome.has_value(); });
  }
  return *std::move(attempt->outcome);
}

void ImageRegistry::State::give_up_stuck() {
  const auto now = Clock::now();
  for (auto& worker : workers) {
    if (worker->job == 0 || now - worker->since < std::chrono::milliseconds(options.stuck_after_ms)) continue;
    ImageEntry& image = entry(worker->job);
    worker->abandoned = true;
    ++counts.stuck;
    image.state = ImageState::kFailed;
    image.tries = kMaxTries;
    diagnostics().warn(image.job.path, "its file system does not answer: code of this file stays unnamed");
    mark_ready(image.job.id);
    worker = nullptr;
  }
  if (std::erase(workers, nullptr) == 0) return;
  if (counts.stuck < options.max_stuck) return ensure_workers();
  if (!workers.empty()) return;
  for (const uint32_t id : queue) {
    entry(id).state = ImageState::kFailed;
    mark_ready(id);
  }
  queue.clear();
  options.workers = 0;  // no more threads are risked
}

}  // namespace cicada::process
