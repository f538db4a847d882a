// SPDX-License-Identifier: Apache-2.0
#include "top/source.h"

#include "base/catching.h"
#include "cli/report/annotator.h"

namespace cicada::top {
namespace {

Result<std::vector<sink::AnnotatedPart>> read(const SourceQuestion& question, uint64_t& all) {
  const profile::ProfileSnapshot& profile = *question.profile;
  profile::CallTreeOptions options{.event = question.event};
  if (question.counted) options.filter = [&counted = *question.counted](const profile::ProfileSnapshot&, size_t row) { return row < counted.size() && counted[row]; };
  cli::Annotator annotator(profile, options);
  all = annotator.all();
  std::vector<uint32_t> which;
  for (const profile::Function& row : profile.functions()) which.push_back(profile.text(row.name) == question.function ? 0 : cli::Annotator::kNotMeant);
  const cli::FunctionCosts costs = annotator.add_up(which, 1)[0];
  if (!costs.found) return make_error(ErrorKind::kNotFound, "no samples in {}", question.function);
  return question.instructions ? annotator.instructions(costs) : annotator.source(costs);
}

}  // namespace

SourceAnswer read_source(const SourceQuestion& question) {
  SourceAnswer answer{.number = question.number};
  Result<std::vector<sink::AnnotatedPart>> parts = catching("the code of a function", [&] { return read(question, answer.all); });
  if (parts) answer.parts = std::move(*parts);
  else answer.missing = parts.error().message();
  return answer;
}

}  // namespace cicada::top
