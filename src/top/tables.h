// SPDX-License-Identifier: Apache-2.0
// The views that are lists: functions, the call tree, processes and threads. Each keeps what it is at by what that is called, not by its line.
// Threads: one.
#pragma once
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "top/list.h"
#include "top/look.h"
#include "top/source.h"

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

// Processes, each with its threads behind it when it is opened: all of them, as a tree of parents and children, or by cgroup.
class ProcessTable {
 public:
  enum class Arrangement : uint8_t { kFlat, kTree, kCgroups };
  struct Line {
    ThreadLine costs;           // of a cgroup neither process nor thread are valid
    std::string key;            // the same after an update
    std::string text;
    int depth = 0;
    bool can_open = false;
  };
  // What a thread does now, top/run_states.h. None: nobody knows.
  using RunState = std::function<char(Pid pid, uint64_t start_ns, Tid tid)>;
  void show(const Model& model);
  void draw(Grid& grid, const Rect& rect, const Model& model, Look& look, const RunState& run_state);
  bool press(const Input& input, const Model& model);
  bool click(int y);
  bool find_match(Look& look, bool forward);
  void arrange_next(const Model& model);
  std::string_view arrangement_name() const;
  // Null: there is none.
  const Line* picked() const { return lines_.empty() ? nullptr : &lines_[static_cast<size_t>(list_.at())]; }
  // What counts if only that line does.
  static Choice only(const Model& model, const Line& line);

 private:
  struct OfProcess {
    ThreadLine sum;
    std::vector<const ThreadLine*> threads;
  };
  bool is_heavier(const ThreadLine& a, const ThreadLine& b) const;
  void add_process(const Model& model, const OfProcess& one, int depth);
  void add_tree(const Model& model, const std::vector<OfProcess>& all);
  void add_cgroups(const Model& model, const std::vector<OfProcess>& all);
  void remember();

  Arrangement arrangement_ = Arrangement::kFlat;
  bool by_share_ = false;  // of what counts; else by what they cost lately
  std::vector<Line> lines_;
  std::set<std::string> opened_;
  std::string picked_;  // its key
  List list_;
  Rect rect_;
};

// The code of a function with its costs.
class SourceTable {
 public:
  // What is asked for; until the answer comes it says so.
  void ask(std::string function, bool instructions);
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
  bool instructions_ = false;
  uint64_t number_ = 0;
  SourceAnswer answer_;
  std::vector<Line> lines_;
  List list_;
  Rect rect_;
};

}  // namespace cicada::top
