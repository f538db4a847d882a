// SPDX-License-Identifier: Apache-2.0
// Columns of numbers, in both directions: each call is given the value and returns it; a reader ignores what it is given. So a table is
// described once, and its writer and its reader cannot disagree.
//
//   template <typename Io> void code(Io& io, std::vector<Row>& rows) {
//     for (Row& row : rows) row.line = io.number(row.line);
//     io.end_column();
//   }
//
// A reader believes nothing: ids have a limit, counts are bounded by the bytes that follow and by what the rows take in memory. After the
// first violation it is failed() and yields anything in range.
#pragma once
#include <algorithm>
#include <string>
#include <vector>

#include "base/byte_cursor.h"
#include "profile/ids.h"
#include "sink/recording/byte_writer.h"

namespace cicada::sink {

// What foreign bytes may make us keep in memory.
class MemoryBudget {
 public:
  explicit MemoryBudget(uint64_t bytes) : left_(bytes) {}
  void add(uint64_t bytes) { left_ += bytes; }
  bool take(uint64_t bytes) {
    if (bytes > left_) return false;
    left_ -= bytes;
    return true;
  }

 private:
  uint64_t left_;
};

class ColumnWriter {
 public:
  static constexpr bool kReads = false;
  explicit ColumnWriter(ByteWriter& out) : out_(out) {}

  uint64_t number(uint64_t value) {
    out_.uleb128(value);
    return value;
  }
  uint8_t byte(uint8_t value) {
    out_.u8(value);
    return value;
  }
  // Small if it is near `base`, in either direction.
  uint64_t near(uint64_t base, uint64_t value) {
    out_.uleb128(to_zigzag(static_cast<int64_t>(value - base)));
    return value;
  }
  // `limit`: ids that there are.
  template <typename Id>
  Id id(Id value, size_t) {
    out_.uleb128(value.valid() ? uint64_t{value.value} + 1 : 0);
    return value;
  }
  void text(std::string& value) {
    out_.takes_memory(value.size());
    out_.text(value);
  }
  // `bytes_each`: of a row in memory.
  size_t count(size_t value, size_t bytes_each) {
    out_.takes_memory(uint64_t{value} * bytes_each);
    return number(value);
  }
  void end_column() { out_.end_column(); }
  void fail() {}
  bool failed() const { return false; }

 private:
  ByteWriter& out_;
};

class ColumnReader {
 public:
  static constexpr bool kReads = true;
  ColumnReader(Bytes bytes, MemoryBudget& budget) : in_(bytes), budget_(budget) {}

  uint64_t number(uint64_t = 0) { return in_.uleb128(); }
  uint8_t byte(uint8_t = 0) { return in_.u8(); }
  uint64_t near(uint64_t base, uint64_t = 0) { return base + static_cast<uint64_t>(from_zigzag(in_.uleb128())); }
  template <typename Id>
  Id id(Id, size_t limit) {
    const uint64_t plus_one = in_.uleb128();
    if (plus_one > limit) fail();
    return plus_one == 0 || plus_one > limit ? Id() : Id(plus_one - 1);
  }
  void text(std::string& value) {
    const Bytes bytes = in_.take(in_.uleb128());
    if (budget_.take(bytes.size())) value.assign(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    else fail();
  }
  size_t count(size_t, size_t bytes_each) {
    const uint64_t value = in_.uleb128();
    if (value <= in_.remaining() && budget_.take(value * bytes_each)) return value;
    fail();
    return 0;
  }
  void end_column() {}
  void fail() { in_.fail(); }
  bool failed() const { return in_.failed(); }

  ByteCursor& cursor() { return in_; }
  MemoryBudget& budget() { return budget_; }

 private:
  ByteCursor in_;
  MemoryBudget& budget_;
};

}  // namespace cicada::sink
