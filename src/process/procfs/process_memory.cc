// SPDX-License-Identifier: Apache-2.0
#include "process/procfs/process_memory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <string>

namespace cicada::process {
namespace {

// The child. By a file: process_vm_readv() waits for the address space's lock as nobody can be killed.
void serve(ChildEnd end, const char* path) {
  const int memory = ::open(path, O_RDONLY | O_CLOEXEC);
  for (uint64_t address = 0; end.hear(address);) {
    ChildAnswer answer;
    const ssize_t got = ::pread(memory, &answer.number, sizeof answer.number, static_cast<off_t>(address));
    if (got <= 0) answer.error = got < 0 ? errno : EIO;
    end.say(answer);
  }
}

}  // namespace

std::optional<uint64_t> ProcessMemory::read_word(RuntimeAddr address) {
  if (!begun_ && pid_ > 0) {  // 0 is nobody
    begun_ = true;
    const std::string path = fmt::format("/proc/{}/mem", pid_);
    auto child = children_->start({}, [&path](ChildEnd end) { serve(end, path.c_str()); });
    if (child) child_.emplace(std::move(*child));
  }
  if (!child_) return std::nullopt;
  const auto answer = child_->ask(address.value);
  if (!answer || !*answer || (*answer)->error != 0) return std::nullopt;
  return (*answer)->number;
}

}  // namespace cicada::process
