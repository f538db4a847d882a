// SPDX-License-Identifier: Apache-2.0
// Reads foreign bytes. Every bound, overflow and LEB128 check of the program that concerns foreign bytes lives here.
//
// A read past the end, or a malformed number, makes the cursor `failed()`: it then yields zeros and stays at the end, so a
// parser reads a whole record and asks once. Little-endian. Borrows the bytes.
#pragma once
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>

namespace cicada {

using Bytes = std::span<const uint8_t>;

// The part [offset, offset + size) of `bytes`; nothing if any of it is outside. Cannot overflow.
std::optional<Bytes> find_subspan(Bytes bytes, uint64_t offset, uint64_t size);

// The text at `offset` of a table of texts (.strtab, .debug_str), up to its NUL; "" where there is none, or a longer one: nobody reads it, and the
// search for its end would be repeated for each that refers to it. Texts may overlap, so their sum is not bounded by the table: who reads many
// pays for them (base/work_budget.h).
inline constexpr uint64_t kMaxTextAtBytes = 64 << 10;
std::string_view text_at(Bytes table, uint64_t offset, uint64_t most_bytes = kMaxTextAtBytes);

class ByteCursor {
 public:
  explicit ByteCursor(Bytes bytes) : bytes_(bytes) {}
  ByteCursor(Bytes bytes, uint64_t position) : bytes_(bytes) { seek(position); }

  bool failed() const { return failed_; }
  bool at_end() const { return position_ == bytes_.size(); }
  uint64_t position() const { return position_; }
  uint64_t remaining() const { return bytes_.size() - position_; }

  uint8_t u8() { return fixed<uint8_t>(); }
  uint16_t u16() { return fixed<uint16_t>(); }
  uint32_t u32() { return fixed<uint32_t>(); }
  uint64_t u64() { return fixed<uint64_t>(); }
  int8_t s8() { return static_cast<int8_t>(u8()); }
  int16_t s16() { return static_cast<int16_t>(u16()); }
  int32_t s32() { return static_cast<int32_t>(u32()); }
  int64_t s64() { return static_cast<int64_t>(u64()); }
  uint64_t uleb128() {
    if (position_ < bytes_.size() && bytes_[position_] < 0x80) return bytes_[position_++];
    return uleb128_long();
  }
  int64_t sleb128();
  std::string_view c_string();  // up to NUL, which is consumed but not part of the result
  Bytes take(uint64_t size);    // the next `size` bytes
  void skip(uint64_t size) {
    if (size > remaining()) [[unlikely]] return fail();
    position_ += size;
  }
  void seek(uint64_t position);  // from the start
  void fail() {
    failed_ = true;
    position_ = bytes_.size();
  }

 private:
  template <typename T>
  T fixed() {
    T value{};
    if (bytes_.size() - position_ < sizeof(T)) [[unlikely]] {
      fail();
      return value;
    }
    std::memcpy(&value, bytes_.data() + position_, sizeof(T));
    position_ += sizeof(T);
    return value;
  }
  uint64_t uleb128_long();

  Bytes bytes_;
  uint64_t position_ = 0;
  bool failed_ = false;
};

}  // namespace cicada
