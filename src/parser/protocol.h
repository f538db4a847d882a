// SPDX-License-Identifier: Apache-2.0
// What the collector and a parser say to each other (sandbox/channel.h). The collector begins:
//
//   kConfigure   text: the options of names (to_text)                                              no answer
//   kName        numbers: image, depth, count of addresses, companions may come from far · text: path · fds: job, image
//   kRows        text: path · fds: job, image
//   kCode        numbers: base, bytes covered by CFI, count of ranges that are looked at · text: path · fds: job, image
//   kSteps       numbers: image · text: path · fds: job, image
//   kFunctions   numbers: image, count of patterns, limit, companions may come from far · text: path · fds: job, image
//   kInstruction numbers: offset of a function in the file, bytes behind that · text: path · fds: job, image        kDone: an instruction begins there
//   kReturns     numbers: count of functions · text: path · fds: job, image
//   kUsdt        numbers: 0, count of patterns, limit · text: path · fds: job, image
//   kParameters  numbers: image, count of functions, 0, companions may come from far · text: path · fds: job, image
//
// A job file holds the question (addresses; ranges of code; registers and copied stacks; patterns; functions) and then the answer. While it works, the parser may say, and at
// last it says kDone or kFailed:
//
//   kNote        numbers: severity · text: a line for people
//   kOpen        numbers: place · text: name        answered by kFile (text: path · fds: the file) or kFailed
//   kDone        numbers: bytes in the job file
//   kFailed      numbers: kind of error · text: why
//
// The collector believes nothing of it: sizes are bounded, contents are checked (NamedAddresses::check, UnwindRows::check, remote_step.cc,
// functions_from, returns_from, usdt_from, parameters_from).
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "elf/usdt_notes.h"
#include "sandbox/channel.h"
#include "symbolize/dwarf/parameters.h"
#include "symbolize/named_addresses.h"
#include "symbolize/symbolize_options.h"
#include "symbolize/symbols/function_code.h"
#include "symbolize/symbols/function_search.h"

namespace cicada::parser {

enum Kind : uint32_t { kConfigure = 1, kName, kRows, kNote, kOpen, kFile, kDone, kFailed, kSteps, kFunctions, kInstruction, kReturns, kUsdt, kParameters, kCode };

std::string to_text(const symbolize::SymbolizeOptions& options);
symbolize::SymbolizeOptions options_from(const std::string& text);

// As bytes of a job file.
std::string to_bytes(const symbolize::NamedAddresses& names);
// Fails: kCorrupt; everything in it can be used.
Result<symbolize::NamedAddresses> names_from(const std::string& bytes, size_t addresses);

// The patterns of a question. Fails: kInvalid (more, or longer ones, than the search takes; cut off).
std::string to_bytes(std::span<const std::string> patterns);
Result<std::vector<std::string>> patterns_from(const std::string& bytes, size_t count);
std::string to_bytes(const symbolize::FunctionSearch& search);
// Of answers to a question with so many patterns. Fails: kCorrupt; what it says of the image is not known to be true, and names may hold any bytes.
Result<symbolize::FunctionSearch> functions_from(const std::string& bytes, size_t pattern_count);

inline constexpr size_t kMaxFunctionsOfReturns = 4096;  // of one question
// The functions of a question. Fails: kInvalid (too many, or cut off).
std::string to_bytes(std::span<const symbolize::FunctionCode> functions);
Result<std::vector<symbolize::FunctionCode>> function_codes_from(const std::string& bytes, size_t count);
std::string to_bytes(std::span<const symbolize::FunctionReturns> returns);
// Of answers to that question: of each of its functions, in order. Fails: kCorrupt; that they are returns is not known to be true.
Result<std::vector<symbolize::FunctionReturns>> returns_from(const std::string& bytes, std::span<const symbolize::FunctionCode> functions);

std::string to_bytes(const elf::UsdtSearch& search);
// As functions_from.
Result<elf::UsdtSearch> usdt_from(const std::string& bytes, size_t pattern_count);

inline constexpr size_t kMaxFunctionsOfParameters = 1024;  // of one question
// The functions of a question, by where they begin. Fails: kInvalid (too many, or cut off).
std::string to_bytes(std::span<const LinkAddr> functions);
Result<std::vector<LinkAddr>> addresses_from(const std::string& bytes, size_t count);
std::string to_bytes(std::span<const symbolize::FunctionParameters> functions);
// Of answers to that question: of each of its functions, in order. Fails: kCorrupt; places can be read, that the parameters are there is not known to be true, and names
// may hold any bytes.
Result<std::vector<symbolize::FunctionParameters>> parameters_from(const std::string& bytes, size_t count);

sandbox::Message to_message(const Error& error);
Error error_from(const sandbox::Message& message);

}  // namespace cicada::parser
