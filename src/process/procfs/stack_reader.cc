// SPDX-License-Identifier: Apache-2.0
#include "process/procfs/stack_reader.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "base/unique_fd.h"
#include "process/procfs/proc_fs.h"

namespace cicada::process {
namespace {

constexpr std::chrono::milliseconds kTimeout(500);
constexpr uint64_t kPageBytes = 4096;
constexpr size_t kMostPages = 64;

// A word of /proc/PID/pagemap.
constexpr uint64_t kPresent = uint64_t{1} << 63, kSwapped = uint64_t{1} << 62, kOfFile = uint64_t{1} << 61;
bool is_private(uint64_t page) { return (page & (kPresent | kSwapped)) != 0 && (page & kOfFile) == 0; }

UniqueFd open_of(const char* format, int pid, int tid) {
  char path[64];
  std::snprintf(path, sizeof path, format, pid, tid);
  return UniqueFd(::open(path, O_RDONLY | O_CLOEXEC));
}

// "RAN QUEUED TURNS". Nothing: the kernel does not count them.
std::optional<uint64_t> turns_of(int pid, int tid) {
  char text[96] = {};
  const UniqueFd file = open_of("/proc/%d/task/%d/schedstat", pid, tid);
  if (::read(file.get(), text, sizeof text - 1) <= 0) return std::nullopt;
  const char* last = std::strrchr(text, ' ');
  if (last == nullptr) return std::nullopt;
  return std::strtoull(last, nullptr, 10);
}

}  // namespace

// Between us and the child.
struct StackReader::Shared {
  int pid, tid;
  uint64_t begin, turns;
  uint64_t pages, size;
  uint8_t bytes[DEFERRED_STACK_BYTES];
};

StackReader::StackReader() : children_(kTimeout) { map_shared(); }
StackReader::~StackReader() { unmap_shared(); }

void StackReader::map_shared() {
  void* at = ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (at != MAP_FAILED) shared_ = static_cast<Shared*>(at);
}

void StackReader::unmap_shared() {
  if (shared_ != nullptr) ::munmap(std::exchange(shared_, nullptr), sizeof(Shared));
}

std::optional<StackReader::Copy> StackReader::read(Pid pid, Tid tid, uint64_t begin, uint64_t turns) {
  if (shared_ == nullptr) return std::nullopt;
  const uint32_t owner = owner_of(pid);
  if (!child_) {
    auto child = children_.start(owner, {}, [shared = shared_](ChildEnd end) { serve(end, *shared); });
    if (child) child_.emplace(std::move(*child));
  }
  if (!child_) return std::nullopt;
  shared_->pid = static_cast<int>(pid);
  shared_->tid = static_cast<int>(tid);
  shared_->begin = begin;
  shared_->turns = turns;
  child_->set_owner(owner);
  const auto answer = child_->ask(0);
  if (!answer || !*answer) {
    child_.reset();
    unmap_shared();  // the child may still write there
    if (++silent_ < kMostSilent) map_shared();
    return std::nullopt;
  }
  if ((*answer)->error != 0) return std::nullopt;
  return Copy{shared_->pages, std::span(shared_->bytes).first(std::min<size_t>(shared_->size, sizeof shared_->bytes))};
}

void StackReader::serve(ChildEnd end, Shared& shared) {
  for (uint64_t question = 0; end.hear(question);) {
    const uint64_t first = shared.begin & ~(kPageBytes - 1);
    const UniqueFd pagemap = open_of("/proc/%d/pagemap", shared.pid, 0), memory = open_of("/proc/%d/mem", shared.pid, 0);
    uint64_t pages[kMostPages] = {};
    const ssize_t got = ::pread(pagemap.get(), pages, sizeof pages, static_cast<off_t>(first / kPageBytes * sizeof *pages));
    shared.pages = shared.size = 0;
    size_t missing = 0;  // in a row
    for (size_t i = 0; i < kMostPages && got >= static_cast<ssize_t>((i + 1) * sizeof *pages); ++i) {
      const uint64_t from = i == 0 ? shared.begin : first + i * kPageBytes;
      const size_t bytes = std::min<size_t>(first + (i + 1) * kPageBytes - from, sizeof shared.bytes - shared.size);
      if (bytes == 0) break;
      if (!is_private(pages[i]) || ::pread(memory.get(), shared.bytes + shared.size, bytes, static_cast<off_t>(from)) != static_cast<ssize_t>(bytes)) {
        if (++missing >= DEFERRED_MAX_HOLE) break;
        continue;
      }
      missing = 0;
      shared.size += bytes;
      shared.pages |= uint64_t{1} << i;
    }
    shared.size &= ~uint64_t{7};
    ChildAnswer answer;
    if (shared.size == 0 || turns_of(shared.pid, shared.tid) != shared.turns) answer.error = ESRCH;
    end.say(answer);
  }
}

}  // namespace cicada::process
