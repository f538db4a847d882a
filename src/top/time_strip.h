// SPDX-License-Identifier: Apache-2.0
// A row that shows what was going on when, whatever is chosen, with the chosen span and the mark in it. A span is selected by a click and a drag.
// Threads: one.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "top/grid.h"
#include "top/model.h"

namespace cicada::top {

class TimeStrip {
 public:
  using Span = std::pair<uint64_t, uint64_t>;  // [from, to), as Choice has it
  void draw(Grid& grid, int y, const Model& model);
  void forget() { *this = {}; }  // what it shows is of another event
  bool is_at(int y) const { return y == y_; }
  void hide() { y_ = -1; }
  // What is below a column; a drag that follows selects from there on.
  Span click(int x, const Model& model);
  // Nothing: no click in it came before.
  std::optional<Span> drag(int x, const Model& model) const;
  void release() { clicked_.reset(); }

 private:
  Span span_of(int x, const Model& model) const;
  int y_ = -1;
  std::vector<double> values_;  // by column, of `of_`
  std::shared_ptr<const profile::ProfileSnapshot> of_;
  std::optional<Span> clicked_;
};

}  // namespace cicada::top
