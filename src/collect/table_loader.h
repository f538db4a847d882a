// SPDX-License-Identifier: Apache-2.0
// Compiles unwind tables on worker threads, never on the thread that drains the ring, and puts them into the TableStore.
//
//   request(image) ──▶ queue ──▶ worker: ImageUnwinders::get ──▶ TableStore::load
//
// Owns its threads. Threads: any.
#pragma once
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <thread>
#include <unordered_set>
#include <vector>

#include "collect/image_unwinders.h"
#include "collect/table_store.h"

namespace cicada::collect {

class TableLoader {
 public:
  TableLoader(TableStore& store, ImageUnwinders& images, unsigned workers);
  ~TableLoader();

  // Once per image: further calls are free. An evicted table comes back with request_again, one that can never fit the cap is not tried twice:
  // its stacks are finished in user space.
  void request(uint32_t image);
  void request_again(uint32_t image);
  bool idle() const;
  uint64_t requested() const;  // images, ever
  uint64_t compiled() const;   // tables put into the kernel or found to be none; those that came back count again
  std::chrono::microseconds working() const;  // time during which somebody waited for a table

 private:
  void work(std::stop_token stop);
  void enqueue(uint32_t image);
  bool has_nothing_to_do() const { return queue_.empty() && busy_ == 0; }  // under mutex_

  TableStore& store_;
  ImageUnwinders& images_;
  mutable std::mutex mutex_;
  std::condition_variable_any wake_;
  std::deque<uint32_t> queue_;
  std::unordered_set<uint32_t> requested_, queued_, refused_;
  unsigned busy_ = 0;
  uint64_t compiled_ = 0;
  std::chrono::steady_clock::time_point working_since_;
  std::chrono::steady_clock::duration worked_{};
  std::vector<std::jthread> threads_;
};

}  // namespace cicada::collect
