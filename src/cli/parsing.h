// SPDX-License-Identifier: Apache-2.0
// Who reads strangers' files for a command: processes of this program that can do nothing else.
#pragma once
#include <memory>

#include "ingest/image_unwinders.h"
#include "sandbox/zygote.h"
#include "symbolize/symbolize_options.h"

namespace cicada::cli {

inline constexpr const char* kZygoteCommand = "parser-zygote";  // of this program, for itself only

// Before there are threads, and before privileges are given up: it needs them to lock parsers down. Fails: this program cannot be started again.
Result<std::shared_ptr<sandbox::Zygote>> start_zygote();

// Of one recording: its images are known to them by number.
struct FileReaders {
  std::shared_ptr<symbolize::ImageNamers> namers;
  std::shared_ptr<ingest::ImageUnwinders::Reader> images;
};
FileReaders read_by_parsers(const std::shared_ptr<sandbox::Zygote>& zygote, const symbolize::SymbolizeOptions& options);

}  // namespace cicada::cli
