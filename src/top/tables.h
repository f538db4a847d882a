// SPDX-License-Identifier: Apache-2.0
// The views that are lists of functions: all of them, and the call tree. Each keeps what it is at by what that is called, not by its line.
// Threads: one.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "top/list.h"
#include "top/look.h"

namespace cicada::top {

class FunctionTable {
 public:
  void show(const Model& model);
  void draw(Grid& grid, const Rect& rect, const Model& model, Look& look);
  bool press(const Input& input, const Model& model);
  bool click(int y, const Model& model);
  bool find_match(const Model& model, Look& look, bool forward);
  // What is at the cursor; null, not valid: there is nothing.
  const FunctionLine* line() const { return lines_.empty() ? nullptr : &lines_[static_cast<size_t>(list_.at())]; }
  profile::StringId picked(const Model& model) const;

 private:
  void remember(const Model& model);
  std::vector<FunctionLine> lines_;
  bool by_total_ = false;
  std::string picked_;
  List list_;
  Rect rect_;
};

class CallTreeTable {
 public:
  // The first time that it has samples it opens the heaviest path.
  void show(Boxes boxes, bool has_samples, bool grown);
  void draw(Grid& grid, const Rect& rect, const Model& model, Look& look);
  bool press(const Input& input);
  bool click(int y, bool twice);
  bool find_match(Look& look, bool forward);
  const Boxes* boxes() const { return boxes_ ? &*boxes_ : nullptr; }
  uint32_t picked() const { return lines_.empty() ? 0 : lines_[static_cast<size_t>(list_.at())]; }

 private:
  // A box whose children are listed, known by its name below another one.
  struct Opened {
    uint32_t parent = 0;  // index; the first box is 0, and its own
    std::string name;
    bool open = true;     // else it was closed again; what was opened below it is opened with it
  };
  static constexpr size_t kMostOpened = 100'000, kMostLines = 200'000;
  void find_opened();
  void list_lines();
  bool is_open(uint32_t box) const { return box < opened_of_.size() && opened_of_[box] != Boxes::kNone && opened_[opened_of_[box]].open; }
  void open(uint32_t box, bool opened);
  void pick(uint32_t box);
  uint32_t open_heaviest(uint32_t box);  // its end

  std::optional<Boxes> boxes_;
  bool begun_ = false;
  std::vector<Opened> opened_{{}};
  std::vector<uint32_t> opened_of_;  // by box; kNone: never
  std::vector<uint32_t> lines_;
  Path picked_;
  List list_;
  Rect rect_;
};

}  // namespace cicada::top
