// SPDX-License-Identifier: Apache-2.0
#include "cli/bench/bench_command.h"

#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <memory>

#include "cli/bench/bench.h"
#include "cli/bench/bench_compare.h"
#include "cli/exit_code.h"
#include "cli/help_formatter.h"
#include "cli/invoking_user.h"
#include "cli/quantity.h"
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

// In a few words; CLI11's own of a range says the largest number, with 309 digits.
const CLI::Validator kNotNegative([](const std::string& text) {
  char* end = nullptr;
  return std::strtod(text.c_str(), &end) >= 0 && end != text.c_str() ? std::string() : fmt::format("{}: expected a number, 0 or more", text);
}, "", "");
const CLI::Validator kAboveZero([](const std::string& text) { return std::strtod(text.c_str(), nullptr) > 0 ? std::string() : fmt::format("{}: expected a number above 0", text); }, "", "");

// What becomes BenchOptions only when it is understood.
struct RawBenchOptions {
  std::vector<std::string> texts, scans;
  std::string frequency = "997";
};

void replace_all(std::string& text, const std::string& from, const std::string& to) {
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) text.replace(at, from.size(), to);
}

// --scan threads=1,2,4: each command with {threads} three times, with these in its place. Several scans: each value with each. False: no command has it.
Result<bool> scan(std::vector<std::vector<std::string>>& commands, const std::string& option) {
  const size_t equals = option.find('=');
  if (equals == 0 || equals == std::string::npos) return make_error(ErrorKind::kInvalid, "--scan {}: expected NAME=VALUE,VALUE,…", option);
  const std::string place = "{" + option.substr(0, equals) + "}";
  std::vector<std::vector<std::string>> all;
  bool used = false;
  for (const std::vector<std::string>& command : commands) {
    if (std::none_of(command.begin(), command.end(), [&](const std::string& word) { return word.find(place) != std::string::npos; })) {
      all.push_back(command);
      continue;
    }
    used = true;
    for (size_t at = equals + 1, end = at; at <= option.size(); at = end + 1) {
      end = std::min(option.find(',', at), option.size());
      all.push_back(command);
      for (std::string& word : all.back()) replace_all(word, place, option.substr(at, end - at));
    }
  }
  commands = std::move(all);
  return used;
}

// The same command twice is two benchmarks.
void tell_apart(BenchOptions& options) {
  std::vector<std::string> names;
  for (size_t i = 0; i < options.commands.size(); ++i) {
    const std::string first = i < options.names.size() ? options.names[i] : fmt::format("{}", fmt::join(options.commands[i], " "));
    std::string name = first;
    for (int number = 2; std::find(names.begin(), names.end(), name) != names.end(); ++number) name = fmt::format("{} #{}", first, number);
    names.push_back(std::move(name));
  }
  options.names = std::move(names);
}

Result<int> run(BenchOptions options, const RawBenchOptions& given, const Invocation& invocation) {
  std::vector<std::vector<std::string>> texts;
  for (const std::string& text : given.texts) texts.push_back({text});
  std::vector<std::vector<std::string>> after_dashes;
  if (!invocation.after_dashes.empty()) after_dashes.push_back(invocation.after_dashes);
  for (const std::string& option : given.scans) {
    const bool in_texts = TRY(scan(texts, option)), in_rest = TRY(scan(after_dashes, option));
    if (!in_texts && !in_rest) return make_error(ErrorKind::kInvalid, "--scan {}: no command has {{{}}}", option, option.substr(0, option.find('=')));
  }
  for (const auto& text : texts) options.commands.push_back(argv_of(text[0]));
  options.commands.insert(options.commands.end(), after_dashes.begin(), after_dashes.end());
  if (options.commands.empty()) return make_error(ErrorKind::kInvalid, "bench: nothing to run; `cicada bench -- CMD…` or `cicada bench 'A' 'B'`");
  if (options.names.size() > options.commands.size()) return make_error(ErrorKind::kInvalid, "--name {}: there are {} commands only", options.names.back(), options.commands.size());
  if (options.runs == 0U) return make_error(ErrorKind::kInvalid, "--runs 0: nothing would be measured");
  options.frequency_hz = TRY(parse_frequency_hz(given.frequency));
  tell_apart(options);
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
  command->footer("Runs are compared, not rounds: a verdict needs a 99 % interval of the ratio that excludes 1, and a change beyond the threshold.\nExit code: 1 when a benchmark became slower, 2 with --strict where that cannot be told, 125 when cicada failed.");
  command->add_option("BASE", options->base, "results before: a directory of `cicada bench`, or a client's")->required();
  command->add_option("NEW", options->now, "after")->required();
  command->add_option("-o,--output", options->directory, "differential flame graphs of what changed (default: none)")->type_name("DIR");
  command->add_option("--threshold", options->threshold_percent, "changes below are none, in percent")->type_name("N")->check(kNotNegative)->capture_default_str();
  command->add_option("--match", options->matches, "compare these two, by number or name (default: those of one name)")->type_name("BASE=NEW")->allow_extra_args(false);
  command->add_flag("--strict", options->strict, "exit code 2 where it cannot be told whether one became slower");
  command->add_flag("--markdown", options->markdown, "a table for a pull request");
  command->add_flag("--json", options->json, "for machines: every benchmark");
  command->add_flag("--all", options->all, "benchmarks without a change, too");
  command->add_flag("--harness", options->harness, "with what calls a benchmark");
  return options;
}

}  // namespace

