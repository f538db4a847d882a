// SPDX-License-Identifier: Apache-2.0
#include "sink/flamegraph/svg.h"

#include <gtest/gtest.h>

#include <random>

#include "sink/flamegraph/palette.h"
#include "sink/flamegraph/svg_caption.h"
#include "sink/flamegraph/svg_text.h"

namespace cicada::sink {
namespace {

using profile::CallNode;
using profile::CallTree;

uint32_t add_node(CallTree& tree, uint32_t parent, std::string_view name, uint64_t self) {
  CallNode node;
  node.parent = parent;
  node.name = tree.strings.intern(name);
  node.self = node.total = self;
  const auto at = static_cast<uint32_t>(tree.nodes.size());
  tree.nodes.push_back(node);
  if (at == 0) return at;
  tree.nodes[at].kind = profile::NodeKind::kNative;
  tree.nodes[at].next_sibling = tree.nodes[parent].first_child;
  tree.nodes[parent].first_child = at;
  for (uint32_t above = parent;; above = tree.nodes[above].parent) {
    tree.nodes[above].total += self;
    if (above == 0) return at;
  }
}

std::string draw(const CallTree& tree, const Caption& caption = {}, const Baseline* baseline = nullptr) {
  std::string out;
  append_flame_graph_svg(tree, caption, baseline, out);
  return out;
}

size_t count(std::string_view text, std::string_view part) {
  size_t n = 0;
  for (size_t at = text.find(part); at != text.npos; at = text.find(part, at + part.size())) ++n;
  return n;
}

TEST(XmlText, EscapesWhatXmlCannotHold) {
  EXPECT_EQ(xml_text("a<b>&\"'"), "a&lt;b&gt;&amp;&quot;&#39;");
  EXPECT_EQ(xml_text(std::string_view("\0\x01\n", 3)), "\xef\xbf\xbd\xef\xbf\xbd ");
  EXPECT_EQ(xml_text("\xff\xef\xbf\xbe"), "\xef\xbf\xbd\xef\xbf\xbd");
}

TEST(JsonText, CannotCloseAScript) {
  EXPECT_EQ(json_text("</script>&\"\\"), "\"\\u003c/script\\u003e\\u0026\\\"\\\\\"");
  EXPECT_EQ(json_text("\x02"), "\"\xef\xbf\xbd\"");
}

TEST(Shortened, CutsBetweenCodePoints) {
  EXPECT_EQ(shortened("abc", 3), "abc");
  EXPECT_EQ(shortened("abcd", 3), "ab\xe2\x80\xa6");
  EXPECT_EQ(shortened("\xc3\xa4\xc3\xb6\xc3\xbc", 2), "\xc3\xa4\xe2\x80\xa6");
}

TEST(Svg, EscapesNames) {
  CallTree tree;
  add_node(tree, 0, "", 0);
  add_node(tree, 0, "operator<< <a>&]]></script>", 7);
  Caption caption;
  caption.title = "a </title> & b";
  const std::string svg = draw(tree, caption);
  EXPECT_EQ(count(svg, "operator<<"), 0U);
  EXPECT_EQ(count(svg, "</script>"), 3U);
  EXPECT_EQ(count(svg, "]]>"), 1U);
  EXPECT_EQ(count(svg, "</title>"), 1U);
}

TEST(Svg, NarrowBoxesHaveShortNames) {
  profile::Profile profile;
  profile::Function function;
  const std::string name = "store::Table<int, long>::find(store::Key<int> const&, unsigned long, unsigned long, unsigned long) const";
  function.name = profile.intern(name);
  function.linkage_name = profile.intern("_ZNK5store5TableIilE4findERKNS_3KeyIiEEmmm");
  profile.intern_function(function);
  ShortNames names;
  names.add(profile);
  CallTree tree;
  add_node(tree, 0, "", 0);
  add_node(tree, add_node(tree, 0, "narrow", 75), name, 150);
  add_node(tree, add_node(tree, 0, "wide", 1), name, 900);
  std::string svg;
  append_flame_graph_svg(tree, {}, nullptr, svg, names);
  EXPECT_EQ(count(svg, ">store::Table::find<"), 1U);
  EXPECT_EQ(count(svg, ">store::Table&lt;int, long&gt;::find(store::Key&lt;int&gt; const&amp;, unsigned long, unsigned long, unsigned long) const<"), 1U);
}

TEST(Svg, EmptyTreesAreDrawn) {
  CallTree none, root;
  add_node(root, 0, "", 0);
  EXPECT_NE(draw(none).find("no samples"), std::string::npos);
  EXPECT_NE(draw(root).find("no samples"), std::string::npos);
}

TEST(Svg, StaysSmallHoweverLargeTheTree) {
  CallTree tree;
  add_node(tree, 0, "", 0);
  std::mt19937 random(7);
  for (int i = 0; i < 300'000; ++i)
    add_node(tree, static_cast<uint32_t>(random() % std::min<size_t>(tree.nodes.size(), 3000)),
             fmt::format("namespace::function_{}(int)", random() % 20000), 1 + random() % 5);
  EXPECT_LT(draw(tree).size(), 2'000'000U);
}

std::string subtitle_of(const profile::Event& event) {
  profile::Profile profile;
  profile.header.events = {event};
  const auto thread = profile.intern_thread(profile.intern_process(1, 1), 1);
  for (uint64_t i = 0; i < 3; ++i) profile.append_sample({.time_ns = i, .thread = thread, .value = event.value});
  return make_caption(profile, "x").subtitle;
}

TEST(Caption, NamesTheEventAndItsUnitAlsoOfAnOnlyOne) {
  EXPECT_EQ(subtitle_of({.name = "cpu-clock", .frequency_hz = 99}), "3 samples · 99 Hz cpu-clock");
  EXPECT_EQ(subtitle_of({.name = "page-faults", .period = 1}), "3 samples · page-faults, each");
  EXPECT_EQ(subtitle_of({.name = "page-faults", .unit = profile::Unit::kEvents, .period = 1}), "3 samples · page-faults, each");
  EXPECT_EQ(subtitle_of({.name = "page-faults", .unit = profile::Unit::kEvents, .value = 100, .period = 100}), "3 samples · 300 events · page-faults, every 100");
  EXPECT_EQ(subtitle_of({.name = "cycles", .period = 1000}), "3 samples · cycles, every 1,000");
  EXPECT_EQ(subtitle_of({.name = "malloc", .unit = profile::Unit::kBytes, .value = 4096, .period = 1}), "3 samples · 12,288 bytes · malloc, each");
  EXPECT_EQ(subtitle_of({.name = "samples"}), "3 samples") << "read from a file that says no more";
}

// Programs other than browsers know neither variables nor, some of them, style sheets.
TEST(Svg, IsColouredWithoutItsStyleSheet) {
  CallTree tree;
  add_node(tree, 0, "", 0);
  add_node(tree, 0, "work", 900);
  const std::string svg = draw(tree);
  const std::string picture = svg.substr(svg.find("<g id=\"picture\""), svg.find("<script") - svg.find("<g id=\"picture\""));
  EXPECT_EQ(count(picture, "<rect "), count(picture, "<rect fill=\"#") + count(picture, "<rect id=\"paper\"")) << picture;
  EXPECT_EQ(count(picture, "class="), 0U);
  EXPECT_EQ(count(picture, "var("), 0U);
  EXPECT_EQ(count(picture, "style="), 0U);
}

TEST(Svg, WaitingIsColouredByState) {
  CallTree tree;
  add_node(tree, 0, "", 0);
  add_node(tree, 0, "takes_a_mutex", 600);
  add_node(tree, 0, "reads", 300);
  add_node(tree, 0, "[woken by x]", 100);
  tree.nodes[2].kind = profile::NodeKind::kKernel;
  tree.nodes[3].kind = profile::NodeKind::kMarker;
  tree.states = {tree.strings.intern("lock"), tree.strings.intern("<new>")};
  tree.state_of_node = {1, 1, 2, 1};
  const std::string svg = draw(tree);
  const auto colour = [&](uint32_t at) { return colour_of(tree, style_of(tree, at)); };
  const auto has = [](const KindStyle& style, std::string_view shade) { return std::ranges::find(style.shades, shade) != style.shades.end(); };
  EXPECT_TRUE(has(style_of_state("lock"), colour(1)));
  EXPECT_TRUE(has(style_of_state("other"), colour(2))) << "a state of a later version";
  EXPECT_TRUE(has(kKinds[static_cast<size_t>(profile::NodeKind::kRoot)], colour(0)));
  EXPECT_TRUE(has(kKinds[static_cast<size_t>(profile::NodeKind::kMarker)], colour(3)));
  for (uint32_t at = 0; at < 4; ++at) EXPECT_NE(svg.find(fmt::format("<rect fill=\"{}\" x=", colour(at))), std::string::npos) << at;
  EXPECT_NE(svg.find(">lock 70.0 %<"), std::string::npos);
  EXPECT_NE(svg.find(">&lt;new&gt; 30.0 %<"), std::string::npos);
  EXPECT_EQ(svg.find(">native "), std::string::npos);
  tree.nodes[3].parent = 2;  // what woke it up
  tree.nodes[3].kind = profile::NodeKind::kJit;
  tree.state_of_node[3] = 0;
  EXPECT_NE(draw(tree).find(">&lt;new&gt; 40.0 %<"), std::string::npos) << "a wait ends in its waker's stack";
  EXPECT_NE(draw(tree).find(">JIT of wakers<"), std::string::npos);
  tree.state_of_node[1] = 0;  // the end of a wait, by a waker
  EXPECT_TRUE(has(kKinds[static_cast<size_t>(tree.nodes[1].kind)], colour(1)));
  EXPECT_NE(draw(tree).find(fmt::format(">{} 60.0 %<", kKinds[static_cast<size_t>(tree.nodes[1].kind)].text)), std::string::npos);
}

TEST(Svg, DifferencesAreRedAndBlue) {
  CallTree tree;
  add_node(tree, 0, "", 0);
  add_node(tree, 0, "grew", 900);
  add_node(tree, 0, "shrank", 100);
  const Baseline baseline{{0, 100, 900}, {1000, 100, 900}};
  const std::string svg = draw(tree, {}, &baseline);
  EXPECT_NE(svg.find("\"wholes\":[1000,1000]"), std::string::npos);
  EXPECT_NE(svg.find("fill=\"rgb(240,"), std::string::npos);
  EXPECT_NE(svg.find("fill=\"rgb(9"), std::string::npos);
}

}  // namespace
}  // namespace cicada::sink
