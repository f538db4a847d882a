// SPDX-License-Identifier: Apache-2.0
#include "process/procfs/process_memory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "process/procfs/proc_fs.h"

namespace cicada::process {
namespace {

constexpr size_t kMostAtOnce = 4096;

// The child. By a file: process_vm_readv() waits for the address space's lock as nobody can be killed.
void serve(ChildEnd end, const char* path, uint8_t* shared) {
  const int memory = ::open(path, O_RDONLY | O_CLOEXEC);
  for (uint64_t address = 0; end.hear(address);) {
    ChildAnswer answer;
    const ssize_t got = ::pread(memory, shared, kMostAtOnce, static_cast<off_t>(address));
    if (got <= 0)
      answer.error = got < 0 ? errno : EIO;
    else
      answer.number = static_cast<uint64_t>(got);
    end.say(answer);
  }
}

}  // namespace

ProcessMemory::ProcessMemory(ProcessMemory&& other) noexcept
    : children_(other.children_),
      pid_(other.pid_),
      stop_(std::move(other.stop_)),
      begun_(other.begun_),
      shared_(std::exchange(other.shared_, nullptr)),
      child_(std::move(other.child_)) {
  other.child_.reset();
}

ProcessMemory::~ProcessMemory() {
  if (shared_ != nullptr) ::munmap(shared_, kMostAtOnce);
}

bool ProcessMemory::begin() {
  if (!begun_ && pid_ > 0) {  // 0 is nobody
    begun_ = true;
    void* const shared = ::mmap(nullptr, kMostAtOnce, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) return false;
    shared_ = static_cast<uint8_t*>(shared);
    const std::string path = fmt::format("/proc/{}/mem", pid_);
    auto child = children_->start(owner_of(pid_), {}, [&path, this](ChildEnd end) { serve(end, path.c_str(), shared_); });
    if (child) child_.emplace(std::move(*child));
  }
  return child_.has_value();
}

size_t ProcessMemory::read(RuntimeAddr address, std::span<uint8_t> bytes) {
  if (!begin()) return 0;
  for (size_t done = 0; done < bytes.size();) {
    const auto answer = child_->ask(address.value + done, stop_);
    if (!answer || !*answer || (*answer)->error != 0) return done;
    const size_t got = std::min<size_t>((*answer)->number, kMostAtOnce), part = std::min(got, bytes.size() - done);
    std::memcpy(bytes.data() + done, shared_, part);
    done += part;
    if (got < kMostAtOnce) return done;
  }
  return bytes.size();
}

std::optional<uint64_t> ProcessMemory::read_word(RuntimeAddr address) {
  uint64_t word = 0;
  if (read(address, {reinterpret_cast<uint8_t*>(&word), sizeof word}) == 0) return std::nullopt;
  return word;
}

}  // namespace cicada::process
