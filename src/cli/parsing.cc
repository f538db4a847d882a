// SPDX-License-Identifier: Apache-2.0
#include "cli/parsing.h"

#include <algorithm>
#include <thread>

#include "parser/remote_namer.h"
#include "parser/remote_rows.h"
#include "parser/remote_step.h"

namespace cicada::cli {
namespace {

using parser::Parsers;

// Steps have parsers of their own, one for each user: stacks wait for them, which no long question may hold up.
class ByParsers final : public ingest::ImageUnwinders::Reader {
 public:
  ByParsers(std::shared_ptr<Parsers> rows, std::shared_ptr<Parsers> steps) : rows_(std::move(rows)), steps_(std::move(steps)) {}
  Result<unwind::UnwindRows> compile_rows(const process::ImageInfo& image, int fd, const std::stop_token& stop) override {
    return parser::compile_rows(*rows_, image.owner, image.id, fd, image.path, stop);
  }
  Result<std::vector<unwind::ImageStep>> take_steps(const process::ImageInfo& image, int fd, uint32_t owner,
                                                    std::span<const unwind::StepQuestion> asked, const std::stop_token& stop) override {
    return parser::take_steps(*steps_, owner, image.id, fd, image.path, asked, stop);
  }

 private:
  std::shared_ptr<Parsers> rows_, steps_;
};

}  // namespace

Result<std::shared_ptr<sandbox::Zygote>> start_zygote() {
  return std::shared_ptr<sandbox::Zygote>(TRY(sandbox::Zygote::start({"/proc/self/exe", kZygoteCommand})));
}

FileReaders read_by_parsers(const std::shared_ptr<sandbox::Zygote>& zygote, const symbolize::SymbolizeOptions& options) {
  const auto make = [&](unsigned per_owner) {
    return std::make_shared<Parsers>([zygote](uint32_t owner) { return zygote->spawn(owner); }, options, per_owner);
  };
  const auto parsers = make(std::clamp(std::thread::hardware_concurrency(), 1U, 4U));
  const auto openers = std::make_shared<parser::FileOpeners>([zygote] { return zygote->spawn_helper(); });
  return {parser::remote_image_namers(parsers, openers, options), std::make_shared<ByParsers>(parsers, make(1))};
}

}  // namespace cicada::cli
