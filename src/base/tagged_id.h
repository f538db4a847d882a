// SPDX-License-Identifier: Apache-2.0
// A four-byte index with a type of its own, so that a stack cannot be passed for a frame.
#pragma once
#include <compare>
#include <cstdint>
#include <functional>

namespace cicada {

template <typename Tag>
struct TaggedId {
  static constexpr uint32_t kNone = 0xffffffff;
  uint32_t value = kNone;

  constexpr TaggedId() = default;
  constexpr explicit TaggedId(size_t v) : value(static_cast<uint32_t>(v)) {}
  constexpr bool valid() const { return value != kNone; }
  constexpr auto operator<=>(const TaggedId&) const = default;
};

}  // namespace cicada

template <typename Tag>
struct std::hash<cicada::TaggedId<Tag>> {
  size_t operator()(cicada::TaggedId<Tag> id) const { return std::hash<uint32_t>{}(id.value); }
};
