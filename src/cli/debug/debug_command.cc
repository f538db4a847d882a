// SPDX-License-Identifier: Apache-2.0
#include "cli/debug/debug_command.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "cli/exit_code.h"
#include "cli/help_formatter.h"
#include "cli/invoking_user.h"
#include "cli/running_process.h"
#include "cli/terminal.h"
#include "process/procfs/maps_file.h"
#include "process/tracking/address_blocks.h"
#include "symbolize/symbol_report.h"
#include "unwind/row_report.h"

namespace cicada::cli {
namespace {

struct DebugOptions {
  std::string rows_file;
  bool stats = false, unsupported = false, pieces = false;
  std::string process;
  std::string symbols_file;
  std::vector<std::string> addresses;
  std::string exe, style;
  bool no_inlines = false, show_addresses = false, debuginfod = false, always = false, basenames = false, pretty = false;
};

// Flushed: whoever asks through a pipe waits for the answer.
Result<void> print_data(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0) return {};
  return errno_error(errno, "write standard output");
}

Result<void> debug_rows(const DebugOptions& options) {
  using unwind::RowReport;
  const RowReport report = options.stats         ? RowReport::kStats
                           : options.unsupported ? RowReport::kUnsupported
                           : options.pieces      ? RowReport::kPieces
                                                 : RowReport::kRows;
  return print_data(TRY(unwind::report_rows(options.rows_file, report)));
}

// The blocks that go into the kernel's trie for one process, and how many naive cutting would need.
Result<void> debug_blocks(const DebugOptions& options) {
  for (const Pid pid : TRY(find_processes(options.process))) {
    const process::MapsFile maps = TRY(process::read_maps(pid, process::MapsFilter::kExecutable));
    std::vector<Range<RuntimeAddr>> ranges;
    for (const process::MapsEntry& entry : maps.entries) ranges.push_back(entry.range);
    const std::vector<process::AddressBlock> blocks = process::minimal_blocks(ranges);
    std::string text;
    for (const process::AddressBlock& block : blocks) {
      const process::MapsEntry& entry = maps.entries[block.range];
      text += fmt::format("{:016x}/{:<2}  {:x}-{:x}  {}\n", block.base.value, block.prefix_bits,
                             entry.range.begin.value, entry.range.end.value,
                             entry.path.empty() ? "[anonymous]" : entry.path);
    }
    const double mappings = static_cast<double>(std::max<size_t>(ranges.size(), 1));
    text += fmt::format("process {}: {} executable mappings, {} blocks ({:.2f} each; exact cutting: {:.2f})\n", pid,
                           ranges.size(), blocks.size(), static_cast<double>(blocks.size()) / mappings,
                           static_cast<double>(process::exact_blocks(ranges).size()) / mappings);
    TRY(print_data(text));
  }
  return {};
}

Result<void> debug_symbols(const DebugOptions& options) {
  symbolize::SymbolReportOptions report;
  report.symbols.inlines = !options.no_inlines;
  report.symbols.fold_clones = false;  // addr2line shows them
  report.symbols.debuginfod = options.debuginfod;
  report.show_addresses = options.show_addresses;
  report.basenames = options.basenames;
  report.pretty = options.pretty;
  // With addr2line's -e every word is an address.
  std::string file = options.symbols_file;
  std::vector<std::string> addresses = options.addresses;
  if (!options.exe.empty()) {
    if (!file.empty()) addresses.insert(addresses.begin(), file);
    file = options.exe;
  }
  if (file.empty()) return Error(ErrorKind::kInvalid, "no file given; `cicada debug symbols FILE ADDR…`");
  return symbolize::report_symbols(file, addresses, STDIN_FILENO, report, print_data);
}

CLI::App* add(CLI::App& parent, const char* name, const char* what, const char* usage) {
  CLI::App* command = parent.add_subcommand(name, what);
  command->formatter(std::make_shared<HelpFormatter>(usage));
  return command;
}

}  // namespace

Command add_debug_command(CLI::App& app) {
  auto options = std::make_shared<DebugOptions>();
  CLI::App* debug = add(app, "debug", "what cicada makes of a file or a process", "cicada debug rows|blocks|symbols …");
  debug->require_subcommand(1);

  CLI::App* rows =
      add(*debug, "rows", "the unwind rows of an ELF file", "cicada debug rows [--stats|--unsupported|--pieces] FILE");
  rows->add_option("FILE", options->rows_file, "an executable or a library")->required();
  CLI::Option* stats = rows->add_flag("--stats", options->stats, "how many, how large, what they cover");
  CLI::Option* unsupported = rows->add_flag("--unsupported", options->unsupported, "what the kernel walk cannot follow")->excludes(stats);
  rows->add_flag("--pieces", options->pieces, "code without CFI, read in pieces: how fast, and whether the rules are the same")->excludes(stats)->excludes(unsupported);

  CLI::App* blocks = add(*debug, "blocks", "the address blocks of a process", "cicada debug blocks PID|NAME");
  blocks->add_option("PID", options->process, "a process, by pid or name")->required();

  CLI::App* symbols = add(*debug, "symbols", "names of addresses, as addr2line -ifC gives them",
                          "cicada debug symbols [OPTIONS] FILE [ADDR…]");
  symbols->add_option("FILE", options->symbols_file, "an executable or a library");
  symbols->add_option("ADDR", options->addresses, "hexadecimal; none: one a line from standard input");
  symbols->add_option("-e,--exe", options->exe, "the same as FILE; every other word is an address then (default: the first word)")->type_name("FILE");
  symbols->add_flag("-a,--addresses", options->show_addresses, "each answer begins with its address");
  symbols->add_flag("-p,--pretty-print", options->pretty, "function and line on one line");
  symbols->add_flag("-s,--basenames", options->basenames, "files without their directories");
  symbols->add_flag("-i,--inlines,-f,--functions", options->always, "always: accepted so that an addr2line call need not change");
  symbols->add_flag("-C,--demangle{auto}", options->style, "always, too");
  symbols->add_flag("--debuginfod", options->debuginfod, "ask the servers in DEBUGINFOD_URLS for a missing debug file");
  symbols->add_flag("--no-inline", options->no_inlines, "the outermost function only");

  return {debug, [=](const Invocation&) {
            show_diagnostics(true, false);
            const auto run = [&]() -> Result<void> {
              if (blocks->parsed()) return debug_blocks(*options);  // of other users' processes: nothing but /proc is read
              TRY(InvokingUser::detect().become());
              return rows->parsed() ? debug_rows(*options) : debug_symbols(*options);
            };
            const Result<void> done = run();
            if (done) return kExitSuccess;
            print_error(done.error().message());
            return kExitFailure;
          }, true};
}

}  // namespace cicada::cli
