// SPDX-License-Identifier: Apache-2.0
// The terminal: carries a grid to it (ncurses sends only what has changed) and says what is pressed. From open_screen() on it is ours; the destructor gives it
// back as it was. A terminal that cannot show all shows what is nearest (top/approximation.h).
//
// Threads: one. There is one at a time.
#pragma once
#include <memory>
#include <optional>
#include <string_view>

#include "base/result.h"
#include "top/grid.h"

namespace cicada::top {

struct Input {
  enum class Kind { kLetter, kUp, kDown, kLeft, kRight, kPageUp, kPageDown, kHome, kEnd, kEnter, kEscape, kBackspace, kTab, kBackTab, kClick, kDoubleClick, kDrag, kWheelUp, kWheelDown, kResize, kInterrupt };
  Kind kind = Kind::kLetter;
  char32_t letter = 0;  // kLetter
  int x = 0, y = 0;     // kClick, kDoubleClick, kDrag (the mouse moves while the button is down), kWheelUp, kWheelDown
};

class Screen {
 public:
  virtual ~Screen() = default;
  virtual int width() const = 0;
  virtual int height() const = 0;
  virtual bool has_colours() const = 0;  // else a ground is shown in reverse
  virtual void show(const Grid& grid) = 0;
  // What was pressed, if anything was: does not wait. To be asked until it says nothing; fd() is readable when there is more, also when the terminal has
  // another size. A terminal that has gone says kInterrupt. Ctrl-L is done here.
  virtual std::optional<Input> next() = 0;
  virtual int fd() const = 0;
  // An escape sequence that ncurses knows nothing of (OSC 52: the clipboard).
  virtual void send(std::string_view sequence) = 0;
};

// Whether a screen can be opened. Fails: kUnsupported (no terminal, TERM is not set or not known), with what can be done instead.
Result<void> check_terminal();
// Reads terminfo and the locale: before files can be opened no more. Fails: as check_terminal().
Result<std::unique_ptr<Screen>> open_screen();

}  // namespace cicada::top
