// SPDX-License-Identifier: Apache-2.0
// How names, amounts and boxes read, whichever view shows them.
//
// Threads: one.
#pragma once
#include <memory>
#include <string>
#include <unordered_map>

#include "sink/flamegraph/short_names.h"
#include "top/boxes.h"
#include "top/grid.h"
#include "top/model.h"

namespace cicada::top {

inline constexpr Style kSoft{.dim = true}, kStrong{.bold = true}, kPicked{.ink = 0xffffff, .ground = 0x303030, .bold = true};
inline constexpr uint32_t kInk = 0x101010, kMatchGround = 0xd787ff;

class Look {
 public:
  bool colours = true;       // else grounds are shown in reverse, and boxes have edges of letters
  bool own_code = false;     // everything but the target's own programs is dim

  // After each update.
  void update(const Model& model);
  // A search: an extended regular expression; empty: none. Fails: kInvalid, and the one before stays.
  Result<void> search(const std::string& pattern);
  const std::string& searched() const { return pattern_; }

  // Without parameters and template arguments, unless they are wanted.
  std::string name(std::string_view name);
  bool full_names() const { return full_names_; }
  void set_full_names(bool full);
  bool matches(std::string_view name);
  // What the search found: of all that is counted, what is in stacks with a match. No search: 0.
  double matched_share(const Model& model);
  // Shades tell names apart: what has no text has the kind's first.
  Style style_of_box(const Model& model, const Boxes& boxes, uint32_t box, bool has_text);
  // Of a number: how it has changed since the mark, if there is one.
  Style style_of_change(const Model& model, double now, double before) const;
  // Not the target's own programs: libraries, the kernel, what stands between stacks.
  static bool is_foreign(const profile::CallNode& node) { return node.kind != profile::NodeKind::kNative && node.kind != profile::NodeKind::kInlined && node.kind != profile::NodeKind::kJit && node.kind != profile::NodeKind::kInterpreted; }

 private:
  bool full_names_ = false;
  std::string pattern_;
  std::optional<Pattern> regex_;
  std::unordered_map<std::string, bool> matches_;
  std::unique_ptr<sink::ShortNames> short_;
  std::shared_ptr<const profile::ProfileSnapshot> borrowed_;  // what its names are in
  size_t functions_ = 0;
  uint64_t lineage_ = 0;
  std::unordered_map<std::string, std::string> shown_;
};

// "12.3 %"; "-" of nothing.
std::string percent(double part, double whole);
// What costs are for people: "1.2 s" of CPU, "340 samples", "12 MB".
std::string amount(const Model& model, double cost);
// The same in nine columns, without the unit of what is counted.
std::string short_amount(const Model& model, double cost);
// CPUs that it kept busy while it was counted: "1.25 CPUs"; empty: the event is no CPU time.
std::string cpus(const Model& model, double cost);
std::string duration(double seconds);  // "12 s", "3 min 20 s"
// The widths of a bar: eighths of a column where the terminal has letters for that.
std::string bar(double share, int columns);
std::string sparkline(const std::vector<double>& values, double most);
// "src/a.cc:12" of a node, or its image's name.
std::string place_of(const profile::CallTree& tree, const profile::CallNode& node);
// Lists: the line at the cursor; a narrower one has one number before each name.
void draw_cursor(Grid& grid, const Rect& rect, int y, const Look& look);
constexpr int kTwoNumbers = 50;

// Where a box is, by names from the first box: is found again after an update.
using Path = std::vector<std::string>;
Path path_of(const Boxes& boxes, uint32_t box);
// The box at that path, or the last one on the way.
uint32_t find_path(Boxes& boxes, const Path& path, bool* whole = nullptr);

}  // namespace cicada::top
