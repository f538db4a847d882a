// SPDX-License-Identifier: Apache-2.0
// Unwind rows of images, compiled by parsers, and rules of code that they leave unread.
#pragma once
#include <array>

#include "parser/parsers.h"
#include "unwind/rows/code_pieces.h"
#include "unwind/rows/unwind_rows.h"

namespace cicada::parser {

// Of an image with more code without CFI that code is left unread: it would be 0.05 s and more until the first stack has a rule.
inline constexpr uint64_t kMaxReadBytes = 512 << 10;

// `image`: any number that is always the same file's. Fails: as compile_rows and Parsers::ask.
Result<unwind::UnwindRows> compile_rows(Parsers& parsers, uint32_t owner, uint64_t image, int file, const std::string& path,
                                        const std::stop_token& stop = {});
// Rules of what is asked for, ascending and disjoint; that they are right is not known. Fails: as Parsers::ask, kCorrupt.
Result<std::vector<unwind::CodeRule>> read_code(Parsers& parsers, uint32_t owner, uint64_t image, int file, const std::string& path, const unwind::CodeQuestion& question,
                                                const std::stop_token& stop = {});

// Of answers. Fails: kCorrupt (they overlap or descend, are of no kind, or say nothing).
Result<std::vector<unwind::CodeRule>> rules_from(const std::string& bytes);

// The parser's half. Fails: kInvalid.
inline constexpr size_t kMaxCodeQuestionBytes = 16 << 20;
Result<unwind::CodeQuestion> code_question_from(const std::array<uint64_t, 5>& numbers, const std::string& bytes);

}  // namespace cicada::parser
