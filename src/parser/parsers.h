// SPDX-License-Identifier: Apache-2.0
// The parsers of this program: processes that read strangers' files for it, those of one user by others than those of another.
//
//   question (owner, image) ──▶ a free parser of that owner, or a new one ──▶ answer, checked by who asked
//
// A question has a budget in CPU time: kBudget and kBudgetPerMiB of what exists of the files that are read for it, kMaxBudget at most. A
// parser beyond it is killed, which costs this question only; so is one that takes kWallFactor times as long by the wall clock, one that
// sleeps for kSilence (it waits for a file system that says nothing), and one that does not read what it asked for. An image that has cost
// kMaxDeaths parsers, or one its silence, is not asked about again. One that was killed is left behind (base/left_behind.h).
// What companions a parser gets says the question (owner_companions.h).
// Bounds: `per_owner` processes of one owner, kMaxParsers in all; those that were not used longest end first.
// What a parser has used for a question counts as work of the thread that asked (delegated_cpu_time()), so that its owner waits for his
// turn. Threads: any; one question at a time is asked by each.
#pragma once
#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <stop_token>
#include <string>
#include <tuple>
#include <vector>

#include "base/left_behind.h"
#include "parser/protocol.h"
#include "sandbox/zygote.h"
#include "symbolize/files/companion_files.h"

namespace cicada::parser {

struct Question {
  Kind kind = kName;
  uint32_t owner = 0;  // of the file, or of the stacks
  uint64_t image = 0;  // any number that is always the same file's
  std::string path;
  int file = -1;
  std::array<uint64_t, 5> numbers{};
  std::string contents = {};  // of the job file
  symbolize::CompanionFiles* companions = nullptr;  // null: it may have none
};

class Parsers {
 public:
  static constexpr std::chrono::milliseconds kBudget{2000}, kBudgetPerMiB{20}, kMaxBudget{20'000};
  static constexpr std::chrono::milliseconds kSilence{2000};
  static constexpr int kWallFactor = 10;
  static constexpr unsigned kMaxParsers = 24;
  static constexpr int kMaxDeaths = 3;

  // `start` makes parsers: a zygote's spawn.
  using Start = std::function<Result<sandbox::Zygote::Child>(uint32_t owner)>;
  Parsers(Start start, const symbolize::SymbolizeOptions& options, unsigned per_owner,
          LeftBehind& left = LeftBehind::all());
  ~Parsers();

  // The bytes of the answer, at most `max_bytes`, not checked. Ends soon after `stop` is requested.
  // Fails: what the parser says; kLimit (its budget), kGone (it died), kCorrupt.
  Result<std::string> ask(const Question& question, size_t max_bytes, const std::stop_token& stop = {});
  // The same where it is: read it with sandbox::read_file().
  struct Answer {
    UniqueFd file;
    uint64_t size = 0;
  };
  Result<Answer> ask_for_file(const Question& question, size_t max_bytes, const std::stop_token& stop = {});
  unsigned per_owner() const { return per_owner_; }

 private:
  struct Running;
  using Key = std::tuple<Kind, uint32_t, uint64_t>;  // with the owner; images are numbered by who asks
  static Key key_of(const Question& question) { return {question.kind, question.owner, question.image}; }
  Result<std::unique_ptr<Running>> take(const Question& question, const std::stop_token& stop);
  Result<std::unique_ptr<Running>> start(uint32_t owner);
  void end_longest_idle();  // under the mutex
  void give_back(const Question& question, std::unique_ptr<Running> running, bool alive, int deaths);

  const Start start_;
  const std::string options_;
  const unsigned per_owner_;
  LeftBehind& left_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<uint32_t, std::vector<std::unique_ptr<Running>>> idle_;  // by owner
  std::map<uint32_t, unsigned> count_;                              // idle or not, by owner
  unsigned all_ = 0;
  uint64_t turn_ = 0;
  std::map<Key, int> deaths_;
};

}  // namespace cicada::parser
