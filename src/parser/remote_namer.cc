// SPDX-License-Identifier: Apache-2.0
#include "parser/remote_namer.h"

#include <algorithm>

#include "parser/owner_companions.h"

namespace cicada::parser {
namespace {

using symbolize::CompanionFiles;
using symbolize::DebuginfodClient;
using symbolize::ImageToName;
using symbolize::NamedAddresses;
using symbolize::NameDepth;

constexpr size_t kMaxAnswerBytes = size_t{128} << 20;
constexpr size_t kPartAddresses = 1024;  // fewer are not worth another parser that opens the image

class RemoteNamers final : public symbolize::ImageNamers, public std::enable_shared_from_this<RemoteNamers> {
 public:
  RemoteNamers(std::shared_ptr<Parsers> parsers, std::shared_ptr<FileOpeners> openers, const symbolize::SymbolizeOptions& options)
      : parsers_(std::move(parsers)),
        openers_(std::move(openers)),
        debuginfod_(symbolize::debuginfod_of(options)),
        recorder_(options.user) {}
  std::unique_ptr<symbolize::Namer> make(ImageToName image) override;

  Parsers& parsers() const { return *parsers_; }
  // Null: there are none.
  const std::shared_ptr<DebuginfodClient>& servers() const { return debuginfod_; }
  std::shared_ptr<symbolize::CompanionFiles> companions(const symbolize::ImageFile& file, bool with_servers, const std::stop_token& stop) const {
    return companions_of({file.owner, recorder_}, openers_, file.root, with_servers ? debuginfod_ : nullptr, stop);
  }

 private:
  std::shared_ptr<Parsers> parsers_;
  std::shared_ptr<FileOpeners> openers_;
  std::shared_ptr<DebuginfodClient> debuginfod_;
  uint32_t recorder_;
};

class RemoteNamer final : public symbolize::Namer {
 public:
  RemoteNamer(std::shared_ptr<const RemoteNamers> all, ImageToName image) : all_(std::move(all)), image_(std::move(image)) {}

  // While a recording runs no server is asked: what it might add is left for the end.
  Result<NamedAddresses> name(std::span<const uint64_t> addresses, NameDepth depth, const std::stop_token& stop) override {
    const UniqueFd file = TRY(image_.file.open(stop));
    const bool with_servers = depth == NameDepth::kAll && all_->servers() != nullptr;
    const auto companions = all_->companions(image_.file, with_servers, stop);
    Question question{.kind = kName, .owner = image_.file.owner, .image = image_.number, .path = image_.path, .file = file.get()};
    question.numbers = {image_.number, static_cast<uint64_t>(depth), addresses.size(), with_servers ? 1U : 0U, 0};
    question.contents.assign(reinterpret_cast<const char*>(addresses.data()), addresses.size_bytes());
    question.companions = companions.get();
    const std::string answer = TRY(all_->parsers().ask(question, kMaxAnswerBytes, stop));
    NamedAddresses named = TRY(names_from(answer, addresses.size()));
    named.could_say_more |= !with_servers && all_->servers() != nullptr;
    return named;
  }

  Result<std::vector<std::vector<uint32_t>>> parts(std::span<const uint64_t> addresses, const std::stop_token&) override {
    const size_t parts = std::clamp<size_t>(addresses.size() / kPartAddresses, 1, all_->parsers().per_owner());
    std::vector<std::vector<uint32_t>> all(parts);
    for (size_t i = 0; i < addresses.size(); ++i) all[i * parts / addresses.size()].push_back(static_cast<uint32_t>(i));
    return all;
  }

 private:
  std::shared_ptr<const RemoteNamers> all_;
  ImageToName image_;
};

std::unique_ptr<symbolize::Namer> RemoteNamers::make(ImageToName image) { return std::make_unique<RemoteNamer>(shared_from_this(), std::move(image)); }

}  // namespace

std::shared_ptr<symbolize::ImageNamers> remote_image_namers(std::shared_ptr<Parsers> parsers, std::shared_ptr<FileOpeners> openers,
                                                            const symbolize::SymbolizeOptions& options) {
  return std::make_shared<RemoteNamers>(std::move(parsers), std::move(openers), options);
}

}  // namespace cicada::parser
