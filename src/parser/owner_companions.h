// SPDX-License-Identifier: Apache-2.0
// The companions of an image that its owner may name: opened with his rights, and his, root's, or the user's who records. Whoever asks for
// them may have been taken over by the file that he reads; so he gets what the owner of that could read, nobody names another's code, and
// nobody's bytes but his come near a reader of root's.
#pragma once
#include <stop_token>

#include "parser/file_openers.h"
#include "symbolize/files/companion_files.h"

namespace cicada::parser {

struct Ownership {
  uint32_t owner = 0;     // of the image
  uint32_t recorder = 0;  // the user who records
};

// From `root` and our own, by `openers`; from `debuginfod` if it is not null. After `stop` is requested no file is waited for.
std::shared_ptr<symbolize::CompanionFiles> companions_of(Ownership whose, std::shared_ptr<FileOpeners> openers, symbolize::FileRoot root,
                                                         std::shared_ptr<symbolize::DebuginfodClient> debuginfod,
                                                         const std::stop_token& stop = {});

}  // namespace cicada::parser
