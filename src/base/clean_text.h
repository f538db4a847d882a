// SPDX-License-Identifier: Apache-2.0
// Names of functions, files, threads and events are written by strangers. Whatever shows one (terminal, text, JSON, XML, pprof) shows it
// through here: valid UTF-8 in one line that neither steers a terminal nor turns the direction of what stands around it.
//
//   not UTF-8                                      U+FFFD for each maximal subpart (Unicode 3.9)
//   tab, line feed, carriage return                a space
//   other controls: U+0000-1F, U+007F-9F           U+FFFD
//   line and paragraph separators: U+2028, U+2029  U+FFFD
//   bidi: U+061C, U+200E, U+200F, U+202A-202E, U+2066-2069  U+FFFD
#pragma once
#include <string>
#include <string_view>

namespace cicada {

// Returns `text` itself, without a copy, when nothing is to be replaced; else a view of `storage`.
std::string_view clean_text(std::string_view text, std::string& storage);
std::string clean_text(std::string_view text);
// The same for text of several lines.
std::string clean_lines(std::string_view text);
// Code points of UTF-8: about as many columns.
size_t count_letters(std::string_view text);

}  // namespace cicada
