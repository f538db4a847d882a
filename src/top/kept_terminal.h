// SPDX-License-Identifier: Apache-2.0
// The terminal, as it was before a process without rights drew on it. That gives it back itself; where it cannot, because it was killed, who started it does.
//
// Owns the messages that are said meanwhile (they would be in the picture): they are printed when the terminal is back. Threads: one.
#pragma once
#include <termios.h>

#include <string_view>

#include "base/result.h"
#include "base/unique_fd.h"

namespace cicada::top {

class KeptTerminal {
 public:
  // Fails: kUnsupported (standard input or output is no terminal).
  static Result<KeptTerminal> keep();
  // What this process writes to standard error waits from now on, if that is a terminal.
  void hold_messages();
  // `by_signal`: nobody has left the other screen, shown the cursor or let go of the mouse.
  void give_back(bool by_signal);

 private:
  KeptTerminal() = default;
  termios modes_{};
  UniqueFd messages_, standard_error_;
};

}  // namespace cicada::top
