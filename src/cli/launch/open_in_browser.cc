// SPDX-License-Identifier: Apache-2.0
#include "cli/launch/open_in_browser.h"

#include "cli/launch/launched_command.h"
#include "cli/terminal.h"

namespace cicada::cli {

void open_in_browser(const std::string& what, const InvokingUser& user) {
  // A session of its own: Ctrl-C is not for the browser.
  auto opener = LaunchedCommand::hold({"setsid", "xdg-open", what}, user);
  const Result<void> opened = opener ? opener->release() : Result<void>(opener.error());
  if (!opened) print_warning(fmt::format("--open: {} (open {} yourself)", opened.error().message(), what));
}

}  // namespace cicada::cli
