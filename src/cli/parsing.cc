// SPDX-License-Identifier: Apache-2.0
#include "cli/parsing.h"

#include <algorithm>
#include <thread>

#include "parser/remote_rows.h"

namespace cicada::cli {

Result<std::shared_ptr<sandbox::Zygote>> start_zygote() { return std::shared_ptr<sandbox::Zygote>(TRY(sandbox::Zygote::start({"/proc/self/exe", kZygoteCommand}))); }

std::shared_ptr<parser::Parsers> make_parsers(std::shared_ptr<sandbox::Zygote> zygote, const symbolize::SymbolizeOptions& options) {
  const unsigned per_owner = std::clamp(std::thread::hardware_concurrency(), 1U, 4U);
  return std::make_shared<parser::Parsers>([zygote = std::move(zygote)](uint32_t owner) { return zygote->spawn(owner); }, options, per_owner);
}

ingest::ImageUnwinders::CompileRows compile_rows_by(std::shared_ptr<parser::Parsers> parsers) {
  return [parsers = std::move(parsers)](const process::ImageInfo& image, int fd, const std::stop_token& stop) {
    return parser::compile_rows(*parsers, image.owner, image.id, fd, image.path, stop);
  };
}

}  // namespace cicada::cli
