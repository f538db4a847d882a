// SPDX-License-Identifier: Apache-2.0
#include "symbolize/jit/language_runtime.h"

#include <algorithm>
#include <array>

namespace cicada::symbolize {
namespace {

constexpr std::string_view kAnyFunction = "*";

struct Row {
  LanguageRuntime runtime;
  std::array<std::string_view, 4> files;         // without version and ".so"
  std::array<std::string_view, 2> interpreters;  // what their names begin with; ""; none
};

// By Language.
constexpr std::array<Row, kLanguages> kRows{{
    {{"Python", "restart it as `python3 -X perf` (3.12 or newer)"},
     {"python", "libpython"},
     {"_PyEval_EvalFrameDefault", "PyEval_EvalFrameEx"}},
    {{"JavaScript", "restart it as `node --perf-basic-prof-only-functions --interpreted-frames-native-stack`"},
     {"node", "nodejs"},
     {"Builtins_Interpreter", "Builtins_Baseline"}},
    {{"Java", "run `jcmd PID Compiler.perfmap` (17 or newer) while it is recorded, or restart it as `java -XX:+UnlockDiagnosticVMOptions -XX:+DumpPerfMapAtExit`"}, {"java", "libjvm"}, {}},
    {{"Ruby", "`ruby --yjit-perf` (3.3 or newer) names what its JIT compiles; rbspy and stackprof show all of them"}, {"ruby", "libruby"}, {kAnyFunction}},
    {{"PHP", "`php -d opcache.enable_cli=1 -d opcache.jit_buffer_size=64M -d opcache.jit_debug=16` (8.0 or newer) names what its JIT compiles"},
     {"php", "libphp", "php-fpm", "php-cgi"},
     {kAnyFunction}},
    {{"Perl", "`perl -d:NYTProf` shows them"}, {"perl", "libperl"}, {kAnyFunction}},
    {{"Lua", "a Lua profiler shows them (LuaJIT: `luajit -jp`)"}, {"lua", "liblua", "luajit", "libluajit"}, {"lua", "lj_"}},
    {{"Erlang", "restart it as `erl +JPperf true` (OTP 24 or newer)"}, {"beam.smp"}, {}},
    {{".NET", "restart it with DOTNET_PerfMapEnabled=1"}, {"dotnet", "libcoreclr"}, {}},
    {{"Julia", "restart it with ENABLE_JITPROFILING=1"}, {"julia", "libjulia-internal", "libjulia-codegen"}, {}},
}};

}  // namespace

const LanguageRuntime& runtime_of(Language language) { return kRows[static_cast<size_t>(language)].runtime; }

std::optional<Language> find_language(std::string_view path) {
  std::string_view name = path.substr(path.rfind('/') + 1);
  name = name.substr(0, name.find(" (deleted)"));
  name = name.substr(0, name.find(".so"));
  name = name.substr(0, name.find_last_not_of("0123456789.-") + 1);
  if (name.empty()) return std::nullopt;
  for (size_t i = 0; i < kRows.size(); ++i)
    if (std::find(kRows[i].files.begin(), kRows[i].files.end(), name) != kRows[i].files.end()) return static_cast<Language>(i);
  return std::nullopt;
}

bool interprets(Language language, std::string_view function) {
  const auto& known = kRows[static_cast<size_t>(language)].interpreters;
  return std::any_of(known.begin(), known.end(), [&](std::string_view name) { return name == kAnyFunction || (!name.empty() && function.starts_with(name)); });
}

}  // namespace cicada::symbolize
