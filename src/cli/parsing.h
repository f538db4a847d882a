// SPDX-License-Identifier: Apache-2.0
// Who reads strangers' files for a command: processes of this program that can do nothing else.
#pragma once
#include <memory>

#include "parser/parsers.h"

namespace cicada::cli {

inline constexpr const char* kZygoteCommand = "parser-zygote";  // of this program, for itself only

// Before there are threads. Fails: this program cannot be started again.
Result<std::shared_ptr<parser::Parsers>> start_parsers(const symbolize::SymbolizeOptions& options);

}  // namespace cicada::cli
