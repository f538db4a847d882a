// SPDX-License-Identifier: Apache-2.0
// Names of images, read by parsers.
#pragma once
#include "parser/file_openers.h"
#include "parser/parsers.h"
#include "symbolize/image_namer.h"

namespace cicada::parser {

std::shared_ptr<symbolize::ImageNamers> remote_image_namers(std::shared_ptr<Parsers> parsers, std::shared_ptr<FileOpeners> openers,
                                                            const symbolize::SymbolizeOptions& options);

}  // namespace cicada::parser
