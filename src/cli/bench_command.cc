// SPDX-License-Identifier: Apache-2.0
#include "cli/bench_command.h"

#include <CLI/CLI.hpp>
#include <memory>

#include "cli/bench.h"
#include "cli/bench_compare.h"
#include "cli/invoking_user.h"
#include "cli/exit_code.h"
#include "cli/help_formatter.h"
#include "cli/terminal.h"

namespace cicada::cli {
namespace {

// Words as they are; a shell for whatever only a shell understands.
std::vector<std::string> argv_of(const std::string& text) {
  if (text.find_first_of("|&;<>()$`\\\"'*?[]#~=%{}\n") != std::string::npos) return {"/bin/sh", "-c", text};
  std::vector<std::string> words;
  for (size_t at = text.find_first_not_of(' '); at != std::string::npos;) {
    const size_t end = std::min(text.find(' ', at), text.size());
    words.push_back(text.substr(at, end - at));
    at = text.find_first_not_of(' ', end);
  }
  return words;
}

Result<int> run(BenchOptions options, const std::vector<std::string>& texts, const Invocation& invocation) {
  for (const std::string& text : texts) options.commands.push_back(argv_of(text));
  if (!invocation.after_dashes.empty()) options.commands.push_back(invocation.after_dashes);
  if (options.commands.empty()) return make_error(ErrorKind::kInvalid, "bench: nothing to run; `cicada bench -- CMD…` or `cicada bench 'A' 'B'`");
  if (options.runs == 0) return make_error(ErrorKind::kInvalid, "--runs 0: nothing would be measured");
  return run_bench(options);
}

// Files of others are read as the user, not as root.
Result<int> run_compare(const BenchCompareOptions& options) {
  TRY(InvokingUser::detect().become());
  return compare_benchmarks(options);
}

std::shared_ptr<BenchCompareOptions> add_compare(CLI::App& bench) {
  auto options = std::make_shared<BenchCompareOptions>();
  CLI::App* command = bench.add_subcommand("compare", "what became slower or faster between two results, and why");
  command->formatter(std::make_shared<HelpFormatter>("cicada bench compare [OPTIONS] BASE NEW"));
  command->footer("A verdict needs a 99 % interval of the ratio of medians that excludes 1, and a change beyond the threshold.\nExit code: 1 when a benchmark became slower, 125 when cicada failed.");
  command->add_option("BASE", options->base, "results before: a directory of `cicada bench`, or a client's")->required();
  command->add_option("NEW", options->now, "after")->required();
  command->add_option("-o,--output", options->directory, "differential flame graphs of what changed (default: none)")->type_name("DIR");
  command->add_option("--threshold", options->threshold_percent, "changes below are none, in percent")->type_name("N")->check(CLI::NonNegativeNumber)->capture_default_str();
  command->add_flag("--markdown", options->markdown, "a table for a pull request");
  command->add_flag("--json", options->json, "for machines: every benchmark");
  command->add_flag("--all", options->all, "benchmarks without a change, too");
  command->add_flag("--harness", options->harness, "with what calls a benchmark");
  return options;
}

}  // namespace

Command add_bench_command(CLI::App& app) {
  auto options = std::make_shared<BenchOptions>();
  auto texts = std::make_shared<std::vector<std::string>>();
  CLI::App* command = app.add_subcommand("bench", "run benchmarks: statistics and a flame graph for each");
  command->formatter(std::make_shared<HelpFormatter>("cicada bench [OPTIONS] (-- CMD… | 'A' 'B' …)\n       cicada bench compare BASE NEW"));
  command->footer(
      "Benchmarks that announce themselves (CodSpeed's integrations, cicada/bench.h) are told apart; any other "
      "program is one benchmark, and each run a round.\n"
      "Exit code: that of the first run that failed; 125 when cicada failed.");
  command->add_option("COMMANDS", *texts, "commands to compare with the first, each one word");
  command->add_option("-o,--output", options->directory, "where results go (default: cicada-bench)")->type_name("DIR")->allow_extra_args(false);
  command->add_option("-n,--runs", options->runs, "run everything so many times, in turn")->type_name("N")->capture_default_str();
  command->add_option("--warmup", options->warmup, "runs before, which do not count")->type_name("N")->capture_default_str();
  command->add_option("--prepare", options->prepare, "a shell command before each run (default: none)")->type_name("CMD");
  command->add_option("-F,--frequency", options->frequency, "samples a second on each CPU")->type_name("HZ")->capture_default_str();
  command->add_flag("--isolate", options->isolate, "the command on other CPUs than cicada");
  command->add_flag("--harness", options->harness, "show what calls a benchmark, too");
  command->add_flag("--show-output", options->show_output, "of all runs; a single one's is always shown");
  command->add_flag("--ignore-failure", options->ignore_failure, "go on after a run that failed");
  command->add_flag("--as-root", options->as_root, "run commands as root, not as the user who called sudo");
  command->add_flag("--force", options->force, "replace results that are there already");
  command->add_flag("-q,--quiet", options->quiet, "errors only");
  const auto compare = add_compare(*command);
  return {command,
          [options, texts, compare, command](const Invocation& invocation) {
            show_diagnostics(!options->quiet, false);
            const bool comparing = command->get_subcommand("compare")->parsed();
            const Result<int> done = comparing ? run_compare(*compare) : run(*options, *texts, invocation);
            if (done) return *done;
            print_error(done.error().message());
            return kExitFailure;
          },
          true};
}

}  // namespace cicada::cli
