// SPDX-License-Identifier: Apache-2.0
// Who reads the files of one recording: parsers, which can do nothing else. Threads: any.
#pragma once
#include <memory>

#include "bpf_source/image_reader.h"
#include "symbolize/symbolize_options.h"

namespace cicada::sandbox {
class Zygote;
}

namespace cicada::recorder {

// Of one recording: its images are known to them by number. Names of its frames are asked of the same: fills in names.image_namers.
std::shared_ptr<bpf_source::ImageReader> read_by_parsers(const std::shared_ptr<sandbox::Zygote>& zygote, symbolize::SymbolizeOptions& names);

}  // namespace cicada::recorder
