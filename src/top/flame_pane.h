// SPDX-License-Identifier: Apache-2.0
// A flame graph of boxes in a part of the screen: a row for each level, from the zoomed box on.
//
// While boxes grow, the picture stands still where it can, so that little is sent to the terminal and the eye finds again what it saw: an edge that was drawn
// stays in its column until it belongs a hundredth of the picture away (a column, if that is less). A first picture, of another zoom or size, is exact.
//
// What is zoomed and picked is known by its names, so it stays when costs change; a box that costs nothing now is waited for.
// Threads: one.
#pragma once
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "top/look.h"
#include "top/screen.h"

namespace cicada::top {

class FlamePane {
 public:
  // Towards the bottom of the screen, or, for callers above a function, towards its top.
  explicit FlamePane(bool grows_up = false) : grows_up_(grows_up) {}
  static constexpr double kSlack = 0.01, kLeastSlack = 1;  // of the columns; columns
  // Other boxes; `grown`: the same after an update.
  void show(Boxes boxes, bool grown = false);
  void draw(Grid& grid, const Rect& rect, const Model& model, Look& look, bool has_keys);
  // False: it does nothing with it.
  bool press(const Input& input);
  bool click(int x, int y, bool twice);
  // The pick goes so many levels along the heaviest path, or back.
  void go_down(int levels);
  // To the next box below the zoomed one that matches the search, or the one before. False: none does.
  bool find_match(Look& look, bool forward);
  void reset();           // zoom and pick
  bool goes_on() const { return goes_on_; }  // below what was drawn
  bool is_zoomed() const { return !zoom_.empty(); }
  const Path& zoom() const { return zoom_; }
  // None: there are no boxes.
  const Boxes* boxes() const { return boxes_ ? &*boxes_ : nullptr; }
  uint32_t picked() const { return picked_box_; }
  uint32_t zoomed() const { return zoom_box_; }
  // Where a box was drawn.
  struct Placed {
    uint32_t box = 0;
    int x = 0, width = 0, level = 0;  // levels below the zoomed box
  };
  // Level by level, from left to right; runs of boxes that are too small have box kNone.
  const std::vector<Placed>& placed() const { return placed_; }

 private:
  // A box, and where it is: exactly, and as it is drawn.
  struct Span {
    uint32_t box = 0;
    double from = 0, to = 0;
    int x = 0, end = 0;
  };
  void place(int columns, int levels);
  void add_children(const Span& parent, double scale, std::vector<Span>& to);
  int end_of(uint64_t path, double to, int x, const Span& parent);
  void pick(uint32_t box);
  void zoom_to(uint32_t box);
  void move_sideways(int step);

  const bool grows_up_;
  std::optional<Boxes> boxes_;
  Path zoom_, picked_;
  uint32_t zoom_box_ = 0, picked_box_ = 0;
  bool zoom_is_there_ = true, goes_on_ = false;
  int first_level_ = 0;  // that is drawn
  Rect rect_;
  std::unordered_map<uint64_t, int> ends_, last_ends_;  // by path: where a box ends, of this picture and the one before
  double slack_ = kLeastSlack;
  std::pair<uint64_t, int> ends_are_of_;                 // this zoom and width
  std::vector<Placed> placed_;
};

}  // namespace cicada::top
