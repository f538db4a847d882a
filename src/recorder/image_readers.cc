// SPDX-License-Identifier: Apache-2.0
#include "recorder/image_readers.h"

#include "base/parallel.h"
#include "parser/file_openers.h"
#include "parser/owner_companions.h"
#include "parser/remote_functions.h"
#include "parser/remote_namer.h"
#include "parser/remote_rows.h"
#include "parser/remote_step.h"
#include "sandbox/zygote.h"

namespace cicada::recorder {
namespace {

using parser::Parsers;

// Steps have parsers of their own, one for each user: stacks wait for them, which no long question may hold up.
class ByParsers final : public bpf_source::ImageReader {
 public:
  ByParsers(std::shared_ptr<Parsers> rows, std::shared_ptr<Parsers> steps, std::shared_ptr<parser::FileOpeners> openers, uint32_t user)
      : rows_(std::move(rows)), steps_(std::move(steps)), openers_(std::move(openers)), user_(user) {}
  Result<unwind::UnwindRows> compile_rows(const process::ImageInfo& image, int fd, const std::stop_token& stop) override {
    return parser::compile_rows(*rows_, image.owner, image.id, fd, image.path, stop);
  }
  Result<std::vector<unwind::CodeRule>> read_code(const process::ImageInfo& image, int fd, const unwind::CodeQuestion& question, const std::stop_token& stop) override {
    return parser::read_code(*rows_, image.owner, image.id, fd, image.path, question, stop);
  }
  Result<std::vector<unwind::ImageStep>> take_steps(const process::ImageInfo& image, int fd, uint32_t owner,
                                                    std::span<const unwind::StepQuestion> asked, const std::stop_token& stop) override {
    return parser::take_steps(*steps_, owner, image.id, fd, image.path, asked, stop);
  }
  Result<UniqueFd> open_file(const std::string& path, std::shared_ptr<const UniqueFd> root, const std::stop_token& stop) override {
    return TRY(openers_->open(symbolize::FileRoot(std::move(root)), path, user_, stop)).fd;
  }
  Result<symbolize::FunctionSearch> find_functions(const process::ImageInfo& image, int fd, std::span<const std::string> patterns, size_t limit, const std::stop_token& stop) override {
    const auto companions = parser::companions_of({image.owner, user_}, openers_, symbolize::FileRoot(), nullptr, stop);
    return parser::find_functions(*rows_, image.owner, number_of(image), fd, image.path, patterns, limit, companions.get(), stop);
  }
  Result<std::vector<symbolize::FunctionParameters>> find_parameters(const process::ImageInfo& image, int fd, std::span<const LinkAddr> functions,
                                                                     const std::stop_token& stop) override {
    const auto companions = parser::companions_of({image.owner, user_}, openers_, symbolize::FileRoot(), nullptr, stop);
    return parser::find_parameters(*rows_, image.owner, number_of(image), fd, image.path, functions, companions.get(), stop);
  }
  Result<elf::UsdtSearch> find_usdt(const process::ImageInfo& image, int fd, std::span<const std::string> patterns, size_t limit, const std::stop_token& stop) override {
    return parser::find_usdt(*rows_, image.owner, number_of(image), fd, image.path, patterns, limit, stop);
  }
  Result<void> check_instruction(const process::ImageInfo& image, int fd, FileOffset function, uint64_t offset, const std::stop_token& stop) override {
    return parser::check_instruction(*rows_, image.owner, number_of(image), fd, image.path, function, offset, stop);
  }
  Result<std::vector<symbolize::FunctionReturns>> find_returns(const process::ImageInfo& image, int fd, std::span<const symbolize::FunctionCode> functions,
                                                               const std::stop_token& stop) override {
    return parser::find_returns(*rows_, image.owner, number_of(image), fd, image.path, functions, stop);
  }

 private:
  // Names are asked for by the profile's numbers, of the same parsers.
  static uint64_t number_of(const process::ImageInfo& image) { return uint64_t{1} << 32 | image.id; }
  std::shared_ptr<Parsers> rows_, steps_;
  std::shared_ptr<parser::FileOpeners> openers_;
  uint32_t user_;
};

}  // namespace

std::shared_ptr<bpf_source::ImageReader> read_by_parsers(const std::shared_ptr<sandbox::Zygote>& zygote, symbolize::SymbolizeOptions& names) {
  const auto make = [&](unsigned per_owner) {
    return std::make_shared<Parsers>([zygote](uint32_t owner) { return zygote->spawn(owner); }, names, per_owner);
  };
  const auto parsers = make(few_threads());
  const auto openers = std::make_shared<parser::FileOpeners>([zygote] { return zygote->spawn_helper(); });
  names.image_namers = parser::remote_image_namers(parsers, openers, names);
  return std::make_shared<ByParsers>(parsers, make(1), openers, names.user);
}

}  // namespace cicada::recorder
