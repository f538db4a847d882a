// SPDX-License-Identifier: Apache-2.0
// The views that are text: what the command printed, how good the recording is, the keys.
// Threads: one.
#pragma once
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sink/flamegraph/page_feed.h"
#include "top/grid.h"
#include "top/list.h"
#include "top/model.h"

namespace cicada::top {

// The last lines of what a command printed. What steers a terminal is left out, wherever the bytes were cut.
class OutputPane {
 public:
  void add(std::string_view bytes);
  bool has_any() const { return lines_.size() > 1 || !lines_[0].empty(); }
  void draw(Grid& grid, const Rect& rect);
  bool press(const Input& input) { return scroll_.press(input); }

 private:
  enum class Escape : uint8_t { kNone, kBegun, kSequence, kText };
  std::vector<std::string> lines_{""};
  Escape escape_ = Escape::kNone;
  Scroll scroll_{true};
};

class HealthPane {
 public:
  // What the recorder had used when, and this process now; 0: the recorder does not say.
  void note_cpu(uint64_t recorder_ns);
  void draw(Grid& grid, const Rect& rect, const Model& model, const sink::PageState& page);
  bool press(const Input& input) { return scroll_.press(input); }

 private:
  struct Used {
    uint64_t at = 0, recorder = 0, view = 0;  // ns
  };
  std::vector<std::pair<std::string, std::string>> lines(const Model& model, const sink::PageState& page) const;
  std::deque<Used> used_;  // the oldest first
  Scroll scroll_;
};

class HelpPane {
 public:
  void draw(Grid& grid);
  // False: no key of it, so it is left.
  bool press(const Input& input) { return scroll_.press(input); }

 private:
  Scroll scroll_;
};

}  // namespace cicada::top
