// SPDX-License-Identifier: Apache-2.0
#include "symbolize/named_addresses.h"

#include <algorithm>

#include "base/seeded_hash.h"

namespace cicada::symbolize {
namespace {

constexpr size_t kMaxTextBytes = size_t{1} << 30;  // of one answer; ends are 32 bits wide

}  // namespace

Result<void> NamedAddresses::check(size_t addresses) const {
  const auto broken = [](const char* what) { return make_error(ErrorKind::kCorrupt, "names of addresses: {} out of range", what); };
  if (innermost.size() != addresses) return broken("answers");
  for (const PositionId id : innermost) {
    if (id.valid() && id.value >= positions.size()) return broken("position");
  }
  if (text_ends.empty() || text_ends.front() != 0 || !std::is_sorted(text_ends.begin(), text_ends.end()) || text_ends.back() != texts.size()) {
    return broken("texts");
  }
  for (size_t i = 0; i < positions.size(); ++i) {
    const Position& position = positions[i];
    if (position.outer.valid() && position.outer.value >= i) return broken("outer position");
    if (position.depth != (position.outer.valid() ? positions[position.outer.value].depth + 1 : 1) || position.depth > profile::Profile::kMaxLocations) return broken("depth");
    if (position.function >= functions.size()) return broken("function");
    if (position.file >= text_ends.size()) return broken("file");
    if (position.inlined > 1 || position.source > profile::kLastNameSource) return broken("kind of position");
  }
  for (const Function& function : functions) {
    if (std::max({function.shown, function.linkage, function.module}) >= text_ends.size()) return broken("function's name");
  }
  return {};
}

NamedAddressesBuilder::NamedAddressesBuilder(size_t addresses, DemangleCache& names, WorkBudget& budget) : names_(names), budget_(budget) {
  out_.innermost.resize(addresses);
}

void NamedAddressesBuilder::set(size_t address, std::span<const SourcePosition> positions) {
  NamedAddresses::PositionId at;
  uint16_t depth = 0;
  for (size_t i = std::min(positions.size(), profile::Profile::kMaxLocations); i-- > 0;) {
    const SourcePosition& from = positions[i];
    if (!budget_.spend(sizeof(NamedAddresses::Position)) || out_.texts.size() > kMaxTextBytes) return;
    // Lines of one function follow each other.
    const NamedAddresses::Text file = from.file == out_.text(last_file_) ? last_file_ : intern_text(from.file);
    last_file_ = file;
    const NamedAddresses::Position position{intern_function(from), file, from.line, from.inlined, from.source, ++depth, at};
    const uint64_t hash = mix_hash(mix_hash(at.value, uint64_t{position.function} << 32 | file), uint64_t{from.line} << 8 | position.inlined);
    at = NamedAddresses::PositionId(position_index_.find_or_append(
        hash, [&](uint32_t stored) { return out_.positions[stored] == position; },
        [&] {
          out_.positions.push_back(position);
          return static_cast<uint32_t>(out_.positions.size() - 1);
        }));
  }
  out_.innermost[address] = at;
}

uint32_t NamedAddressesBuilder::intern_function(const SourcePosition& position) {
  const std::string_view name = position.linkage_name;
  return function_index_.find_or_append(
      mix_hash(hash_text(name), position.module.size()),
      [&](uint32_t stored) {
        const NamedAddresses::Function& function = out_.functions[stored];
        return out_.text(function.linkage == 0 ? function.shown : function.linkage) == name && out_.text(function.module) == position.module;
      },
      [&] {
        NamedAddresses::Function function;
        const size_t begin = out_.texts.size();
        names_.append_shown(name, out_.texts);
        const bool same = std::string_view(out_.texts).substr(begin) == name;
        budget_.spend(2 * name.size() + out_.texts.size() - begin);
        function.shown = end_text();
        if (!same) {
          out_.texts += name;
          function.linkage = end_text();
        }
        function.module = intern_text(position.module);
        out_.functions.push_back(function);
        return static_cast<uint32_t>(out_.functions.size() - 1);
      });
}

NamedAddresses::Text NamedAddressesBuilder::intern_text(std::string_view text) {
  if (text.empty()) return 0;
  return text_index_.find_or_append(
      hash_text(text), [&](uint32_t stored) { return out_.text(stored) == text; },
      [&] {
        budget_.spend(text.size());
        out_.texts += text;
        return end_text();
      });
}

// Ends the text that was appended; gives it its number.
NamedAddresses::Text NamedAddressesBuilder::end_text() {
  out_.text_ends.push_back(static_cast<uint32_t>(out_.texts.size()));
  return static_cast<NamedAddresses::Text>(out_.text_ends.size() - 1);
}

}  // namespace cicada::symbolize
