// SPDX-License-Identifier: Apache-2.0
// The other direction of ByteCursor: appends numbers and texts to a string. Little-endian.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cicada::sink {

constexpr uint64_t to_zigzag(int64_t value) { return (static_cast<uint64_t>(value) << 1) ^ static_cast<uint64_t>(value >> 63); }
constexpr int64_t from_zigzag(uint64_t value) { return static_cast<int64_t>(value >> 1) ^ -static_cast<int64_t>(value & 1); }

class ByteWriter {
 public:
  void u8(uint8_t value) { bytes_.push_back(static_cast<char>(value)); }
  void u32(uint32_t value) {
    for (int shift = 0; shift < 32; shift += 8) u8(static_cast<uint8_t>(value >> shift));
  }
  void uleb128(uint64_t value) {
    for (; value >= 0x80; value >>= 7) u8(static_cast<uint8_t>(value | 0x80));
    u8(static_cast<uint8_t>(value));
  }
  void text(std::string_view value) {
    uleb128(value.size());
    bytes_.append(value);
  }
  void append(std::string_view bytes) { bytes_.append(bytes); }
  // Whoever reads it will keep so many more bytes in memory.
  void takes_memory(uint64_t bytes) { memory_bytes_ += bytes; }
  uint64_t memory_bytes() const { return memory_bytes_; }
  // What follows is of another kind: a compressor does well to learn anew.
  void end_column() { column_ends_.push_back(bytes_.size()); }

  const std::string& bytes() const { return bytes_; }
  const std::vector<size_t>& column_ends() const { return column_ends_; }
  size_t size() const { return bytes_.size(); }
  bool empty() const { return bytes_.empty(); }
  void clear() {
    bytes_.clear();
    column_ends_.clear();
    memory_bytes_ = 0;
  }

 private:
  std::string bytes_;
  std::vector<size_t> column_ends_;
  uint64_t memory_bytes_ = 0;
};

}  // namespace cicada::sink
