// SPDX-License-Identifier: Apache-2.0
// The view of processes and threads. It keeps what it is at by which process that is, not by its line.
// Threads: one.
#pragma once
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "top/list.h"
#include "top/look.h"

namespace cicada::top {

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

}  // namespace cicada::top
