// SPDX-License-Identifier: Apache-2.0
// Steps up a copied stack by an image, taken by parsers.
#pragma once
#include "parser/parsers.h"
#include "unwind/walk/image_step.h"

namespace cicada::parser {

// `image`: any number that is always the same file's. Fails: as Parsers::ask, kCorrupt.
Result<unwind::ImageStep> take_step(Parsers& parsers, uint32_t owner, uint64_t image, int file, const std::string& path,
                                    const unwind::StepQuestion& asked, const std::stop_token& stop = {});

// The parser's half: reads the question, and writes its answer, of so many bytes.
Result<size_t> answer_step(const unwind::ImageSteps& image, unwind::StepBy by, LinkAddr address, int job);

}  // namespace cicada::parser
