// SPDX-License-Identifier: Apache-2.0
#include "top/boxes.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "profile/growing_profile_for_test.h"
#include "top/model.h"

namespace cicada::top {
namespace {

using profile::CallNode;
using profile::CallTree;

std::string name_of(const CallTree& tree, uint32_t node) { return node == 0 ? "all" : std::string(tree.text(tree.nodes[node].name)); }

// By path from the first box: what all boxes cost together, down to every leaf.
std::map<std::string, double> totals(Boxes& boxes) {
  std::map<std::string, double> sums;
  std::vector<std::pair<uint32_t, std::string>> left{{0, ""}};
  while (!left.empty()) {
    const auto [box, path] = left.back();
    left.pop_back();
    sums[path] += boxes[box].total;
    for (const uint32_t child : boxes.children(box)) left.emplace_back(child, path + ";" + std::string(boxes.name(child)));
  }
  return sums;
}

struct Grown {
  profile::Growing growing{7};
  Model model;
  Grown() {
    for (int i = 0; i < 60; ++i) growing.step();
    model.update(std::make_shared<const profile::ProfileSnapshot>(growing.profile));
  }
  Boxes boxes(Towards towards, Order order = Order::kHeavy) { return Boxes(model.tree(), model.costs(), nullptr, towards, order); }
};

TEST(Boxes, TowardsCalleesAreTheTree) {
  Grown grown;
  const CallTree& tree = grown.model.tree();
  ASSERT_GT(tree.nodes.size(), 50U);
  std::map<std::string, double> expected;
  std::vector<std::string> path(tree.nodes.size());
  for (uint32_t i = 0; i < tree.nodes.size(); ++i) {
    if (i != 0) path[i] = path[tree.nodes[i].parent] + ";" + name_of(tree, i);
    if (tree.nodes[i].total != 0) expected[path[i]] += static_cast<double>(tree.nodes[i].total);
  }
  Boxes boxes = grown.boxes(Towards::kCallees);
  boxes.begin_with_root();
  EXPECT_EQ(totals(boxes), expected);
}

TEST(Boxes, TowardsCallersAreTheStacksReadBackwards) {
  Grown grown;
  const CallTree& tree = grown.model.tree();
  std::map<std::string, double> expected;
  for (uint32_t i = 0; i < tree.nodes.size(); ++i) {
    const auto self = static_cast<double>(tree.nodes[i].self);
    if (self == 0) continue;
    std::string path;
    expected[path] += self;
    if (i == 0) expected[";[no stack]"] += self;
    for (uint32_t at = i; at != 0; at = tree.nodes[at].parent) expected[path += ";" + name_of(tree, at)] += self;
  }
  Boxes boxes = grown.boxes(Towards::kCallers);
  boxes.begin_with_all();
  EXPECT_EQ(totals(boxes), expected);
}

TEST(Boxes, CallersAndCalleesOfAFunctionAddUpToWhatItCosts) {
  Grown grown;
  size_t looked_at = 0;
  for (const FunctionLine& line : grown.model.functions(true)) {
    const profile::StringId name = grown.model.tree().nodes[line.node].name;
    for (const Towards towards : {Towards::kCallees, Towards::kCallers}) {
      Boxes boxes = grown.boxes(towards);
      boxes.begin_with(grown.model.outermost_nodes(name));
      EXPECT_EQ(boxes[0].total, line.total) << boxes.name(0);
      double below = 0;
      for (const uint32_t child : boxes.children(0)) below += boxes[child].total;
      EXPECT_LE(below, line.total);
      ++looked_at;
    }
  }
  EXPECT_GT(looked_at, 20U);
}

TEST(Boxes, AreInOrder) {
  Grown grown;
  Boxes heavy = grown.boxes(Towards::kCallees), named = grown.boxes(Towards::kCallees, Order::kName);
  heavy.begin_with_root();
  named.begin_with_root();
  const auto first = heavy.children(0);
  ASSERT_GT(first.size(), 2U);
  for (size_t i = 1; i < first.size(); ++i) EXPECT_GE(heavy[first[i - 1]].total * 1.1, heavy[first[i]].total);  // about as large may stand in any order
  const auto second = named.children(0);
  for (size_t i = 1; i < second.size(); ++i) EXPECT_LT(named.name(second[i - 1]), named.name(second[i]));
}

}  // namespace
}  // namespace cicada::top
