// SPDX-License-Identifier: Apache-2.0
#include "base/clean_text.h"

#include <algorithm>
#include <cstdint>

namespace cicada {
namespace {

constexpr std::string_view kReplacement = "\xef\xbf\xbd";

// Length of the well-formed sequence at the start of `text`, or 0; then `bad` is how many bytes one U+FFFD stands for.
size_t sequence_length(std::string_view text, size_t& bad) {
  const auto byte = [&](size_t i) { return i < text.size() ? static_cast<uint8_t>(text[i]) : uint8_t{0}; };
  const uint8_t lead = byte(0);
  bad = 1;
  if (lead < 0x80) return 1;
  const size_t length = lead >= 0xc2 && lead <= 0xdf ? 2 : (lead & 0xf0) == 0xe0 ? 3 : lead >= 0xf0 && lead <= 0xf4 ? 4 : 0;
  if (length == 0) return 0;
  const uint8_t low = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;   // no overlong forms
  const uint8_t high = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;  // no surrogates, nothing above U+10FFFF
  if (byte(1) < low || byte(1) > high) return 0;
  for (bad = 2; bad < length; ++bad)
    if ((byte(bad) & 0xc0) != 0x80) return 0;
  return length;
}

// Of a well-formed sequence.
bool steers(std::string_view sequence) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(sequence[i]); };
  switch (sequence.size()) {
    case 1: return byte(0) < 0x20 || byte(0) == 0x7f;
    case 2: return (byte(0) == 0xc2 && byte(1) < 0xa0) || sequence == "\xd8\x9c";
    case 3: break;
    default: return false;
  }
  if (byte(0) != 0xe2) return false;
  if (byte(1) == 0x80) return byte(2) == 0x8e || byte(2) == 0x8f || (byte(2) >= 0xa8 && byte(2) <= 0xae);
  return byte(1) == 0x81 && byte(2) >= 0xa6 && byte(2) <= 0xa9;
}

}  // namespace

std::string_view clean_text(std::string_view text, std::string& storage) {
  size_t at = 0, bad = 0;
  for (size_t length = 0; at < text.size(); at += length) {
    length = sequence_length(text.substr(at), bad);
    if (length == 0 || steers(text.substr(at, length))) break;
  }
  if (at >= text.size()) return text;
  storage.assign(text.substr(0, at));
  while (at < text.size()) {
    const size_t length = sequence_length(text.substr(at), bad);
    const std::string_view sequence = text.substr(at, length);
    if (length != 0 && !steers(sequence)) storage += sequence;
    else storage += sequence == "\t" || sequence == "\n" || sequence == "\r" ? " " : kReplacement;
    at += length == 0 ? bad : length;
  }
  return storage;
}

std::string clean_text(std::string_view text) {
  std::string storage;
  return std::string(clean_text(text, storage));
}

std::string clean_lines(std::string_view text) {
  std::string out, storage;
  while (true) {
    const size_t end = std::min(text.find('\n'), text.size());
    out += clean_text(text.substr(0, end), storage);
    if (end == text.size()) return out;
    out += '\n';
    text.remove_prefix(end + 1);
  }
}

size_t count_letters(std::string_view text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<uint8_t>(c) & 0xc0) != 0x80; }));
}

}  // namespace cicada
