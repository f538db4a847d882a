// SPDX-License-Identifier: Apache-2.0
#include "cli/doctor/doctor_command.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/doctor/machine_check.h"
#include "cli/exit_code.h"
#include "cli/help_formatter.h"

namespace cicada::cli {
namespace {

const char* mark(Verdict verdict) {
  switch (verdict) {
    case Verdict::kWorks:
      return "ok     ";
    case Verdict::kLimited:
      return "limited";
    case Verdict::kMissing:
      return "MISSING";
  }
  return "";
}

const char* word(Verdict verdict) {
  switch (verdict) {
    case Verdict::kWorks:
      return "works";
    case Verdict::kLimited:
      return "limited";
    case Verdict::kMissing:
      return "missing";
  }
  return "";
}

}  // namespace

std::string format_checks(const std::vector<MachineCheck>& checks) {
  std::string out;
  for (const MachineCheck& check : checks) {
    out += fmt::format("{}  {:<20} {}\n", mark(check.verdict), check.name, check.found);
    if (!check.remedy.empty()) out += fmt::format("{:30}-> {}\n", "", check.remedy);
  }
  out += can_record(checks) ? "\n`cicada record` works here.\n"
                            : "\n`cicada record` does not work here until the MISSING items are fixed.\n";
  return out;
}

std::string checks_as_json(const std::vector<MachineCheck>& checks) {
  nlohmann::ordered_json json;
  json["can_record"] = can_record(checks);
  for (const MachineCheck& check : checks) {
    json["checks"].push_back(
        {{"name", check.name}, {"verdict", word(check.verdict)}, {"found", check.found}, {"remedy", check.remedy}});
  }
  return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

Command add_doctor_command(CLI::App& app) {
  auto as_json = std::make_shared<bool>(false);
  CLI::App* doctor = app.add_subcommand("doctor", "what works on this machine, what does not, and what to do");
  doctor->formatter(std::make_shared<HelpFormatter>("cicada doctor [--json]"));
  doctor->footer("Exit code: 0 when recording works, 1 when something is missing. Run it with and without sudo.");
  doctor->add_flag("--json", *as_json, "for machines: {\"can_record\", \"checks\": [{name, verdict, found, remedy}]}");
  return {doctor, [as_json](const Invocation&) {
            const std::vector<MachineCheck> checks = check_machine();
            const std::string text = *as_json ? checks_as_json(checks) : format_checks(checks);
            std::fwrite(text.data(), 1, text.size(), stdout);
            return can_record(checks) ? kExitSuccess : kExitNotAllWorks;
          }, true};
}

}  // namespace cicada::cli
