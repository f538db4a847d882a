// SPDX-License-Identifier: Apache-2.0
#include "cli/habits.h"

#include <algorithm>
#include <iterator>

namespace cicada::cli {
namespace {

struct Habit {
  std::string_view command, option, instead;
};

constexpr std::string_view kStacks = "whole stacks are always recorded, nothing has to be asked for";
constexpr std::string_view kJson = "-o DIR: results are in DIR/bench.json, for programs, and in DIR/index.html";
constexpr std::string_view kMarkdown = "cicada bench compare --markdown BASE NEW";
constexpr Habit kHabits[] = {
    {"record", "-g", kStacks},
    {"record", "--call-graph", kStacks},
    {"record", "-c", "a period belongs to its event: -e EVENT/period=N/"},
    {"record", "--count", "a period belongs to its event: -e EVENT/period=N/"},
    {"record", "-u", "--user NAME"},
    {"record", "-G", "--cgroup PATH"},
    {"record", "--off-cpu", "-e off-cpu, or cicada offcpu"},
    {"report", "-i", "the recording is an argument: cicada report FILE"},
    {"report", "--input", "the recording is an argument: cicada report FILE"},
    {"report", "--stdio", "that is what report does"},
    {"bench", "--export-json", kJson},
    {"bench", "--export-csv", kJson},
    {"bench", "--export-markdown", kMarkdown},
    {"bench", "-w", "--warmup N"},
    {"bench", "-r", "-n N, --runs N"},
    {"bench", "-m", "-n N, --runs N; without, several commands run until they are told apart"},
    {"bench", "--min-runs", "-n N, --runs N; without, several commands run until they are told apart"},
    {"bench", "-M", "--max-time S"},
    {"bench", "--max-runs", "--max-time S"},
    {"bench", "-p", "--prepare CMD"},
    {"bench", "-s", "--setup CMD"},
    {"bench", "-c", "--cleanup CMD"},
    {"bench", "-i", "--ignore-failure"},
    {"bench", "-N", "a text without characters of the shell's needs no shell"},
    {"bench", "-S", "a text with characters of the shell's is given to /bin/sh; for another: 'zsh -c …'"},
    {"bench", "--shell", "a text with characters of the shell's is given to /bin/sh; for another: 'zsh -c …'"},
    {"bench", "-L", "--scan NAME=V,V"},
    {"bench", "--parameter-list", "--scan NAME=V,V"},
    {"bench", "-P", "--scan NAME=1,2,3"},
    {"bench", "--parameter-scan", "--scan NAME=1,2,3"},
    {"bench", "--command-name", "--name NAME"},
    {"bench", "-g", kStacks},
};

}  // namespace

std::string_view find_habit(std::string_view command, std::string_view option) {
  option = option.substr(0, option.find('='));
  const auto found = std::find_if(std::begin(kHabits), std::end(kHabits), [&](const Habit& habit) { return habit.command == command && habit.option == option; });
  return found == std::end(kHabits) ? std::string_view() : found->instead;
}

}  // namespace cicada::cli
