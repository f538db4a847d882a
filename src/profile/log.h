// SPDX-License-Identifier: Apache-2.0
// A sequence that only grows, whose copies share its memory: copying takes as long for ten million rows as for ten.
//
//   writer's  [chunk][chunk][chunk][cha·····]        appends here
//                │      │      │      │
//   a copy    [  ·      ·      ·   ]   (size 3.2)     sees its own rows for ever
//
// Rows below a copy's size never change under it: appending writes behind them, edit() first copies a chunk that somebody shares.
// A chunk is freed with the last copy that has it.
// Threads: one writer for each object. A copy made by the writer can be read, and copied again, by any thread meanwhile.
#pragma once
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/check.h"

namespace cicada::profile {

template <typename T, unsigned kShift = 10>
class Log {
 public:
  using value_type = T;
  static constexpr size_t kChunkRows = size_t{1} << kShift;

  Log() = default;
  Log(const Log& other) : spine_(other.spine_), size_(other.size_) { other.shared_.store(true, std::memory_order_relaxed); }
  Log(Log&& other) noexcept
      : spine_(std::move(other.spine_)), size_(std::exchange(other.size_, 0)), mine_(std::move(other.mine_)), shared_(other.shared_.load(std::memory_order_relaxed)) {
    other.mine_.clear();
  }
  Log& operator=(Log other) noexcept {
    std::swap(spine_, other.spine_);
    std::swap(size_, other.size_);
    std::swap(mine_, other.mine_);
    shared_.store(other.shared_.load(std::memory_order_relaxed), std::memory_order_relaxed);
    return *this;
  }
  ~Log() = default;

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  size_t bytes() const { return spine_size() * kChunkRows * sizeof(T); }  // copies share them
  const T& operator[](size_t i) const { return (*spine_)[i >> kShift][i & (kChunkRows - 1)]; }
  const T& back() const { return (*this)[size_ - 1]; }
  // Rows that stand in one chunk: what append_together() wrote.
  std::span<const T> together(size_t begin, size_t count) const {
    if (count == 0) return {};
    CHECK((begin & (kChunkRows - 1)) + count <= kChunkRows && begin + count <= size_);
    return {&(*this)[begin], count};
  }

  void push_back(const T& row) {
    if ((size_ & (kChunkRows - 1)) == 0) {
      own_spine();
      spine_->push_back(std::make_shared<T[]>(kChunkRows));
      mine_.push_back(kMine);
    } else if (mine_.size() < spine_size()) {  // a copy: its last chunk belongs to who it was copied from
      copy_chunk(size_ >> kShift);
    }
    (*spine_)[size_ >> kShift][size_ & (kChunkRows - 1)] = row;
    ++size_;
  }
  // `row(i)` for each i below `count`.
  template <typename Row>
  void append(size_t count, Row row) {
    for (size_t done = 0; done < count;) {
      push_back(row(done++));
      T* const free = &(*spine_)[(size_ - 1) >> kShift][(size_ - 1) & (kChunkRows - 1)] + 1;
      const size_t more = std::min(count - done, -size_ & (kChunkRows - 1));
      for (size_t i = 0; i < more; ++i) free[i] = row(done + i);
      size_ += more;
      done += more;
    }
  }
  // At most kChunkRows rows, one behind the other in memory. Returns where they begin.
  size_t append_together(std::span<const T> rows) {
    CHECK(rows.size() <= kChunkRows);
    const size_t left = (kChunkRows - (size_ & (kChunkRows - 1))) & (kChunkRows - 1);
    for (size_t i = 0; rows.size() > left && i < left; ++i) push_back(T());
    const size_t begin = size_;
    for (const T& row : rows) push_back(row);
    return begin;
  }
  // A row to be changed. Copies of this log keep the old one.
  T& edit(size_t i) {
    const size_t chunk = i >> kShift;
    if (shared_.load(std::memory_order_relaxed)) own_spine();
    if (mine_.size() <= chunk || mine_[chunk] != kMine) copy_chunk(chunk);
    return (*spine_)[chunk][i & (kChunkRows - 1)];
  }
  // Forgets the oldest chunks; what remains is counted from 0 again.
  void drop_front_chunks(size_t count) {
    if (count == 0) return;
    CHECK(count * kChunkRows <= size_);
    own_spine();
    mine_.resize(spine_size(), kAppendOnly);
    spine_->erase(spine_->begin(), spine_->begin() + static_cast<ptrdiff_t>(count));
    mine_.erase(mine_.begin(), mine_.begin() + static_cast<ptrdiff_t>(count));
    size_ -= count * kChunkRows;
  }

