// SPDX-License-Identifier: Apache-2.0
// Writes call-frame sections for tests, byte by byte, well-formed or not.
#pragma once
#include <cstring>
#include <vector>

#include "base/byte_cursor.h"

namespace cicada::dwarf {

class CfiBuilder {
 public:
  using Program = std::vector<uint8_t>;
  explicit CfiBuilder(bool debug_frame = false, bool wide = false) : debug_frame_(debug_frame), wide_(wide) {}

  // CFA = rsp + 8, return address at CFA - 8; pointers absolute, 8 bytes. Returns its offset.
  uint64_t add_cie(const Program& program = {0x0c, 7, 8, 0x90, 1}, const char* augmentation = "zR", uint8_t encoding = 0,
                   uint8_t code_factor = 1) {
    Program body;
    put(body, debug_frame_ ? ~uint64_t{0} : 0, wide_ && debug_frame_ ? 8 : 4);
    body.push_back(1);
    const size_t length = std::strlen(augmentation);
    body.insert(body.end(), augmentation, augmentation + length + 1);
    body.push_back(code_factor);
    body.push_back(0x78);  // data factor -8
    body.push_back(16);
    if (augmentation[0] == 'z') {
      body.push_back(std::strchr(augmentation, 'R') != nullptr ? 1 : 0);
      if (std::strchr(augmentation, 'R') != nullptr) body.push_back(encoding);
    }
    body.insert(body.end(), program.begin(), program.end());
    return add_entry(body);
  }
  uint64_t add_fde(uint64_t cie, uint64_t begin, uint64_t size, const Program& program = {}, bool augmented = true) {
    Program body;
    const uint64_t at = bytes_.size() + (wide_ ? 12 : 4);
    put(body, debug_frame_ ? cie : at - cie, wide_ && debug_frame_ ? 8 : 4);
    put(body, begin, 8);
    put(body, size, 8);
    if (augmented) body.push_back(0);
    body.insert(body.end(), program.begin(), program.end());
    return add_entry(body);
  }
  uint64_t add_entry(const Program& body) {
    const uint64_t at = bytes_.size();
    if (wide_) put(bytes_, 0xffffffff, 4);
    put(bytes_, body.size(), wide_ ? 8 : 4);
    bytes_.insert(bytes_.end(), body.begin(), body.end());
    return at;
  }
  void add_terminator() { put(bytes_, 0, 4); }
  static void put(Program& to, uint64_t value, unsigned size) {
    for (unsigned i = 0; i < size; ++i) to.push_back(static_cast<uint8_t>(value >> (8 * i)));
  }
  std::vector<uint8_t>& bytes() { return bytes_; }

 private:
  bool debug_frame_, wide_;
  std::vector<uint8_t> bytes_;
};

}  // namespace cicada::dwarf
