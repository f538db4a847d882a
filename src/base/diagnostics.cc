// SPDX-License-Identifier: Apache-2.0
#include "base/diagnostics.h"

#include "base/seeded_hash.h"

namespace cicada {

// Error messages often begin with the object already, or with its name without the directory.
static std::string_view without_object(std::string_view text, std::string_view object) {
  for (const std::string_view name : {object, object.substr(object.rfind('/') + 1)}) {
    if (!name.empty() && text.starts_with(name) && text.substr(name.size()).starts_with(": ")) return text.substr(name.size() + 2);
  }
  return text;
}

void Diagnostics::set_handler(Handler handler) {
  const std::lock_guard lock(mutex_);
  handler_ = std::move(handler);
}

void Diagnostics::report(Severity severity, std::string_view object, fmt::string_view key, std::string text) {
  const size_t once = mix_hash(hash_text(object), hash_text(std::string_view(key.data(), key.size())));
  const std::lock_guard lock(mutex_);
  std::unordered_set<size_t>& seen = severity == Severity::kWarning ? seen_ : seen_infos_;
  if (seen.size() >= kMaxRemembered || !seen.insert(once).second || !handler_) return;
  handler_(severity, object.empty() ? text : fmt::format("{}: {}", object, without_object(text, object)));
}

Diagnostics& diagnostics() {
  static Diagnostics instance;
  return instance;
}

}  // namespace cicada
