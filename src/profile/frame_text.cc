// SPDX-License-Identifier: Apache-2.0
#include "profile/frame_text.h"

#include "profile/thread_state.h"

namespace cicada::profile {
namespace {

bool in_kernel(ImageKind kind) {
  return kind == ImageKind::kKernel || kind == ImageKind::kKernelModule || kind == ImageKind::kBpf;
}

// Perf maps mix what the engine compiled with what it interprets. Names carry the difference: V8 writes "~" before a
// function that runs in its interpreter, CPython's trampolines are named "py::function:file".
bool interpreted(std::string_view name) { return name.starts_with("py::") || name.starts_with("~"); }

std::string with_number(std::string_view name, int64_t number, std::string_view suffix = {}) {
  return fmt::format("{} ({}{})", name.empty() ? "[unknown]" : name, number, suffix);
}

}  // namespace

std::string_view file_name(std::string_view path) {
  if (path.empty() || path.front() != '/') return path;
  const size_t slash = path.rfind('/');
  return slash + 1 < path.size() ? path.substr(slash + 1) : path;
}

ImageId image_of(const ProfileSnapshot& profile, FrameId frame, PlaceId place) {
  if (place.valid()) {
    const ImageId image = profile.functions()[profile.places()[place.value].function.value].image;
    if (image.valid()) return image;
  }
  return profile.frames()[frame.value].image;
}

// Frames without a name and without an image all read alike: an address of unknown code distinguishes nothing for a reader,
// it only splits one box of a flame graph into hundreds.
std::string frame_name(const ProfileSnapshot& profile, FrameId frame, PlaceId place) {
  if (place.valid()) {
    const std::string_view name = profile.text(profile.functions()[profile.places()[place.value].function.value].name);
    if (!name.empty()) return std::string(name);
  }
  const Frame& f = profile.frames()[frame.value];
  if (f.kind == FrameKind::kLabel) return std::string(f.label.valid() ? profile.text(f.label) : "[marker]");
  if (f.image.valid()) {
    const std::string_view path = profile.text(profile.images()[f.image.value].path);
    return fmt::format("{}+{:#x}", path.empty() ? "[unknown]" : file_name(path), f.address);
  }
  switch (f.kind) {
    case FrameKind::kKernel: return fmt::format("[kernel]+{:#x}", f.address);
    case FrameKind::kJit: return "[jit]";
    default: return "[unknown]";
  }
}

NodeKind node_kind(const ProfileSnapshot& profile, FrameId frame, PlaceId place) {
  const Frame& f = profile.frames()[frame.value];
  const Location* location = place.valid() ? &profile.places()[place.value] : nullptr;
  if (f.kind == FrameKind::kLabel) return NodeKind::kMarker;
  if (f.kind == FrameKind::kKernel) return NodeKind::kKernel;
  if (location != nullptr && location->source == NameSource::kPerfMap &&
      interpreted(profile.text(profile.functions()[location->function.value].name)))
    return NodeKind::kInterpreted;
  if (location != nullptr && location->inlined) return NodeKind::kInlined;
  if (f.kind == FrameKind::kJit) return NodeKind::kJit;
  const ImageId image = image_of(profile, frame, place);
  if (!image.valid()) return f.kind == FrameKind::kNative || location != nullptr ? NodeKind::kNative : NodeKind::kUnknown;
  const ImageKind kind = profile.images()[image.value].kind;
  if (in_kernel(kind)) return NodeKind::kKernel;
  if (kind == ImageKind::kJit) return NodeKind::kJit;
  return kind == ImageKind::kLibrary || kind == ImageKind::kVdso ? NodeKind::kLibrary : NodeKind::kNative;
}

std::string process_text(const ProfileSnapshot& profile, ProcessId id) {
  const Process& process = profile.processes()[id.value];
  return with_number(profile.text(process.name), process.pid);
}

std::string thread_text(const ProfileSnapshot& profile, ThreadId id) {
  const Thread& thread = profile.threads()[id.value];
  std::string_view name = profile.text(thread.name);
  if (name.empty() && thread.process.valid()) name = profile.text(profile.processes()[thread.process.value].name);
  return with_number(name, thread.tid, thread.main ? ", main" : "");
}

std::string thread_name(const ProfileSnapshot& profile, ThreadId id) {
  const Thread& thread = profile.threads()[id.value];
  const std::string_view process = profile.text(profile.processes()[thread.process.value].name), name = profile.text(thread.name);
  if (name.empty() && process.empty()) return "[unknown]";
  return name.empty() || name == process ? std::string(process) : process.empty() ? std::string(name) : fmt::format("{} of {}", name, process);
}

std::string_view label_text(const ProfileSnapshot& profile, const Sample& sample, std::string_view key, std::string_view none) {
  for (const Label& label : profile.labels(sample.labels))
    if (profile.text(label.key) == key) return profile.text(label.value);
  return none;
}

std::string group_text(const ProfileSnapshot& profile, GroupBy by, const Sample& sample) {
  const ProcessId process = profile.threads()[sample.thread.value].process;
  switch (by) {
    case GroupBy::kProgram: {
      const std::string_view name = profile.text(profile.processes()[process.value].name);
      return std::string(name.empty() ? "[unknown]" : name);
    }
    case GroupBy::kProcess: return process_text(profile, process);
    case GroupBy::kThread: return thread_text(profile, sample.thread);
    case GroupBy::kCpu: return fmt::format("cpu {}", sample.cpu);
    case GroupBy::kUser: return std::string(label_text(profile, sample, kUserLabel, "[no user]"));
    case GroupBy::kGroup: return std::string(label_text(profile, sample, kGroupLabel, "[no group]"));
    case GroupBy::kState: return std::string(state_text(profile, sample.event, sample.labels));
    case GroupBy::kCgroup: {
      const std::string_view cgroup = profile.text(profile.processes()[process.value].cgroup);
      return std::string(cgroup.empty() ? "[no cgroup]" : cgroup);
    }
    case GroupBy::kImage: break;
  }
  for (StackId stack = sample.stack; stack.valid(); stack = profile.stacks()[stack.value].parent) {
    const FrameId frame = profile.stacks()[stack.value].frame;
    const ImageId image = image_of(profile, frame, profile.place(frame));
    if (image.valid()) return std::string(file_name(profile.text(profile.images()[image.value].path)));
    if (profile.frames()[frame.value].kind == FrameKind::kKernel) return "[kernel]";
    if (profile.frames()[frame.value].kind == FrameKind::kJit) return "[jit]";
  }
  return "[unknown]";
}

}  // namespace cicada::profile
