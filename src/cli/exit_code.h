// SPDX-License-Identifier: Apache-2.0
// What cicada's exit code means, as env(1) and timeout(1) have it. Otherwise `record -- CMD` returns the command's own,
// or why it could not be run (LaunchedCommand).
#pragma once

namespace cicada::cli {

constexpr int kExitSuccess = 0;
constexpr int kExitGrown = 1;        // diff: a --fail-if condition is violated; bench: a benchmark became slower
constexpr int kExitCannotTell = 2;   // bench --strict: whether one became slower
constexpr int kExitNotAllWorks = 1;  // doctor: something that recording needs is missing
constexpr int kExitFailureTold = 124;  // of a process that shows what another one records: it has said itself what failed
constexpr int kExitFailure = 125;  // cicada itself failed: bad options, no privileges, an output that cannot be written

}  // namespace cicada::cli
