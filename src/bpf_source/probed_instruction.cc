// SPDX-License-Identifier: Apache-2.0
#include "bpf_source/probed_instruction.h"

#include <algorithm>
#include <array>

namespace cicada::bpf_source {

size_t bytes_of_landing_pad(std::span<const uint8_t> code) {
  constexpr std::array<uint8_t, 4> kEndbr64{0xf3, 0x0f, 0x1e, 0xfa};
  if (code.size() < kEndbr64.size() + 2 || !std::equal(kEndbr64.begin(), kEndbr64.end(), code.begin())) return 0;
  const bool is_push = (code[4] & 0xf8) == 0x50 || (code[4] == 0x41 && (code[5] & 0xf8) == 0x50);
  return is_push ? kEndbr64.size() : 0;
}

bool is_taken_for_a_jump(std::span<const uint8_t> code) {
  constexpr std::array<uint8_t, 7> kPrefixes{0x26, 0x2e, 0x36, 0x3e, 0x64, 0x65, 0x67};  // of segments, and of short addresses
  while (!code.empty() && std::find(kPrefixes.begin(), kPrefixes.end(), code.front()) != kPrefixes.end()) code = code.subspan(1);
  if (code.empty()) return false;
  const size_t prefix_bytes = code[0] == 0xc5 ? 2 : code[0] == 0xc4 ? 3 : code[0] == 0x62 ? 4 : 0;
  if (prefix_bytes == 0 || code.size() <= prefix_bytes) return false;
  const uint8_t opcode = code[prefix_bytes];
  return (opcode & 0xf0) == 0x70 || opcode == 0x90 || opcode == 0xe8 || opcode == 0xe9 || opcode == 0xeb;
}

bool is_return(std::span<const uint8_t> code) {
  if (!code.empty() && (code[0] == 0xf2 || code[0] == 0xf3)) code = code.subspan(1);
  return !code.empty() && (code[0] == 0xc3 || code[0] == 0xc2);
}

}  // namespace cicada::bpf_source