  class Iterator {
   public:
    using iterator_category = std::random_access_iterator_tag;
    using value_type = T;
    using difference_type = ptrdiff_t;
    using pointer = const T*;
    using reference = const T&;
    Iterator() = default;
    Iterator(const Log* log, size_t at) : log_(log), at_(at) {}
    reference operator*() const { return (*log_)[at_]; }
    pointer operator->() const { return &(*log_)[at_]; }
    reference operator[](difference_type n) const { return (*log_)[at_ + static_cast<size_t>(n)]; }
    Iterator& operator++() { return ++at_, *this; }
    Iterator operator++(int) { return {log_, at_++}; }
    Iterator& operator--() { return --at_, *this; }
    Iterator operator--(int) { return {log_, at_--}; }
    Iterator& operator+=(difference_type n) { return at_ += static_cast<size_t>(n), *this; }
    Iterator& operator-=(difference_type n) { return at_ -= static_cast<size_t>(n), *this; }
    friend Iterator operator+(Iterator it, difference_type n) { return it += n; }
    friend Iterator operator+(difference_type n, Iterator it) { return it += n; }
    friend Iterator operator-(Iterator it, difference_type n) { return it -= n; }
    friend difference_type operator-(const Iterator& a, const Iterator& b) { return static_cast<ptrdiff_t>(a.at_) - static_cast<ptrdiff_t>(b.at_); }
    bool operator==(const Iterator& other) const { return at_ == other.at_; }
    auto operator<=>(const Iterator& other) const { return at_ <=> other.at_; }

   private:
    const Log* log_ = nullptr;
    size_t at_ = 0;
  };
  Iterator begin() const { return {this, 0}; }
  Iterator end() const { return {this, size_}; }

 private:
  using Spine = std::vector<std::shared_ptr<T[]>>;
  enum Claim : uint8_t { kAppendOnly, kMine };  // of a chunk: made here, but shared since; nobody else has it

  size_t spine_size() const { return spine_ == nullptr ? 0 : spine_->size(); }

  // Afterwards the spine is nobody else's, and what was shared since the last time counts as such.
  void own_spine() {
    if (spine_ == nullptr) {
      spine_ = std::make_shared<Spine>();
    } else if (shared_.load(std::memory_order_relaxed) || mine_.size() < spine_->size()) {
      spine_ = std::make_shared<Spine>(*spine_);
      std::fill(mine_.begin(), mine_.end(), kAppendOnly);
    }
    shared_.store(false, std::memory_order_relaxed);
    mine_.resize(spine_->size(), kAppendOnly);
  }
  void copy_chunk(size_t chunk) {
    own_spine();
    auto copy = std::make_shared<T[]>(kChunkRows);
    const size_t rows = std::min(kChunkRows, size_ - (chunk << kShift));
    std::copy_n((*spine_)[chunk].get(), rows, copy.get());
    (*spine_)[chunk] = std::move(copy);
    mine_[chunk] = kMine;
  }

  std::shared_ptr<Spine> spine_;
  size_t size_ = 0;
  std::vector<Claim> mine_;  // by chunk; shorter than the spine: this is a copy
  mutable std::atomic<bool> shared_{false};  // copied since own_spine()
};

}  // namespace cicada::profile
