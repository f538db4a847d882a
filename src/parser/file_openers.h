// SPDX-License-Identifier: Apache-2.0
// Opens files by name in processes that can be left behind. A name may lead to any file system, also to one that falls silent, where who
// waits cannot be killed and his process does not end. These are there before a name comes, as base/disposable_child.h is not: a name costs
// two messages.
//
//   open(root, name, user) ──▶ an opener, with the user's rights ──▶ the file, or what others answer for as a copy in memory
//
// One that says nothing for kSilence, or is not done after kMaxOpen or when its question is taken back, is left behind
// (base/left_behind.h); a user of whom too many were is refused. Threads: any.
#pragma once
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <vector>

#include "base/left_behind.h"
#include "sandbox/zygote.h"
#include "symbolize/files/file_root.h"

namespace cicada::parser {

class FileOpeners {
 public:
  static constexpr std::chrono::milliseconds kSilence{1500};
  static constexpr std::chrono::seconds kMaxOpen{20};  // of one that makes progress
  static constexpr size_t kMaxIdle = 4;
  static constexpr uint64_t kMaxCopyBytes = 256 << 20;

  // `start` makes openers: a zygote's spawn, of processes that call serve_names().
  using Start = std::function<Result<sandbox::Zygote::Child>()>;
  explicit FileOpeners(Start start, std::chrono::milliseconds silence = kSilence, LeftBehind& left = LeftBehind::all())
      : start_(std::move(start)), silence_(silence), left_(left) {}

  struct File {
    UniqueFd fd;
    std::string path;  // where links led
    uint32_t owner = 0, mode = 0;
    bool by_user = false;  // its modes let the user read it, as far as we may ask as him
  };
  // Fails: as FileRoot::open, kIo (no answer, or none before `stop` was requested), kLimit (too large a copy).
  Result<File> open(const symbolize::FileRoot& root, const std::string& name, uint32_t user,
                    const std::stop_token& stop = {});

 private:
  using Opener = std::unique_ptr<sandbox::Zygote::Child>;
  Result<Opener> take(uint32_t user);
  void give_back(Opener opener);
  void leave(Opener opener, uint32_t user);

  const Start start_;
  const std::chrono::milliseconds silence_;
  LeftBehind& left_;
  std::mutex mutex_;
  std::vector<Opener> idle_;
};

// The opener's half: opens until the other end is closed.
void serve_names(sandbox::Channel channel);

}  // namespace cicada::parser
