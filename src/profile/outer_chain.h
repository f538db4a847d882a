// SPDX-License-Identifier: Apache-2.0
// A row of a table and those that it is inlined into, innermost first. Rows have `outer`, the id of a row that stands before them, and `depth`, 1 for the
// outermost. Borrows the table.
#pragma once
#include <cstddef>
#include <iterator>

namespace cicada::profile {

template <typename Table, typename Id>
class OuterChain {
 public:
  using Row = typename Table::value_type;
  class Iterator {
   public:
    using iterator_category = std::forward_iterator_tag;
    using value_type = Row;
    using difference_type = ptrdiff_t;
    using pointer = const Row*;
    using reference = const Row&;
    Iterator() = default;
    Iterator(const Table* table, Id at) : table_(table), at_(at) {}
    reference operator*() const { return (*table_)[at_.value]; }
    pointer operator->() const { return &**this; }
    Iterator& operator++() {
      at_ = (**this).outer;
      return *this;
    }
    Iterator operator++(int) {
      const Iterator before = *this;
      ++*this;
      return before;
    }
    bool operator==(const Iterator& other) const { return at_ == other.at_; }

   private:
    const Table* table_ = nullptr;
    Id at_;
  };

  OuterChain() = default;
  OuterChain(const Table& table, Id innermost) : table_(&table), innermost_(innermost) {}
  Iterator begin() const { return {table_, innermost_}; }
  Iterator end() const { return {table_, Id()}; }
  bool empty() const { return !innermost_.valid(); }
  size_t size() const { return empty() ? 0 : front().depth; }
  // Of a chain that is not empty.
  const Row& front() const { return (*table_)[innermost_.value]; }
  const Row& back() const { return (*this)[size() - 1]; }
  // Takes `i` steps.
  const Row& operator[](size_t i) const { return *std::next(begin(), static_cast<ptrdiff_t>(i)); }

 private:
  const Table* table_ = nullptr;
  Id innermost_;
};

}  // namespace cicada::profile
