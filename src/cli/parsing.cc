// SPDX-License-Identifier: Apache-2.0
#include "cli/parsing.h"

#include <algorithm>
#include <thread>

namespace cicada::cli {

Result<std::shared_ptr<parser::Parsers>> start_parsers(const symbolize::SymbolizeOptions& options) {
  std::shared_ptr<sandbox::Zygote> zygote = TRY(sandbox::Zygote::start({"/proc/self/exe", kZygoteCommand}));
  const unsigned per_owner = std::clamp(std::thread::hardware_concurrency(), 1U, 4U);
  return std::make_shared<parser::Parsers>([zygote](uint32_t owner) { return zygote->spawn(owner); }, options, per_owner);
}

}  // namespace cicada::cli
