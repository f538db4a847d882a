// SPDX-License-Identifier: Apache-2.0
// A flame graph of boxes in a part of the screen: a row for each level, from the zoomed box on.
//
// What is zoomed and picked is known by its names, so it stays when costs change; a box that costs nothing now is waited for.
// Threads: one.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "top/look.h"
#include "top/screen.h"

namespace cicada::top {

class FlamePane {
 public:
  // Towards the bottom of the screen, or, for callers above a function, towards its top.
  explicit FlamePane(bool grows_up = false) : grows_up_(grows_up) {}
  // Other boxes, or the same with other costs.
  void show(Boxes boxes);
  void draw(Grid& grid, const Rect& rect, const Model& model, Look& look, bool has_keys);
  // False: it does nothing with it.
  bool press(const Input& input);
  bool click(int x, int y, bool twice);
  // The pick goes so many levels along the heaviest path, or back.
  void go_down(int levels);
  // To the next box below the zoomed one that matches the search, or the one before. False: none does.
  bool find_match(Look& look, bool forward);
  void reset();           // zoom and pick
  bool is_zoomed() const { return !zoom_.empty(); }
  const Path& zoom() const { return zoom_; }
  // None: there are no boxes.
  const Boxes* boxes() const { return boxes_ ? &*boxes_ : nullptr; }
  uint32_t picked() const { return picked_box_; }
  uint32_t zoomed() const { return zoom_box_; }

 private:
  struct Placed {
    uint32_t box = 0;
    int x = 0, width = 0, level = 0;  // levels below the zoomed box
  };
  void place(int columns, int levels);
  void pick(uint32_t box);
  void zoom_to(uint32_t box);
  void move_sideways(int step);

  const bool grows_up_;
  std::optional<Boxes> boxes_;
  Path zoom_, picked_;
  uint32_t zoom_box_ = 0, picked_box_ = 0;
  bool zoom_is_there_ = true;
  int first_level_ = 0;  // that is drawn
  Rect rect_;
  std::vector<Placed> placed_;  // level by level, from left to right; runs of boxes that are too small have box kNone
};

}  // namespace cicada::top
