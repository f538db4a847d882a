// SPDX-License-Identifier: Apache-2.0
// One line per object and kind of trouble, for people. Modules below cli never print; they report here, cli decides where it goes.
//
//   diagnostics().warn(path, "no unwind table: {}", error.message());   // shown once for this path and format
//   diagnostics().tell_rest();                                          // at the end: "4087 more like this: /a/file: no unwind table: …"
//
// Of one cause (a format) kMaxOfOneCause warnings are shown; the rest is counted.
// Threads: any. The handler is called under a lock, in the reporting thread.
#pragma once
#include <fmt/format.h>

#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <unordered_set>

namespace cicada {

enum class Severity : uint8_t { kInfo, kWarning };

class Diagnostics {
 public:
  static constexpr size_t kMaxOfOneCause = 16;
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
  void pass_on(Severity severity, const std::string& line);
  // How many warnings were not shown, a line for each cause.
  void tell_rest();

 private:
  static constexpr size_t kMaxRemembered = 4096;  // beyond this, new objects are not counted either: a stranger must not fill the memory
  static constexpr size_t kMaxCauses = 32;        // further ones count as one
  struct Cause {
    size_t lines = 0;
    std::string last;
  };
  void report(Severity severity, std::string_view object, fmt::string_view format, const std::string& text);
  void show_once(Severity severity, size_t what, std::string_view cause, const std::string& line);

  std::mutex mutex_;
  Handler handler_;
  std::unordered_set<size_t> seen_, seen_infos_;
  std::map<std::string, Cause, std::less<>> causes_;  // of warnings
};

Diagnostics& diagnostics();

}  // namespace cicada
