// SPDX-License-Identifier: Apache-2.0
// Functions and USDT probes of images by pattern, found by parsers.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "elf/usdt_notes.h"
#include "parser/parsers.h"
#include "symbolize/dwarf/parameters.h"
#include "symbolize/symbols/function_code.h"
#include "symbolize/symbols/function_search.h"

namespace cicada::parser {

// As ImageSymbols::find_functions, of an image and its companions (null: none). `image`: any number that is always the same file's.
// `limit`: symbolize::kMaxFunctions at most. `with_servers`: the companions may come from further away than those of an earlier question.
// The answer has as many functions as are allowed, each of one of the patterns, in order; whether the image really has it there is only what a
// stranger's file says. Fails: kInvalid (too many or too long patterns), kCorrupt, as Parsers::ask.
Result<symbolize::FunctionSearch> find_functions(Parsers& parsers, uint32_t owner, uint64_t image, int file, const std::string& path,
                                                 std::span<const std::string> patterns, size_t limit, symbolize::CompanionFiles* companions,
                                                 const std::stop_token& stop = {}, bool with_servers = false);

// Whether an instruction begins `offset` bytes behind the begin of a function in the file. Fails: kInvalid (none does), as Parsers::ask.
Result<void> check_instruction(Parsers& parsers, uint32_t owner, uint64_t image, int file, const std::string& path, FileOffset function, uint64_t offset,
                               const std::stop_token& stop = {});

// Where functions return (parser/instructions.h), of each in order. Any number of them: they are asked about in as many questions as their code takes. Those without a
// size, or with too large a one, are not asked about and count as not understood. The offsets are in the function's code; whether the image really has a return there is
// only what a stranger's file says. Fails: kCorrupt, as Parsers::ask.
Result<std::vector<symbolize::FunctionReturns>> find_returns(Parsers& parsers, uint32_t owner, uint64_t image, int file, const std::string& path,
                                                             std::span<const symbolize::FunctionCode> functions, const std::stop_token& stop = {});

// As elf::search_usdt, of an image. `limit`: elf::kMaxUsdtNotes at most. The answer has as many probes as are allowed, each of one of the patterns, in their order,
// and arguments that can be read; whether the image really has them there is only what a stranger's file says. Fails: as find_functions.
Result<elf::UsdtSearch> find_usdt(Parsers& parsers, uint32_t owner, uint64_t image, int file, const std::string& path, std::span<const std::string> patterns, size_t limit,
                                  const std::stop_token& stop = {});

// As ImageSymbols::find_parameters, of an image and its companions (null: none): of each function in order, in as many questions as they take. Places can be read; whether the
// parameters are there is only what a stranger's file says. Fails: kCorrupt, as Parsers::ask.
Result<std::vector<symbolize::FunctionParameters>> find_parameters(Parsers& parsers, uint32_t owner, uint64_t image, int file, const std::string& path,
                                                                   std::span<const LinkAddr> functions, symbolize::CompanionFiles* companions, const std::stop_token& stop = {});

}  // namespace cicada::parser
