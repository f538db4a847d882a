// SPDX-License-Identifier: Apache-2.0
// For tests: openers that are threads of this process. They outlive who asks them.
#pragma once
#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "parser/file_openers.h"

namespace cicada::parser {

class OpenerThreads {
 public:
  explicit OpenerThreads(void (*work)(sandbox::Channel)) : work_(work) {}
  ~OpenerThreads() {
    for (std::thread& thread : threads_) thread.join();
  }
  // Those that are silent go to a ledger of this object's: they are no processes, and never seen to end.
  std::shared_ptr<FileOpeners> make(std::chrono::milliseconds silence = std::chrono::minutes(5)) {
    return std::make_shared<FileOpeners>(
        [this]() -> Result<sandbox::Zygote::Child> {
          auto [ours, theirs] = TRY(sandbox::Channel::make_pair());
          ++started;
          threads_.emplace_back([this, theirs = std::make_shared<sandbox::Channel>(std::move(theirs))] { work_(std::move(*theirs)); });
          return sandbox::Zygote::Child{sandbox::Channel(std::move(ours)), UniqueFd(), 0};
        },
        silence, left_);
  }
  std::atomic<unsigned> started{0};

 private:
  void (*const work_)(sandbox::Channel);
  std::vector<std::thread> threads_;
  LeftBehind left_;
};

}  // namespace cicada::parser
