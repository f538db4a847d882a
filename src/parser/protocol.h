// SPDX-License-Identifier: Apache-2.0
// What the collector and a parser say to each other (sandbox/channel.h). The collector begins:
//
//   kConfigure   text: the options of names (to_text)                                              no answer
//   kName        numbers: image, depth, count of addresses, companions may come from far · text: path · fds: job, image
//   kRows        text: path · fds: job, image
//   kSteps       numbers: image · text: path · fds: job, image
//
// A job file holds the question (addresses; registers and copied stacks) and then the answer. While it works, the parser may say, and at
// last it says kDone or kFailed:
//
//   kNote        numbers: severity · text: a line for people
//   kOpen        numbers: place · text: name        answered by kFile (text: path · fds: the file) or kFailed
//   kDone        numbers: bytes in the job file
//   kFailed      numbers: kind of error · text: why
//
// The collector believes nothing of it: sizes are bounded, contents are checked (NamedAddresses::check, UnwindRows::check, remote_step.cc).
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "sandbox/channel.h"
#include "symbolize/named_addresses.h"
#include "symbolize/symbolize_options.h"

namespace cicada::parser {

enum Kind : uint32_t { kConfigure = 1, kName, kRows, kNote, kOpen, kFile, kDone, kFailed, kSteps };

std::string to_text(const symbolize::SymbolizeOptions& options);
symbolize::SymbolizeOptions options_from(const std::string& text);

// As bytes of a job file.
std::string to_bytes(const symbolize::NamedAddresses& names);
// Fails: kCorrupt; everything in it can be used.
Result<symbolize::NamedAddresses> names_from(const std::string& bytes, size_t addresses);

sandbox::Message to_message(const Error& error);
Error error_from(const sandbox::Message& message);

}  // namespace cicada::parser
