// SPDX-License-Identifier: Apache-2.0
#include "cli/parsing.h"

#include <algorithm>
#include <thread>

#include "parser/remote_namer.h"
#include "parser/remote_rows.h"

namespace cicada::cli {

Result<std::shared_ptr<sandbox::Zygote>> start_zygote() {
  return std::shared_ptr<sandbox::Zygote>(TRY(sandbox::Zygote::start({"/proc/self/exe", kZygoteCommand})));
}

FileReaders read_by_parsers(const std::shared_ptr<sandbox::Zygote>& zygote, const symbolize::SymbolizeOptions& options) {
  const unsigned per_owner = std::clamp(std::thread::hardware_concurrency(), 1U, 4U);
  const auto parsers = std::make_shared<parser::Parsers>([zygote](uint32_t owner) { return zygote->spawn(owner); }, options, per_owner);
  const auto openers = std::make_shared<parser::FileOpeners>([zygote] { return zygote->spawn_helper(); });
  const auto compile_rows = [parsers](const process::ImageInfo& image, int fd, const std::stop_token& stop) {
    return parser::compile_rows(*parsers, image.owner, image.id, fd, image.path, stop);
  };
  return {parser::remote_image_namers(parsers, openers, options), compile_rows};
}

}  // namespace cicada::cli
