// SPDX-License-Identifier: Apache-2.0
#include "sink/flamegraph/svg_text.h"

#include <fmt/format.h>

#include "base/clean_text.h"

namespace cicada::sink {
namespace {

constexpr std::string_view kReplacement = "\xef\xbf\xbd";

// U+FFFE and U+FFFF are UTF-8 but not XML.
bool noncharacter(std::string_view text, size_t at) {
  return at + 2 < text.size() && text[at] == '\xef' && text[at + 1] == '\xbf' && (text[at + 2] == '\xbe' || text[at + 2] == '\xbf');
}

}  // namespace

std::string xml_text(std::string_view text) {
  std::string storage, out;
  text = clean_text(text, storage);
  out.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      case '\'': out += "&#39;"; break;
      default:
        if (noncharacter(text, i)) out += kReplacement, i += 2;
        else out += c;
    }
  }
  return out;
}

std::string json_text(std::string_view text) {
  std::string storage, out = "\"";
  text = clean_text(text, storage);
  out.reserve(text.size() + 2);
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"' || c == '\\') (out += '\\') += c;
    else if (c == '<' || c == '>' || c == '&') out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    else if (noncharacter(text, i)) out += kReplacement, i += 2;
    else out += c;
  }
  return out += '"';
}

std::string shortened(std::string_view text, size_t letters) {
  size_t count = 0, cut = 0;  // `cut`: where the last letter that fits beside an ellipsis ends
  for (size_t i = 0; i < text.size(); ++i) {
    if ((static_cast<uint8_t>(text[i]) & 0xc0) == 0x80) continue;
    if (count + 1 == letters) cut = i;
    if (++count > letters) return std::string(text.substr(0, cut)) + "\xe2\x80\xa6";
  }
  return std::string(text);
}

}  // namespace cicada::sink
