// SPDX-License-Identifier: Apache-2.0
// Where a function begins or returns, as people write it: [IMAGE:]FUNCTION[+OFFSET].
//
//   malloc                          of each image that the target maps
//   libc:malloc, c:malloc           of libc.so.6 or libc-2.31.so: a file's name, with or without "lib" before and ".so…", ".VERSION" or "-VERSION.so" behind
//   /opt/x.so:fn, "/a:b/x.so":fn    of that file, as the target sees it
//   std::vector<int>::push_back     demangled, with or without parameters
//   sql_*                           * any letters, ? one, where there is no parenthesis
//   /^sql_.*query/                  a regular expression (RE2), looked for in the demangled name with parameters; \/ is a slash
//   fn+0x10                         an instruction in it
//   parser.c:42, libx:src/a.cc:7    a line of a source file, by the end of its path
//
// and where a USDT probe is: [IMAGE:]PROVIDER:NAME, with * and ? in the last two.
//
// Threads: any.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace cicada::bpf_source {

struct FunctionPlace {
  std::string image;  // empty: any
  std::string function;  // of a USDT probe PROVIDER:NAME
  uint64_t offset = 0;  // from where it begins, in bytes
  bool at_return = false;
  bool is_usdt = false;
  bool is_line = false;  // `function` is FILE:LINE
  bool operator==(const FunctionPlace&) const = default;
};

// Where, from `begin` on, it ends: at a comma, at the slash that begins terms ("/…/" before a comma or the end), or at the end. Neither counts in (…), […], <…>, "…", or in
// an operator's name.
size_t end_of_function_place(std::string_view text, size_t begin);

struct PlaceError {
  size_t at = 0;  // in the text
  std::string message;
};
// Its place.at_return is what is asked for. False: `error` says why.
bool parse_function_place(std::string_view text, FunctionPlace& place, PlaceError& error);
// The same of a USDT probe.
bool parse_usdt_place(std::string_view text, FunctionPlace& place, PlaceError& error);

// Whether an image that a process sees at this path is the one that is meant.
bool is_meant(const FunctionPlace& place, std::string_view path);

}  // namespace cicada::bpf_source
