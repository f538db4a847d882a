// SPDX-License-Identifier: Apache-2.0
// Names in string sections (.strtab, .dynstr, .debug_str). They may overlap, so their sum is not bounded by the section: who keeps or compares
// many of them pays for it from a WorkBudget.
#pragma once
#include <algorithm>
#include <string_view>

#include "base/byte_cursor.h"

namespace cicada::symbolize {

// A longer name is none: nobody reads it, and the search for its end would be repeated for each that refers to it.
constexpr uint64_t kMaxTextBytes = 64 << 10;

// The text at `offset`; "" where there is none.
inline std::string_view text_in(Bytes section, uint64_t offset) {
  if (offset >= section.size()) return {};
  ByteCursor cursor(section.subspan(offset, std::min<uint64_t>(section.size() - offset, kMaxTextBytes)));
  const std::string_view text = cursor.c_string();
  return cursor.failed() ? std::string_view() : text;
}

}  // namespace cicada::symbolize
