// SPDX-License-Identifier: Apache-2.0
// `addr2line -ifC` with cicada's library, for the comparison in ./run: symbols_tool [--no-inlines] FILE < addresses
#include <cstdio>
#include <cstring>

#include "base/diagnostics.h"
#include "symbolize/symbol_report.h"

int main(int argc, char** argv) {
  cicada::symbolize::SymbolReportOptions options;
  options.symbols.fold_clones = false;
  const char* path = nullptr;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--no-inlines") == 0) {
      options.symbols.inlines = options.symbols.lines = false;
    } else if (std::strcmp(argv[i], "--mangled") == 0) {
      options.symbols.demangle = cicada::symbolize::Demangle::kNone;
    } else if (std::strcmp(argv[i], "--one-thread") == 0) {
      options.symbols.threads = 1;
    } else {
      path = argv[i];
    }
  }
  if (path == nullptr) return 2;
  cicada::diagnostics().set_handler([](cicada::Severity, const std::string& line) { std::fprintf(stderr, "%s\n", line.c_str()); });
  const auto done = cicada::symbolize::report_symbols(path, {}, 0, options, [](std::string_view text) { std::fwrite(text.data(), 1, text.size(), stdout); });
  if (done) return 0;
  std::fprintf(stderr, "%s\n", done.error().message().c_str());
  return 1;
}
