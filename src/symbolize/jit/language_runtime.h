// SPDX-License-Identifier: Apache-2.0
// The programs that run other programs: by which files they are known, when a stack is inside such a program, and how its functions get names.
#pragma once
#include <optional>
#include <string_view>

namespace cicada::symbolize {

enum class Language : uint8_t { kPython, kJavaScript, kJava, kRuby, kPhp, kPerl, kLua, kErlang, kDotNet, kJulia };
constexpr size_t kLanguages = 10;

struct LanguageRuntime {
  std::string_view name;    // "Python"
  std::string_view remedy;  // "restart it as `python3 -X perf` (3.12 or newer)"
};
const LanguageRuntime& runtime_of(Language language);

// By an executable's or library's path: "/usr/bin/python3.11", "libruby-3.1.so.3.1 (deleted)".
std::optional<Language> find_language(std::string_view path);
// Whether a frame of this function, in an image of `language`, runs a function of that language. Where nothing compiled has such a name
// (Java), only JIT code does.
bool interprets(Language language, std::string_view function);

}  // namespace cicada::symbolize
