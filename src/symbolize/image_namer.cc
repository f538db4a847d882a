// SPDX-License-Identifier: Apache-2.0
#include "symbolize/image_namer.h"

#include "symbolize/files/debuginfod_client.h"

namespace cicada::symbolize {
namespace {

constexpr size_t kPartAddresses = 1024;

std::vector<LinkAddr> to_link(std::span<const uint64_t> addresses) {
  std::vector<LinkAddr> link;
  link.reserve(addresses.size());
  for (const uint64_t address : addresses) link.emplace_back(address);
  return link;
}

class LocalNamers final : public ImageNamers, public std::enable_shared_from_this<LocalNamers> {
 public:
  LocalNamers(std::shared_ptr<ImageCache> cache, const SymbolizeOptions& options) : cache_(std::move(cache)), debuginfod_(debuginfod_of(options)) {}
  std::unique_ptr<Namer> make(ImageToName image) override;
  void trim() override { cache_->trim(); }

  Result<std::shared_ptr<const ImageSymbols>> open(const ImageToName& image, bool with_servers, const std::stop_token& stop) {
    const UniqueFd fd = TRY(image.file.open(stop));
    with_servers = with_servers && has_servers();
    return cache_->open(image.number, fd.get(), image.path, companions_in(image.file.root, with_servers ? debuginfod_ : nullptr), with_servers);
  }
  bool has_servers() const { return debuginfod_ != nullptr; }
  DemangleCache& demangled() { return cache_->demangled(); }

 private:
  std::shared_ptr<ImageCache> cache_;
  std::shared_ptr<DebuginfodClient> debuginfod_;
};

class LocalNamer final : public Namer {
 public:
  LocalNamer(std::shared_ptr<LocalNamers> all, ImageToName image) : all_(std::move(all)), image_(std::move(image)) {}

  // While a recording runs no server is asked: what it might add is left for the end.
  Result<NamedAddresses> name(std::span<const uint64_t> addresses, NameDepth depth, const std::stop_token& stop) override {
    const auto symbols = TRY(all_->open(image_, depth == NameDepth::kAll, stop));
    NamedAddresses named = symbols->name(to_link(addresses), depth, all_->demangled(), stop);
    named.could_say_more |= depth != NameDepth::kAll && all_->has_servers();
    return named;
  }
  Result<std::vector<std::vector<uint32_t>>> parts(std::span<const uint64_t> addresses, const std::stop_token& stop) override {
    return TRY(all_->open(image_, true, stop))->partition(to_link(addresses), kPartAddresses);
  }

 private:
  std::shared_ptr<LocalNamers> all_;
  ImageToName image_;
};

std::unique_ptr<Namer> LocalNamers::make(ImageToName image) { return std::make_unique<LocalNamer>(shared_from_this(), std::move(image)); }

}  // namespace

std::shared_ptr<ImageNamers> local_image_namers(const SymbolizeOptions& options, std::shared_ptr<ImageCache> cache) {
  return std::make_shared<LocalNamers>(std::move(cache), options);
}

}  // namespace cicada::symbolize
