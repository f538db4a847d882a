// SPDX-License-Identifier: Apache-2.0
#include "profile/row_copier.h"

#include <algorithm>

namespace cicada::profile {

RowCopier::RowCopier(Profile& into, const ProfileSnapshot& from) : into_(into), from_(&from) {
  for (const Frame& frame : into.frames()) address_space_base_ = std::max(address_space_base_, frame.address_space);
  resize();
}

void RowCopier::resize() {
  seen_ = from_->sizes();
  images_.resize(seen_.images);
  functions_.resize(seen_.functions);
  places_.resize(from_->places().size());
  frames_.resize(seen_.frames);
  stacks_.resize(seen_.stacks);
  processes_.resize(seen_.processes);
  threads_.resize(seen_.threads);
  label_sets_.resize(seen_.label_sets);
}

void RowCopier::continue_with(const ProfileSnapshot& later) {
  const SnapshotSizes before = seen_;
  from_ = &later;
  resize();
  for (size_t i = before.renamed_frames; i < seen_.renamed_frames; ++i) {
    const FrameId id = later.renamed_frames()[i];
    if (const auto copy = find(id)) into_.set_place(*copy, place(later.place(id)));
  }
  for (size_t i = before.described_processes; i < seen_.described_processes; ++i) {
    if (find(later.described_processes()[i])) describe(later.described_processes()[i]);
  }
  for (size_t i = before.described_threads; i < seen_.described_threads; ++i) {
    if (find(later.described_threads()[i])) describe(later.described_threads()[i]);
  }
}

void RowCopier::rebase(const RowCopier& ids) {
  const auto rebase_all = [](auto& copies, const auto& moved) {
    for (auto& copy : copies) copy = find_in(moved, copy).value_or(std::decay_t<decltype(copy)>());
  };
  rebase_all(images_, ids.images_);
  rebase_all(functions_, ids.functions_);
  rebase_all(places_, ids.places_);
  rebase_all(frames_, ids.frames_);
  rebase_all(stacks_, ids.stacks_);
  rebase_all(processes_, ids.processes_);
  rebase_all(threads_, ids.threads_);
  rebase_all(label_sets_, ids.label_sets_);
}

Sample RowCopier::copy(Sample sample) {
  sample.thread = thread(sample.thread);
  sample.stack = stack(sample.stack);
  sample.labels = labels(sample.labels);
  return sample;
}

ThreadId RowCopier::thread(ThreadId id) {
  ThreadId& copy = threads_[id.value];
  if (copy.valid()) return copy;
  const Thread& row = from_->threads()[id.value];
  copy = into_.intern_thread(process(row.process), row.tid);
  describe(id);
  return copy;
}

void RowCopier::describe(ThreadId id) {
  const Thread& row = from_->threads()[id.value];
  into_.edit_thread(threads_[id.value], [&](Thread& out) {
    if (row.name.valid()) out.name = text(row.name);
    out.main = row.main;
    out.cpu_ns = row.cpu_ns;
  });
}

ProcessId RowCopier::process(ProcessId id) {
  ProcessId& copy = processes_[id.value];
  if (copy.valid()) return copy;
  const Process& row = from_->processes()[id.value];
  copy = into_.intern_process(row.pid, row.start_ns);
  describe(id);
  return copy;
}

void RowCopier::describe(ProcessId id) {
  const Process& row = from_->processes()[id.value];
  into_.edit_process(processes_[id.value], [&](Process& out) {
    if (row.name.valid()) out.name = text(row.name);
    if (row.cmdline.valid()) out.cmdline = text(row.cmdline);
    if (row.cgroup.valid()) out.cgroup = text(row.cgroup);
    out.parent_pid = row.parent_pid;
  });
}

LabelSetId RowCopier::labels(LabelSetId id) {
  if (!id.valid()) return id;
  LabelSetId& copy = label_sets_[id.value];
  if (copy.valid()) return copy;
  std::vector<Label> set;
  for (const Label& label : from_->labels(id)) set.push_back({text(label.key), text(label.value)});
  return copy = into_.intern_labels(set);
}

StackId RowCopier::stack(StackId id) {
  path_.clear();
  for (; id.valid() && !stacks_[id.value].valid(); id = from_->stacks()[id.value].parent) path_.push_back(id);
  StackId copy = id.valid() ? stacks_[id.value] : StackId();
  for (size_t i = path_.size(); i-- > 0;) copy = stacks_[path_[i].value] = into_.intern_stack(copy, frame(from_->stacks()[path_[i].value].frame));
  return copy;
}

ImageId RowCopier::image(ImageId id) {
  if (!id.valid()) return id;
  ImageId& copy = images_[id.value];
  const Image& row = from_->images()[id.value];
  if (!copy.valid()) copy = into_.intern_image({text(row.path), text(row.build_id), row.kind});
  return copy;
}

FunctionId RowCopier::function(FunctionId id) {
  FunctionId& copy = functions_[id.value];
  const Function& row = from_->functions()[id.value];
  if (!copy.valid()) copy = into_.intern_function({text(row.name), text(row.linkage_name), image(row.image)});
  return copy;
}

PlaceId RowCopier::place(PlaceId id) {
  chain_.clear();
  for (; id.valid() && !places_[id.value].valid(); id = from_->outer(id)) chain_.push_back(id);
  PlaceId copy = id.valid() ? places_[id.value] : PlaceId();
  for (size_t i = chain_.size(); i-- > 0;) {
    Location row = from_->places()[chain_[i].value];
    row.function = function(row.function);
    row.file = text(row.file);
    copy = places_[chain_[i].value] = into_.intern_place(copy, row);
  }
  return copy;
}

FrameId RowCopier::frame(FrameId id) {
  FrameId& copy = frames_[id.value];
  if (copy.valid()) return copy;
  Frame row = from_->frames()[id.value];
  row.image = image(row.image);
  if (row.label.valid()) row.label = text(row.label);
  if (row.address_space != 0) row.address_space += address_space_base_;
  const size_t before = into_.frames().size();
  copy = into_.intern_frame(row);
  const PlaceId named = place(from_->place(id));
  if (!named.valid()) return copy;
  const Locations known = into_.locations(copy), copies(into_.places(), named);
  const bool same = into_.frames().size() > before || known.empty() ||
                    std::equal(known.begin(), known.end(), copies.begin(), copies.end(),
                               [](const Location& a, const Location& b) { return a.function == b.function && a.line == b.line; });
  if (!same) {  // equal addresses, other names: folded stacks, kernels of two boots
    row.address_space = ++address_space_extra_ + 0x80000000;
    copy = into_.intern_frame(row);
  }
  if (!into_.place(copy).valid()) into_.set_place(copy, named);
  return copy;
}

}  // namespace cicada::profile
