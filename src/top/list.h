// SPDX-License-Identifier: Apache-2.0
// A list that is longer than its part of the screen: which line has the cursor, and which are seen. Threads: one.
#pragma once
#include <algorithm>

#include "top/screen.h"

namespace cicada::top {

class List {
 public:
  int at() const { return at_; }
  int first() const { return first_; }
  void go_to(int line) { at_ = line; }
  // After each change.
  void set_lines(int lines) { fit(lines, height_); }
  // Before it is drawn.
  void fit(int lines, int height) {
    lines_ = lines;
    height_ = std::max(1, height);
    at_ = std::clamp(at_, 0, std::max(0, lines - 1));
    first_ = std::clamp(first_, at_ - height_ + 1, at_);
    first_ = std::clamp(first_, 0, std::max(0, lines - height_));
  }
  // On a row of `rect`, whose first one is a heading. False: on none.
  bool click(int y, const Rect& rect) {
    if (y <= rect.y || y >= rect.y + rect.height) return false;
    at_ = first_ + y - rect.y - 1;
    set_lines(lines_);
    return true;
  }
  // False: no key of a list.
  bool press(const Input& input) {
    using Kind = Input::Kind;
    switch (input.kind) {
      case Kind::kDown: move(1); return true;
      case Kind::kUp: move(-1); return true;
      case Kind::kPageDown: move(height_); return true;
      case Kind::kPageUp: move(-height_); return true;
      case Kind::kHome: at_ = 0; return true;
      case Kind::kEnd: at_ = std::max(0, lines_ - 1); return true;
      case Kind::kWheelDown: move(3); return true;
      case Kind::kWheelUp: move(-3); return true;
      default: return false;
    }
  }

 private:
  void move(int by) { at_ = std::clamp(at_ + by, 0, std::max(0, lines_ - 1)); }
  int at_ = 0, first_ = 0, lines_ = 0, height_ = 1;
};

// Text that is longer than its part of the screen: which line is the first.
class Scroll {
 public:
  explicit Scroll(bool follows = false) : at_end_(follows), follows_(follows) {}
  int first() const { return first_; }
  void fit(int lines, int height) {
    lines_ = lines;
    height_ = std::max(1, height);
    const int last = std::max(0, lines - height_);
    first_ = at_end_ ? last : std::clamp(first_, 0, last);
  }
  bool press(const Input& input) {
    using Kind = Input::Kind;
    switch (input.kind) {
      case Kind::kDown: move(1); return true;
      case Kind::kUp: move(-1); return true;
      case Kind::kPageDown: move(height_); return true;
      case Kind::kPageUp: move(-height_); return true;
      case Kind::kHome: move(-lines_); return true;
      case Kind::kEnd: move(lines_); return true;
      case Kind::kWheelDown: move(3); return true;
      case Kind::kWheelUp: move(-3); return true;
      default: return false;
    }
  }

 private:
  void move(int by) {
    const int last = std::max(0, lines_ - height_);
    first_ = std::clamp(first_ + by, 0, last);
    at_end_ = follows_ && first_ == last;
  }
  bool at_end_;         // it stays there when lines come
  const bool follows_;
  int first_ = 0, lines_ = 0, height_ = 1;
};

}  // namespace cicada::top
