// SPDX-License-Identifier: Apache-2.0
// What one question may cost. Work and memory that a hostile file could multiply (one table, list or string that everything refers to) is paid
// from here, in bytes read or kept. Whoever asked may also end it early, which looks the same from inside.
// Threads: one; `stop` is requested by any.
#pragma once
#include <cstdint>
#include <stop_token>

namespace cicada {

class WorkBudget {
 public:
  explicit WorkBudget(uint64_t bytes, std::stop_token stop = {}) : left_(bytes), stop_(std::move(stop)) {}
  // False from the first time on that it does not suffice: what was begun is left out.
  bool spend(uint64_t bytes) {
    since_look_ += bytes;
    if (bytes > left_ || (since_look_ >= kLookBytes && is_stopped())) [[unlikely]] {
      left_ = 0;
      exhausted_ = true;
      return false;
    }
    left_ -= bytes;
    return true;
  }
  bool exhausted() const { return exhausted_; }
  uint64_t left() const { return left_; }

 private:
  static constexpr uint64_t kLookBytes = 64 << 10;
  bool is_stopped() {
    since_look_ = 0;
    return stop_.stop_requested();
  }
  uint64_t left_, since_look_ = 0;
  std::stop_token stop_;
  bool exhausted_ = false;
};

}  // namespace cicada
