// SPDX-License-Identifier: Apache-2.0
// Steps up copied stacks by an image, taken by parsers: all that wait in one question, since a stack that waits for a busy CPU twice for
// each of its steps comes too late.
#pragma once
#include <span>
#include <vector>

#include "parser/parsers.h"
#include "unwind/walk/image_step.h"

namespace cicada::parser {

// One for each that is asked for. `owner`: of the process whose stacks they are: what he put on them meets only his parsers. `image`: any
// number that is always the same file's. Fails: as Parsers::ask, kCorrupt.
Result<std::vector<unwind::ImageStep>> take_steps(Parsers& parsers, uint32_t owner, uint64_t image, int file, const std::string& path,
                                                  std::span<const unwind::StepQuestion> asked, const std::stop_token& stop = {});

// The parser's half: reads the questions, and writes the answers, of so many bytes.
Result<size_t> answer_steps(const unwind::ImageSteps& image, int job);

}  // namespace cicada::parser
