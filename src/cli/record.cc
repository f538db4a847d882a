// SPDX-License-Identifier: Apache-2.0
#include "cli/record.h"

#include "cli/exit_code.h"
#include "cli/terminal.h"

namespace cicada::cli {

int run_record(const RecordOptions&) {
  print_error("record: the session is not wired yet in this build; use a newer one");
  return kExitFailure;
}

}  // namespace cicada::cli
