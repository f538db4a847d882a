// SPDX-License-Identifier: Apache-2.0
// --interpreted-frames-native-stack gives interpreted functions a code address each, so that they are in the map too; without it
// they all read "InterpreterEntryTrampoline". -only-functions because --perf-basic-prof alone leaves an isolate-*-v8.log in the working directory.
// Java is left alone: JAVA_TOOL_OPTIONS makes it print a line.
#include "symbolize/jit/jit_environment.h"

#include <algorithm>
#include <array>

#include "base/file_mapping.h"
#include "symbolize/jit/language_runtime.h"

namespace cicada::symbolize {
namespace {

constexpr std::string_view kNodeOptions = "NODE_OPTIONS=--perf-basic-prof-only-functions --interpreted-frames-native-stack";
constexpr std::string_view kPythonOptions = "PYTHONPERFSUPPORT=1";
constexpr int kMaxWrappers = 8;

std::string_view last_component(std::string_view path) { return path.substr(path.rfind('/') + 1); }

// They start other programs, which may be of any language.
bool is_launcher(std::string_view name) {
  constexpr std::array<std::string_view, 13> kLaunchers{"sh", "bash", "dash", "ash", "zsh", "ksh", "fish", "busybox", "make", "gmake", "ninja", "xargs", "find"};
  return std::find(kLaunchers.begin(), kLaunchers.end(), name) != kLaunchers.end();
}

std::vector<std::string_view> wanted_by(std::string_view program) {
  if (is_launcher(program)) return {kPythonOptions, kNodeOptions};
  const auto language = find_language(program);
  if (language == Language::kPython) return {kPythonOptions};
  if (language == Language::kJavaScript) return {kNodeOptions};
  return {};
}

bool is_wrapper(std::string_view name) {
  constexpr std::array<std::string_view, 10> kWrappers{"env", "timeout", "nice", "ionice", "setsid", "nohup", "stdbuf", "chrt", "taskset", "time"};
  return std::find(kWrappers.begin(), kWrappers.end(), name) != kWrappers.end();
}

bool is_set(std::span<const std::string> environment, std::string_view assignment) {
  const std::string_view name = assignment.substr(0, assignment.find('=') + 1);
  return std::any_of(environment.begin(), environment.end(), [&](const std::string& entry) { return entry.starts_with(name); });
}

// The interpreter of a script's first line: "#!/usr/bin/env node" -> "node".
std::string interpreter_of(const std::string& file) {
  const auto fd = open_regular(file);
  if (!fd) return {};
  std::array<char, 256> head{};
  const ssize_t got = ::read(fd->get(), head.data(), head.size());
  std::string_view text(head.data(), static_cast<size_t>(std::max<ssize_t>(got, 0)));
  if (!text.starts_with("#!")) return {};
  text = text.substr(2, text.find('\n') - 2);
  std::vector<std::string_view> words;
  while (!text.empty()) {
    const size_t begin = std::min(text.find_first_not_of(" \t"), text.size());
    text.remove_prefix(begin);
    const size_t end = std::min(text.find_first_of(" \t"), text.size());
    if (end > 0) words.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
  for (const std::string_view word : words) {
    const std::string_view name = last_component(word);
    if (name == "env" || word.starts_with('-')) continue;
    return std::string(name);
  }
  return {};
}

std::string interpreter_of_command(std::string_view command, std::string_view path) {
  if (command.find('/') != std::string_view::npos) return interpreter_of(std::string(command));
  while (!path.empty()) {
    const size_t colon = std::min(path.find(':'), path.size());
    const std::string file = std::string(path.substr(0, colon)) + "/" + std::string(command);
    if (open_regular(file)) return interpreter_of(file);
    path.remove_prefix(std::min(colon + 1, path.size()));
  }
  return {};
}

}  // namespace

std::vector<std::string> jit_environment(std::span<const std::string> argv, std::span<const std::string> environment, std::string_view path) {
  size_t command = 0;
  for (int wrappers = 0; command < argv.size() && is_wrapper(last_component(argv[command])) && wrappers < kMaxWrappers; ++wrappers) {
    ++command;
    while (command < argv.size() && (argv[command].starts_with('-') || argv[command].find('=') != std::string::npos ||
                                     (argv[command][0] >= '0' && argv[command][0] <= '9'))) {
      // "env NODE_OPTIONS=… node": set by the user after all
      if (argv[command].starts_with("NODE_OPTIONS=") || argv[command].starts_with("PYTHONPERFSUPPORT=")) return {};
      ++command;
    }
  }
  if (command >= argv.size()) return {};
  std::vector<std::string_view> wanted = wanted_by(last_component(argv[command]));
  if (wanted.empty()) wanted = wanted_by(interpreter_of_command(argv[command], path));
  std::vector<std::string> variables;
  for (const std::string_view variable : wanted)
    if (!is_set(environment, variable)) variables.emplace_back(variable);
  return variables;
}

}  // namespace cicada::symbolize
