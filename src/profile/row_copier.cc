// SPDX-License-Identifier: Apache-2.0
#include "profile/row_copier.h"

#include <algorithm>

namespace cicada::profile {
namespace {

template <typename Id>
Id& copy_of(std::vector<Id>& copies, Id id) {
  if (copies.size() <= id.value) copies.resize(id.value + 1);
  return copies[id.value];
}

}  // namespace

RowCopier::RowCopier(Profile& into, const ProfileSnapshot& from) : into_(into), from_(from) {
  for (const Frame& frame : into.frames()) address_space_base_ = std::max(address_space_base_, frame.address_space);
}

Sample RowCopier::copy(Sample sample) {
  sample.thread = thread(sample.thread);
  sample.stack = stack(sample.stack);
  sample.labels = labels(sample.labels);
  return sample;
}

ThreadId RowCopier::thread(ThreadId id) {
  if (const ThreadId known = copy_of(threads_, id); known.valid()) return known;
  const Thread& row = from_.threads()[id.value];
  const ThreadId copy = into_.intern_thread(process(row.process), row.tid);
  into_.edit_thread(copy, [&](Thread& out) {
    if (row.name.valid()) out.name = text(row.name);
    out.main = row.main;
  });
  return threads_[id.value] = copy;
}

LabelSetId RowCopier::labels(LabelSetId id) {
  if (!id.valid()) return id;
  LabelSetId& copy = copy_of(label_sets_, id);
  if (copy.valid()) return copy;
  std::vector<Label> set;
  for (const Label& label : from_.labels(id)) set.push_back({text(label.key), text(label.value)});
  return copy = into_.intern_labels(set);
}

StackId RowCopier::stack(StackId id) {
  if (!id.valid() || copy_of(stacks_, id).valid()) return id.valid() ? stacks_[id.value] : id;
  path_.clear();
  for (; id.valid() && !stacks_[id.value].valid(); id = from_.stacks()[id.value].parent) path_.push_back(id);
  StackId copy = id.valid() ? stacks_[id.value] : StackId();
  for (size_t i = path_.size(); i-- > 0;) copy = stacks_[path_[i].value] = into_.intern_stack(copy, frame(from_.stacks()[path_[i].value].frame));
  return copy;
}

ImageId RowCopier::image(ImageId id) {
  if (!id.valid()) return id;
  ImageId& copy = copy_of(images_, id);
  const Image& row = from_.images()[id.value];
  if (!copy.valid()) copy = into_.intern_image({text(row.path), text(row.build_id), row.kind});
  return copy;
}

FunctionId RowCopier::function(FunctionId id) {
  FunctionId& copy = copy_of(functions_, id);
  const Function& row = from_.functions()[id.value];
  if (!copy.valid()) copy = into_.intern_function({text(row.name), text(row.linkage_name), image(row.image)});
  return copy;
}

FrameId RowCopier::frame(FrameId id) {
  FrameId& copy = copy_of(frames_, id);
  if (copy.valid()) return copy;
  Frame row = from_.frames()[id.value];
  row.image = image(row.image);
  if (row.label.valid()) row.label = text(row.label);
  if (row.address_space != 0) row.address_space += address_space_base_;
  const size_t before = into_.frames().size();
  copy = into_.intern_frame(row);
  const auto locations = from_.locations(id);
  if (locations.empty()) return copy;
  std::vector<Location> copies;
  for (Location location : locations) {
    location.function = function(location.function);
    location.file = text(location.file);
    copies.push_back(location);
  }
  const auto known = into_.locations(copy);
  const bool same = into_.frames().size() > before || known.empty() ||
                    std::equal(known.begin(), known.end(), copies.begin(), copies.end(),
                               [](const Location& a, const Location& b) { return a.function == b.function && a.line == b.line; });
  if (!same) {  // equal addresses, other names: folded stacks, kernels of two boots
    row.address_space = ++address_space_extra_ + 0x80000000;
    copy = into_.intern_frame(row);
  }
  if (into_.locations(copy).empty()) into_.set_locations(copy, copies);
  return copy;
}

ProcessId RowCopier::process(ProcessId id) {
  if (const ProcessId known = copy_of(processes_, id); known.valid()) return known;
  const Process& row = from_.processes()[id.value];
  const ProcessId copy = into_.intern_process(row.pid, row.start_ns);
  into_.edit_process(copy, [&](Process& out) {
    if (row.name.valid()) out.name = text(row.name);
    if (row.cmdline.valid()) out.cmdline = text(row.cmdline);
    if (row.cgroup.valid()) out.cgroup = text(row.cgroup);
    out.parent_pid = row.parent_pid;
  });
  return processes_[id.value] = copy;
}

}  // namespace cicada::profile
