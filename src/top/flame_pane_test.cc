// SPDX-License-Identifier: Apache-2.0
#include "top/flame_pane.h"

#include <gtest/gtest.h>

#include <clocale>
#include <cmath>
#include <map>
#include <utility>

#include "profile/synthetic_profile_for_test.h"

namespace cicada::top {
namespace {

constexpr int kColumns = 200, kRows = 50;

// A profile that grows by a second's samples, and its picture.
class Growth {
 public:
  Growth() { std::setlocale(LC_CTYPE, "C.UTF-8"); }
  // Of the same recording, with so many samples.
  void grow(size_t samples) {
    model_.update(std::make_shared<const profile::ProfileSnapshot>(profile::make_synthetic_profile({.samples = samples, .depth = 40})));
    look_.update(model_);
  }
  Grid draw(FlamePane& pane, bool grown, int rows = kRows) {
    Boxes boxes(model_.tree(), model_.costs(), nullptr, Towards::kCallees, Order::kHeavy);
    boxes.begin_with_root();
    pane.show(std::move(boxes), grown);
    Grid grid(kColumns, rows);
    pane.draw(grid, {0, 0, kColumns, rows}, model_, look_, false);
    return grid;
  }

 private:
  Model model_;
  Look look_;
};

struct Edges {
  double from = 0, to = 0;
};

// Where each box belongs, in the order it has in this picture.
std::map<uint32_t, Edges> exact_edges(const FlamePane& pane) {
  Boxes boxes = *pane.boxes();
  std::map<uint32_t, Edges> edges{{0, {0, kColumns}}};
  for (const FlamePane::Placed& one : pane.placed()) {
    if (one.box == Boxes::kNone) continue;
    double at = edges.at(one.box).from;
    for (const uint32_t child : boxes.children(one.box)) {
      const double end = at + boxes[child].total * kColumns / boxes[0].total;
      edges[child] = {std::exchange(at, end), end};
    }
  }
  return edges;
}

void expect_near(const FlamePane& pane, double most) {
  const std::map<uint32_t, Edges> exact = exact_edges(pane);
  std::map<uint32_t, FlamePane::Placed> drawn;
  int level = -1, end = 0;
  for (const FlamePane::Placed& one : pane.placed()) {
    if (std::exchange(level, one.level) != one.level) end = 0;
    EXPECT_GE(one.x, end) << "no box covers another";
    end = one.x + one.width;
    if (one.box == Boxes::kNone) continue;
    EXPECT_NEAR(one.x, exact.at(one.box).from, most);
    EXPECT_NEAR(end, exact.at(one.box).to, most);
    if (one.box != 0) {
      const FlamePane::Placed& parent = drawn.at((*pane.boxes())[one.box].parent);
      EXPECT_GE(one.x, parent.x);
      EXPECT_LE(end, parent.x + parent.width);
    }
    drawn[one.box] = one;
  }
}

TEST(FlamePane, DrawsWhatGrowsNearlyWhereItBelongs) {
  Growth growth;
  FlamePane pane;
  for (size_t samples = 50; samples < 6000; samples += samples / 9) {
    growth.grow(samples);
    growth.draw(pane, true);
    expect_near(pane, kColumns * FlamePane::kSlack);
    FlamePane fresh;
    growth.draw(fresh, false);
    expect_near(fresh, 0.5 + 1e-6);
  }
}

TEST(FlamePane, SiblingsThatHaveOutgrownOthersStandBeforeThem) {
  Growth growth;
  FlamePane pane;
  for (size_t samples = 50; samples < 6000; samples += samples / 9) {
    growth.grow(samples);
    growth.draw(pane, true);
    Boxes boxes = *pane.boxes();
    for (const FlamePane::Placed& one : pane.placed()) {
      if (one.box == Boxes::kNone) continue;
      double smallest = boxes[0].total;
      for (const uint32_t child : boxes.children(one.box)) {
        EXPECT_LE(boxes[child].total, smallest * 1.2 + 2 * boxes[0].total / kColumns);
        smallest = std::min(smallest, boxes[child].total);
      }
    }
  }
}

int changed_cells(const Grid& a, const Grid& b) {
  int changed = 0;
  for (int y = 0; y < kRows; ++y)
    for (int x = 0; x < kColumns; ++x) changed += a.at(x, y) != b.at(x, y) ? 1 : 0;
  return changed;
}

TEST(FlamePane, StandsStillWhileItGrows) {
  Growth growth;
  FlamePane pane, exact;
  growth.grow(3000);
  Grid last = growth.draw(pane, true), last_exact = growth.draw(exact, false);
  int changed = 0, changed_exactly = 0;
  for (size_t samples = 3100; samples <= 6000; samples += 100) {
    growth.grow(samples);
    const Grid now = growth.draw(pane, true), now_exact = growth.draw(exact, false);
    changed += changed_cells(std::exchange(last, now), now);
    changed_exactly += changed_cells(std::exchange(last_exact, now_exact), now_exact);
  }
  EXPECT_LT(changed, changed_exactly / 4) << changed_exactly;
  // Looked at anew it is as exact as one that was never looked at.
  EXPECT_EQ(changed_cells(growth.draw(pane, false), last_exact), 0);
}

// A larger screen shows again what a small one had no room for.
TEST(FlamePane, LeavesNoRowsEmptyWhileOthersAreAbove) {
  Growth growth;
  growth.grow(2000);
  FlamePane pane;
  EXPECT_NE(growth.draw(pane, false, 12).text().find("all"), std::string::npos);
  EXPECT_TRUE(pane.goes_on());
  pane.press({.kind = Input::Kind::kEnd});
  EXPECT_EQ(growth.draw(pane, false, 12).text().find("all"), std::string::npos);
  EXPECT_NE(growth.draw(pane, false, 100).text().find("all"), std::string::npos);
  EXPECT_FALSE(pane.goes_on());
}

}  // namespace
}  // namespace cicada::top
