// SPDX-License-Identifier: Apache-2.0
#include "cli/doctor/machine_check.h"

#include <gmock/gmock.h>

namespace cicada::cli {
namespace {

using testing::HasSubstr;

const std::vector<MachineCheck> kChecks = {{"BTF", Verdict::kWorks, "there", ""},
                                           {"probes", Verdict::kLimited, "no \"kprobes\"", "a newer kernel"},
                                           {"privileges", Verdict::kMissing, "none", "run it with sudo"}};

TEST(CanRecord, OnlyWhatIsMissingPreventsIt) {
  EXPECT_FALSE(can_record(kChecks));
  EXPECT_TRUE(can_record({kChecks[0], kChecks[1]}));
}

TEST(FormatChecks, ShowsTheRemedyUnderWhatNeedsOne) {
  const std::string text = format_checks(kChecks);
  EXPECT_THAT(text, HasSubstr("MISSING  privileges"));
  EXPECT_THAT(text, HasSubstr("-> run it with sudo\n"));
  EXPECT_THAT(text, HasSubstr("does not work here"));
}

TEST(ChecksAsJson, QuotesWhatNeedsIt) {
  const std::string json = checks_as_json(kChecks);
  EXPECT_THAT(json, HasSubstr(R"("can_record": false)"));
  EXPECT_THAT(json, HasSubstr(R"("found": "no \"kprobes\"")"));
}

TEST(CheckMachine, AnswersEveryQuestionWithAFinding) {
  const std::vector<MachineCheck> checks = check_machine();
  EXPECT_GT(checks.size(), 10u);
  for (const MachineCheck& check : checks) {
    EXPECT_FALSE(check.found.empty()) << check.name;
    EXPECT_EQ(check.verdict == Verdict::kMissing && check.remedy.empty(), false) << check.name;
  }
}

}  // namespace
}  // namespace cicada::cli