Command add_bench_command(CLI::App& app) {
  auto options = std::make_shared<BenchOptions>();
  auto given = std::make_shared<RawBenchOptions>();
  CLI::App* command = app.add_subcommand("bench", "run benchmarks: statistics and a flame graph for each");
  command->formatter(std::make_shared<HelpFormatter>("cicada bench [OPTIONS] (-- CMD… | 'A' 'B' …)\n       cicada bench compare BASE NEW"));
  command->footer(
      "Benchmarks that announce themselves (CodSpeed's integrations, cicada/bench.h) are told apart; any other "
      "program is one benchmark, and each run a round.\n"
      "Exit code: that of the first run that failed; 1 when a command is slower than the first, 2 with --strict where that cannot be told; 125 when cicada failed.");
  command->add_option("COMMANDS", given->texts, "commands to compare with the first, each one word");
  command->add_option("-o,--output", options->directory, "where results go (default: cicada-bench)")->type_name("DIR")->allow_extra_args(false);
  command->add_option("-n,--runs", options->runs, "run everything so many times, in turn (default: one command once, several until they are told apart)")->type_name("N");
  command->add_option("--precision", options->precision_percent, "how well the ratio of several commands is to be known, in percent")->type_name("N")->check(kAboveZero)->capture_default_str();
  command->add_option("--max-time", options->max_time_s, "seconds after which that is given up")->type_name("S")->check(kAboveZero)->capture_default_str();
  command->add_option("--threshold", options->threshold_percent, "changes below are none, in percent")->type_name("N")->check(kNotNegative)->capture_default_str();
  command->add_flag("--strict", options->strict, "exit code 2 where it cannot be told whether a command is slower");
  command->add_option("--name", options->names, "of a command, in their order (default: its words)")->type_name("NAME")->allow_extra_args(false);
  command->add_option("--scan", given->scans, "run each command with each value in the place of {NAME} (default: none)")->type_name("NAME=V,V,…")->allow_extra_args(false);
  command->add_option("--input", options->input, "each run's standard input (default: the file that is ours, else nothing)")->type_name("FILE");
  command->add_option("--warmup", options->warmup, "runs before, which do not count")->type_name("N")->capture_default_str();
  command->add_option("--setup", options->setup, "a shell command before all runs (default: none)")->type_name("CMD");
  command->add_option("--prepare", options->prepare, "a shell command before each run (default: none)")->type_name("CMD");
  command->add_option("--cleanup", options->cleanup, "a shell command after all runs (default: none)")->type_name("CMD");
  command->add_option("-F,--frequency", given->frequency, "samples a second on each CPU")->type_name("HZ")->capture_default_str();
  command->add_flag("--isolate", options->isolate, "the command on other CPUs than cicada");
  command->add_flag("--harness", options->harness, "show what calls a benchmark, too");
  command->add_flag("--show-output", options->show_output, "of all runs; a single one's is always shown");
  command->add_flag("--ignore-failure", options->ignore_failure, "go on after a run that failed");
  command->add_flag("--as-root", options->as_root, "run commands as root, not as the user who called sudo");
  command->add_flag("--force", options->force, "replace results that are there already");
  command->add_flag("-q,--quiet", options->quiet, "errors only");
  const auto compare = add_compare(*command);
  return {command,
          [options, given, compare, command](const Invocation& invocation) {
            show_diagnostics(!options->quiet, false);
            const bool comparing = command->get_subcommand("compare")->parsed();
            const Result<int> done = comparing ? run_compare(*compare) : run(*options, *given, invocation);
            if (done) return *done;
            print_error(done.error().message());
            return kExitFailure;
          },
          true};
}

}  // namespace cicada::cli
