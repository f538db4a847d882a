// SPDX-License-Identifier: Apache-2.0
// Who reads strangers' files for a command: processes of this program that can do nothing else.
#pragma once
#include <memory>

#include "ingest/image_unwinders.h"
#include "parser/parsers.h"

namespace cicada::cli {

inline constexpr const char* kZygoteCommand = "parser-zygote";  // of this program, for itself only

// Before there are threads, and before privileges are given up: it needs them to lock parsers down. Fails: this program cannot be started again.
Result<std::shared_ptr<sandbox::Zygote>> start_zygote();
// Of one recording: its images are known to them by number.
std::shared_ptr<parser::Parsers> make_parsers(std::shared_ptr<sandbox::Zygote> zygote, const symbolize::SymbolizeOptions& options);
ingest::ImageUnwinders::CompileRows compile_rows_by(std::shared_ptr<parser::Parsers> parsers);

}  // namespace cicada::cli
