// SPDX-License-Identifier: Apache-2.0
#include "cli/report/report_annotate.h"

#include "base/clean_text.h"
#include "base/number_text.h"
#include "cli/report/annotator.h"
#include "cli/report/report_functions.h"

namespace cicada::cli {
namespace {

std::string numbers(const sink::AnnotatedLine& line, uint64_t all) {
  const auto share = [&](uint64_t part) { return part == 0 ? std::string() : fmt::format("{:.1f} %", percent(part, all)); };
  return fmt::format("{:>9}{:>9}", share(line.self), share(line.total));
}

std::string text_of(const std::vector<sink::AnnotatedPart>& parts, uint64_t all) {
  std::string out;
  for (const sink::AnnotatedPart& part : parts) {
    out += fmt::format("{}\n{:>9}{:>9}{:>{}}\n", clean_text(part.where), "self", "total", part.instructions ? "address" : "line", part.instructions ? 12 : 7);
    for (const sink::AnnotatedLine& line : part.lines) {
      if (line.after_gap) out += fmt::format("{:>25}\n", "…");
      out += numbers(line, all) + (part.instructions ? fmt::format("{:>12x}", line.at) : fmt::format("{:>7}", line.at)) + fmt::format("  {}\n", clean_text(line.text));
    }
  }
  return out;
}

}  // namespace

Result<std::string> annotate_function(const profile::ProfileSnapshot& profile, const profile::CallTreeOptions& options, const std::string& function,
                                      const TableNames& names, bool instructions) {
  Annotator annotator(profile, options);
  std::vector<uint32_t> which;
  for (const profile::Function& row : profile.functions()) which.push_back(names.means(profile.text(row.name), function) ? 0 : Annotator::kNotMeant);
  const FunctionCosts costs = annotator.add_up(which, 1)[0];
  if (!costs.found) {
    // The names that come close are the tree's.
    return callees_of(profile::build_call_tree(profile, options), function, names).error().within("--annotate");
  }
  if (instructions) return text_of(TRY(annotator.instructions(costs)), annotator.all());
  const auto source = annotator.source(costs);
  if (source) return text_of(*source, annotator.all());
  const auto code = annotator.instructions(costs);
  if (!code) return code.error().within(fmt::format("--annotate {}: {}", function, source.error().message()));
  return fmt::format("instructions, because: {}\n{}", source.error().message(), text_of(*code, annotator.all()));
}

}  // namespace cicada::cli
