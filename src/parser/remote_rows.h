// SPDX-License-Identifier: Apache-2.0
// Unwind rows of images, compiled by parsers.
#pragma once
#include "parser/parsers.h"
#include "unwind/rows/unwind_rows.h"

namespace cicada::parser {

// `image`: any number that is always the same file's. Fails: as compile_rows and Parsers::ask.
Result<unwind::UnwindRows> compile_rows(Parsers& parsers, uint32_t owner, uint64_t image, int file, const std::string& path,
                                        const std::stop_token& stop = {});

}  // namespace cicada::parser
