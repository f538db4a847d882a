// SPDX-License-Identifier: Apache-2.0
// Strings of a finished recording, packed: as text (text_coder.h), or "what the demangler makes of that other string". The latter is what a C++
// function is shown as; its linkage name is half as long, and says everything.
//
// Used by writer and reader alike (adaptive_coder.h). Indices are those of the file.
#pragma once
#include <string>
#include <vector>

#include "names/demangle.h"
#include "sink/recording/adaptive_coder.h"
#include "sink/recording/byte_writer.h"
#include "sink/recording/text_coder.h"

namespace cicada::sink {

struct PackedString {
  static constexpr uint32_t kItself = 0xffffffff;
  std::string text;               // no NUL in it; not coded if made of another
  uint32_t linkage_name = kItself;  // the string it is made of, which is not made of another
};

// As symbolize/ shows names by default. Other names are stored as text.
inline std::string shown_name(std::string_view linkage_name) { return names::demangle(names::fold_clone(linkage_name), names::Demangle::kFull); }

// `text_bytes`: with a NUL each, of those that are coded as text. False: malformed. A decoder leaves the others empty.
template <typename Coder>
bool code_strings(Coder& coder, std::vector<PackedString>& strings, uint64_t text_bytes) {
  TextCoder text(coder, text_bytes);
  std::array<BitModel, 2> made;
  NumberModel distance;
  bool last = false;
  for (size_t i = 0; i < strings.size(); ++i) {
    PackedString& string = strings[i];
    last = coder.bit(made[last ? 1 : 0], string.linkage_name != PackedString::kItself);
    if (last) {
      const auto at = static_cast<int64_t>(i);
      const uint64_t from = i - static_cast<uint64_t>(from_zigzag(code_number(coder, distance, to_zigzag(at - static_cast<int64_t>(string.linkage_name)))));
      if (from >= strings.size()) return false;
      string.linkage_name = static_cast<uint32_t>(from);
      continue;
    }
    for (size_t n = 0;; ++n) {
      if (text_bytes-- == 0 || coder.failed()) return false;
      const uint8_t byte = text.code(Coder::kDecodes || n == string.text.size() ? 0 : static_cast<uint8_t>(string.text[n]));
      if (byte == 0) break;
      if (Coder::kDecodes) string.text.push_back(static_cast<char>(byte));
    }
  }
  return !coder.failed();
}

}  // namespace cicada::sink
