// SPDX-License-Identifier: Apache-2.0
#include "cli/probes/probes_command.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/exit_code.h"
#include "cli/help_formatter.h"
#include "cli/running_process.h"
#include "cli/terminal.h"
#include "recorder/recorder.h"

namespace cicada::cli {
namespace {

using bpf_source::ListedProbe;
using bpf_source::ProbeList;

constexpr size_t kWidest = 60;  // of the first column, where others are shorter

struct Options {
  std::string pattern, pid;
  size_t most = 1000;
  bool as_json = false;
};

std::string as_text(const ProbeList& list) {
  size_t width = 0;
  for (const ListedProbe& probe : list.probes) width = std::max(width, std::min(probe.event.size(), kWidest));
  std::string text;
  for (const ListedProbe& probe : list.probes) text += probe.more.empty() ? probe.event + "\n" : fmt::format("{:{}}  {}\n", probe.event, width, probe.more);
  return text;
}

std::string as_json(const ProbeList& list) {
  nlohmann::ordered_json json;
  json["matches"] = list.matches;
  json["probes"] = nlohmann::ordered_json::array();
  for (const ListedProbe& probe : list.probes) json["probes"].push_back({{"event", probe.event}, {"kind", probe.kind}, {"more", probe.more}});
  json["notes"] = list.notes;
  return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

Result<int> run(const Options& options) {
  bpf_source::ProbeQuestion question{options.pattern, {}, options.most};
  if (!options.pid.empty()) question.pids = TRY(find_processes(options.pid));
  const recorder::Readers readers = TRY(recorder::Readers::start());
  const ProbeList list = TRY(recorder::list_probes(readers, question));
  const std::string text = options.as_json ? as_json(list) : as_text(list);
  std::fwrite(text.data(), 1, text.size(), stdout);
  if (!options.as_json) {
    for (const std::string& note : list.notes) print_error(note);
    if (list.matches > list.probes.size()) print_error(fmt::format("{} of {} are listed; -n says how many", list.probes.size(), list.matches));
  }
  if (list.probes.empty() && list.notes.empty()) print_error(fmt::format("{}: nothing is called so", options.pattern));
  return list.probes.empty() ? kExitFailure : kExitSuccess;
}

}  // namespace

Command add_probes_command(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* probes = app.add_subcommand("probes", "what -e can name: events, tracepoints, functions, USDT probes");
  probes->formatter(std::make_shared<HelpFormatter>("cicada probes PATTERN [-p PID] [--json]"));
  probes->footer("PATTERN is as after -e: 'sched:*', 'k:vfs_*', 'u:libc:*alloc', malloc -p nginx. * is any letters, ? one.");
  probes->add_option("PATTERN", options->pattern, "which")->required();
  probes->add_option("-p,--pid", options->pid, "functions of the files that this process maps; a pid or a name (default: files that PATTERN names)");
  probes->add_option("-n", options->most, "how many are listed at most (default: 1000)");
  probes->add_flag("--json", options->as_json, "for machines: {\"matches\", \"probes\": [{event, kind, more}], \"notes\"}");
  return {probes, [options](const Invocation&) {
            const Result<int> code = run(*options);
            if (!code) print_error(code.error().message());
            return code ? *code : kExitFailure;
          }, true};
}

}  // namespace cicada::cli
