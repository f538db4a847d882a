// SPDX-License-Identifier: Apache-2.0
#include "bpf_source/fifo_writers.h"

#include <bpf/libbpf.h>
#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <utility>

#include "base/monotonic_clock.h"
#include "fifo_writers.skel.h"

namespace cicada::bpf_source {
namespace {

constexpr int kSignal = SIGWINCH;  // ignored unless somebody wants it
constexpr uint64_t kPatienceNs = 20'000'000;

Result<void> ask_for_signals(int read_end) {
  const int flags = ::fcntl(read_end, F_GETFL);
  if (flags < 0 || ::fcntl(read_end, F_SETOWN, ::getpid()) != 0 || ::fcntl(read_end, F_SETSIG, kSignal) != 0 || ::fcntl(read_end, F_SETFL, flags | O_ASYNC) != 0)
    return errno_error(errno, "ask who writes to a FIFO");
  return {};
}

}  // namespace

Result<std::unique_ptr<FifoWriters>> FifoWriters::watch(int read_end) {
  ::libbpf_set_print(nullptr);  // the error is enough
  std::unique_ptr<FifoWriters> writers(new FifoWriters(fifo_writers_bpf::open()));
  fifo_writers_bpf* kernel = writers->kernel_;
  if (kernel == nullptr) return errno_error(errno, "open the BPF program that sees who writes to a FIFO");
  kernel->rodata->reader = ::getpid();
  kernel->rodata->read_signal = kSignal;
  if (const int error = fifo_writers_bpf::load(kernel); error != 0) return errno_error(-error, "load the BPF program that sees who writes to a FIFO");
  if (const int error = fifo_writers_bpf::attach(kernel); error != 0) return errno_error(-error, "attach to the tracepoint signal_generate");
  TRY(ask_for_signals(read_end));
  return writers;
}

FifoWriters::~FifoWriters() {
  if (kernel_ != nullptr) fifo_writers_bpf::destroy(kernel_);
}

uint64_t FifoWriters::last() {
  const std::atomic_ref writes(kernel_->bss->writes);
  for (const uint64_t until = monotonic_ns() + kPatienceNs; writes.load(std::memory_order_acquire) == seen_ && monotonic_ns() < until;) ::usleep(50);
  const uint64_t now = writes.load(std::memory_order_acquire);
  if (std::exchange(seen_, now) == now) return 0;
  return std::atomic_ref(kernel_->bss->writer).load(std::memory_order_relaxed);
}

}  // namespace cicada::bpf_source
