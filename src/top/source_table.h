// SPDX-License-Identifier: Apache-2.0
// The view of a function's source or instructions (top/source.h reads them).
// Threads: one.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "top/list.h"
#include "top/look.h"
#include "top/source.h"

namespace cicada::top {

// The code of a function with its costs.
class SourceTable {
 public:
  // What is asked for; until the answer comes it says so. Of the same once more: what there is stays until then.
  void ask(const std::string& function, bool instructions);
  bool is_asking() const { return asking_; }
  uint64_t all() const { return answer_.all; }  // what everything costs that its shares are of
  uint64_t number() const { return number_; }  // of the question
  const std::string& function() const { return function_; }
  bool instructions() const { return instructions_; }
  void show(SourceAnswer answer);
  void draw(Grid& grid, const Rect& rect, Look& look);
  bool press(const Input& input);
  bool click(int y) { return list_.click(y, rect_); }

 private:
  struct Line {
    std::string text;
    const sink::AnnotatedLine* of = nullptr;  // null: a heading, a gap
  };
  std::string function_, said_;
  bool instructions_ = false, asking_ = false, again_ = false;
  uint64_t number_ = 0;
  SourceAnswer answer_;
  std::vector<Line> lines_;
  List list_;
  Rect rect_;
};

}  // namespace cicada::top
