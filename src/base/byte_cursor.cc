// SPDX-License-Identifier: Apache-2.0
#include "base/byte_cursor.h"

#include <algorithm>

namespace cicada {

std::optional<Bytes> find_subspan(Bytes bytes, uint64_t offset, uint64_t size) {
  if (offset > bytes.size() || size > bytes.size() - offset) return std::nullopt;
  return bytes.subspan(offset, size);
}

std::string_view text_at(Bytes table, uint64_t offset, uint64_t most_bytes) {
  if (offset >= table.size()) return {};
  return ByteCursor(table.subspan(offset, std::min<uint64_t>(table.size() - offset, most_bytes))).c_string();
}

// LEB128 numbers longer than 64 bits are malformed unless the extra bits only repeat zero (or the sign).
uint64_t ByteCursor::uleb128_long() {
  uint64_t value = 0;
  for (unsigned shift = 0; position_ < bytes_.size(); shift += 7) {
    const uint8_t byte = bytes_[position_++];
    const uint64_t bits = byte & 0x7f;
    if (shift < 64) {
      if (shift > 57 && (bits >> (64 - shift)) != 0) break;
      value |= bits << shift;
    } else if (bits != 0) {
      break;
    }
    if ((byte & 0x80) == 0) return value;
  }
  fail();
  return 0;
}

int64_t ByteCursor::sleb128() {
  uint64_t value = 0;
  for (unsigned shift = 0; position_ < bytes_.size(); shift += 7) {
    const uint8_t byte = bytes_[position_++];
    const uint64_t bits = byte & 0x7f;
    if (shift < 64) {
      value |= bits << shift;
    } else if (bits != ((value >> 63) != 0 ? 0x7fU : 0U)) {
      break;
    }
    if ((byte & 0x80) == 0) {
      if (shift + 7 < 64 && (byte & 0x40) != 0) value |= ~uint64_t{0} << (shift + 7);
      return static_cast<int64_t>(value);
    }
  }
  fail();
  return 0;
}

std::string_view ByteCursor::c_string() {
  const auto* begin = reinterpret_cast<const char*>(bytes_.data()) + position_;
  const void* nul = remaining() == 0 ? nullptr : std::memchr(begin, 0, remaining());
  if (nul == nullptr) {
    fail();
    return {};
  }
  const auto length = static_cast<uint64_t>(static_cast<const char*>(nul) - begin);
  position_ += length + 1;
  return {begin, length};
}

Bytes ByteCursor::take(uint64_t size) {
  if (size > remaining()) {
    fail();
    return {};
  }
  const Bytes taken = bytes_.subspan(position_, size);
  position_ += size;
  return taken;
}

void ByteCursor::seek(uint64_t position) {
  if (position > bytes_.size()) {
    fail();
    return;
  }
  position_ = position;
}

}  // namespace cicada
