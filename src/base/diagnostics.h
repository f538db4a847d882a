// SPDX-License-Identifier: Apache-2.0
// One line per object and kind of trouble, for people. Modules below cli never print; they report here, cli decides where it goes.
//
//   diagnostics().warn(path, "no unwind table: {}", error.message());   // shown once for this path and format
//
// Threads: any. The handler is called under a lock, in the reporting thread.
#pragma once
#include <fmt/format.h>

#include <functional>
#include <mutex>
#include <string>
#include <unordered_set>

namespace cicada {

enum class Severity : uint8_t { kInfo, kWarning };

class Diagnostics {
 public:
  using Handler = std::function<void(Severity, const std::string& line)>;
  void set_handler(Handler handler);

  template <typename... Args>
  void warn(std::string_view object, fmt::format_string<Args...> format, Args&&... args) {
    report(Severity::kWarning, object, format, fmt::format(format, std::forward<Args>(args)...));
  }
  template <typename... Args>
  void info(std::string_view object, fmt::format_string<Args...> format, Args&&... args) {
    report(Severity::kInfo, object, format, fmt::format(format, std::forward<Args>(args)...));
  }
  // A line of another process's; once.
  void pass_on(Severity severity, const std::string& line) { report(severity, "", line, line); }

 private:
  static constexpr size_t kMaxRemembered = 4096;  // beyond this, new objects stay silent: a stranger must not fill the memory
  void report(Severity severity, std::string_view object, fmt::string_view key, std::string text);

  std::mutex mutex_;
  Handler handler_;
  std::unordered_set<size_t> seen_, seen_infos_;
};

Diagnostics& diagnostics();

}  // namespace cicada
