// SPDX-License-Identifier: Apache-2.0
#include "base/diagnostics.h"

#include <algorithm>

#include "base/seeded_hash.h"

namespace cicada {

constexpr std::string_view kPassedOn = ": ";  // what the cause of a line of another process's begins with; no format does

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

void Diagnostics::report(Severity severity, std::string_view object, fmt::string_view format, const std::string& text) {
  const std::string_view cause(format.data(), format.size());
  show_once(severity, mix_hash(hash_text(object), hash_text(cause)), cause, object.empty() ? text : fmt::format("{}: {}", object, without_object(text, object)));
}

// Begins with its object, as report() makes it.
void Diagnostics::pass_on(Severity severity, const std::string& line) {
  const size_t end = line.find(kPassedOn);
  show_once(severity, hash_text(line), end == std::string::npos ? kPassedOn : std::string_view(line).substr(end), line);
}

void Diagnostics::show_once(Severity severity, size_t what, std::string_view cause, const std::string& line) {
  const std::lock_guard lock(mutex_);
  std::unordered_set<size_t>& seen = severity == Severity::kWarning ? seen_ : seen_infos_;
  if (seen.size() >= kMaxRemembered || !seen.insert(what).second || !handler_) return;
  if (severity == Severity::kWarning) {
    auto at = causes_.find(cause);
    // What is passed on may be worded by a stranger; formats are this program's, and few.
    if (at == causes_.end()) at = causes_.try_emplace(!cause.starts_with(kPassedOn) || causes_.size() < kMaxCauses ? std::string(cause) : std::string(kPassedOn)).first;
    if (++at->second.lines > kMaxOfOneCause) {
      at->second.last = line;
      return;
    }
  }
  handler_(severity, line);
}

void Diagnostics::tell_rest() {
  const std::lock_guard lock(mutex_);
  for (auto& [cause, counted] : causes_) {
    if (counted.lines > kMaxOfOneCause && handler_) handler_(Severity::kWarning, fmt::format("{} more like this: {}", counted.lines - kMaxOfOneCause, counted.last));
    counted.lines = std::min(counted.lines, kMaxOfOneCause);
  }
}

Diagnostics& diagnostics() {
  static Diagnostics instance;
  return instance;
}

}  // namespace cicada
