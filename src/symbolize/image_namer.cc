// SPDX-License-Identifier: Apache-2.0
#include "symbolize/image_namer.h"

namespace cicada::symbolize {
namespace {

constexpr size_t kPartAddresses = 1024;

std::vector<LinkAddr> to_link(std::span<const uint64_t> addresses) {
  std::vector<LinkAddr> link;
  link.reserve(addresses.size());
  for (const uint64_t address : addresses) link.emplace_back(address);
  return link;
}

}  // namespace

// While a recording runs no server is asked: what it might add is left for the end.
Result<NamedAddresses> ImageNamer::name(std::span<const uint64_t> addresses, NameDepth depth, const std::stop_token& stop) {
  const std::shared_ptr<const ImageSymbols> symbols = open_ != nullptr ? open_ : TRY(cache_.open(image_, false));
  NamedAddresses named = symbols->name(to_link(addresses), depth, cache_.demangled(), stop);
  named.could_say_more |= open_ == nullptr && cache_.has_servers();
  return named;
}

Result<std::vector<std::vector<uint32_t>>> ImageNamer::open_parts(std::span<const uint64_t> addresses) {
  open_ = TRY(cache_.open(image_, true));
  return open_->partition(to_link(addresses), kPartAddresses);
}

}  // namespace cicada::symbolize
