// SPDX-License-Identifier: Apache-2.0
// The two FIFOs between a runner and its clients, made with care: /tmp is everybody's.
//
// Both are made anew (never opened through a link), belong to the benchmark's user, mode 0600. One runner at a time: a lock that nobody else can
// open, in a directory that only root writes to. A pair of the benchmark's user or of ours that a program reads from is not taken over;
// one that nobody has open, or a stranger's, is. A child that waits for our end removes them, so that they go even if we are killed: a
// leftover costs each client four seconds.
//
// Owns descriptors, files and the child. Threads: one; create it before any is started.
#pragma once
#include <sys/types.h>

#include <string>

#include "base/result.h"
#include "base/unique_fd.h"

namespace cicada::benchmark {

struct FifoPlaces {
  std::string directory = "/tmp", control = "runner.ctl.fifo", answer = "runner.ack.fifo";
  std::string lock = "/run/cicada-bench.lock";
};

class FifoPair {
 public:
  // Fails: kLimit (another runner is there; the message says who), kPermission, kIo.
  static Result<FifoPair> create(uid_t uid, gid_t gid, const FifoPlaces& places = {});
  FifoPair(FifoPair&&) = default;
  FifoPair& operator=(FifoPair&&) = delete;
  ~FifoPair();

  int control() const { return control_.get(); }  // read end, non-blocking; end of file: no client has it open
  int answer() const { return answer_.get(); }    // both ends, non-blocking

 private:
  FifoPair() = default;
  UniqueFd lock_, control_, answer_;
  UniqueFd remover_;  // closed: the child removes the files and ends
  pid_t child_ = -1;
};

}  // namespace cicada::benchmark
