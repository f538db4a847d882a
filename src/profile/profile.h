// SPDX-License-Identifier: Apache-2.0
// A recording in memory: tables that refer to each other by typed index, and columns of samples.
//
//   samples ──▶ stack (prefix tree) ──▶ frame ──▶ image
//      │                                 └──▶ locations (function, file, line; innermost first), once names are resolved
//      └──▶ thread ──▶ process
//
// Frames are addresses in images, never in processes; names are added later by symbolize/ and change nothing else. Every
// table only grows while recording, so a sink can write what was appended since it last looked (see ports.h).
// Threads: one writer; no reader while it writes.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/address.h"
#include "base/process_key.h"
#include "base/result.h"
#include "profile/content_index.h"
#include "profile/ids.h"
#include "profile/string_table.h"

namespace cicada::profile {

enum class ImageKind : uint8_t { kUnknown, kExecutable, kLibrary, kVdso, kKernel, kKernelModule, kBpf, kJit };

struct Image {
  StringId path;      // as the process saw it; "[vdso]", "[kernel]", a module's name
  StringId build_id;  // lower-case hex, or empty
  ImageKind kind = ImageKind::kUnknown;
  auto operator<=>(const Image&) const = default;
};

// What an address belongs to. Colours and grouping come from here.
enum class FrameKind : uint8_t {
  kUnknown,  // runtime address outside every known mapping
  kNative,   // link address in an image
  kJit,      // runtime address in anonymous executable memory
  kKernel,   // runtime address in the kernel, its modules and BPF programs
  kLabel,    // no code at all: a marker ("[softirq: net_rx]") or a grouping root; `label` is its text
};

struct Frame {
  FrameKind kind = FrameKind::kUnknown;
  ImageId image;                // kNative; others kNone until symbolize/ knows better
  uint32_t address_space = 0;   // kJit, kUnknown: whose address it is
  uint64_t address = 0;         // already adjusted: never subtract again. kLabel: 0
  StringId label;               // kLabel
  auto operator<=>(const Frame&) const = default;
};

enum class NameSource : uint8_t {
  kNone, kSymtab, kDynsym, kMiniDebugInfo, kDebugFile, kDwarf, kPerfMap, kJitDump, kKernel, kKallsyms, kVdso, kPlt, kDebuginfod,
  kCallFrame,  // no name: image + begin of the function, from the unwind table
};

struct Function {
  StringId name;         // as shown: demangled
  StringId linkage_name; // as in the symbol table; empty if the same
  ImageId image;
  auto operator<=>(const Function&) const = default;
};

// One source position of a frame. A frame with inlined calls has several, innermost first; all but the last are `inlined`.
struct Location {
  FunctionId function = {};
  StringId file = {};  // kNone: unknown
  uint32_t line = 0;  // 0: unknown
  bool inlined = false;
  NameSource source = NameSource::kNone;
};

struct Stack {
  StackId parent;  // kNone: this is the root (outermost) frame
  FrameId frame;
  uint32_t depth = 1;
};

struct Process {
  Pid pid = 0;
  uint64_t start_ns = 0;  // since boot; (pid, start_ns) is unique
  Pid parent_pid = 0;
  StringId name;          // comm
  StringId cmdline;       // arguments joined by spaces
  StringId cgroup;
};

struct Thread {
  ProcessId process;
  Tid tid = 0;
  StringId name;     // the latest
  bool main = false; // tid == pid
};

// What a sample's value counts.
enum class SampleKind : uint8_t { kCpu, kOffCpu, kEvent };

enum SampleFlag : uint8_t { kFlagInKernel = 1, kFlagIdle = 2, kFlagIncomplete = 4 };

// 24 bytes a sample. `value`: CPU samples: events × weight (multiply by Header::period for time); off-CPU: microseconds.
struct SampleColumns {
  std::vector<uint64_t> time_ns;  // CLOCK_MONOTONIC; see Header::start_monotonic_ns
  std::vector<ThreadId> thread;
  std::vector<StackId> stack;     // user frames outermost, then kernel frames towards the leaf
  std::vector<uint32_t> value;
  std::vector<uint16_t> cpu;
  std::vector<SampleKind> kind;
  std::vector<uint8_t> flags;     // SampleFlag; bits 4–7: end reason (abi/end_reason.h, values 0–15)
};

struct Sample {
  uint64_t time_ns = 0;
  ThreadId thread = {};
  StackId stack = {};
  uint32_t value = 1;
  uint16_t cpu = 0;
  SampleKind kind = SampleKind::kCpu;
  uint8_t flags = 0;
};

// A count with the text that people see: an outcome of samples ("stored"), or an event worth knowing.
struct Count {
  std::string name;
  uint64_t value = 0;
  bool outcome = false;  // outcomes add up to Header::fired
};

struct Header {
  std::string host, kernel, architecture, cicada_version;
  std::string boot_id;                // /proc/sys/kernel/random/boot_id: kernel addresses mean the same only within one boot
  std::vector<std::string> command;   // cicada's own command line
  std::string event = "cpu-clock";
  uint64_t period = 0;                // event units a sample stands for: ns for cpu-clock
  uint64_t frequency_hz = 0;
  uint64_t start_realtime_ns = 0;     // both clocks at the same moment
  uint64_t start_monotonic_ns = 0;
  uint64_t duration_ns = 0;
  uint32_t cpu_count = 0;
  uint64_t fired = 0;                 // sampling interrupts, from the events' own counts
  std::vector<Count> counts;
  std::vector<Count> end_reasons;     // how user stacks ended, in samples
  std::vector<std::string> warnings;  // what the reader of this profile must know
};

class Profile {
 public:
  Header header;

  // --- building: every intern_* returns the same id for the same content
  StringId intern(std::string_view text);
  ImageId intern_image(const Image& image);
  FunctionId intern_function(const Function& function);
  FrameId intern_frame(const Frame& frame);
  StackId intern_stack(StackId parent, FrameId frame);
  // Frames outermost first, appended above `base`.
  StackId intern_stack(StackId base, std::span<const FrameId> frames);
  ProcessId intern_process(Pid pid, uint64_t start_ns);
  ThreadId intern_thread(ProcessId process, Tid tid);
  Process& process(ProcessId id) { return processes_[id.value]; }
  Thread& thread(ThreadId id) { return threads_[id.value]; }
  void append_sample(const Sample& sample);
  void reserve_samples(size_t count);
  // Moves a sample to another stack: symbolize/ puts context labels in, once names are known.
  void set_stack(size_t index, StackId stack) { samples_.stack[index] = stack; }
  void append_samples(const SampleColumns& block);  // columns of equal length
  // Keeps everything but the samples: for who counts and goes on, such as an agent. Not with a sink that appends.
  void clear_samples() { samples_ = {}; }
  // Names of a frame, innermost first; replaces earlier ones.
  void set_locations(FrameId frame, std::span<const Location> locations);

  // --- reading
  std::string_view text(StringId id) const { return strings_.text(id); }  // kNone: ""
  std::span<const Image> images() const { return images_; }
  std::span<const Function> functions() const { return functions_; }
  std::span<const Frame> frames() const { return frames_; }
  std::span<const Stack> stacks() const { return stacks_; }
  std::span<const Process> processes() const { return processes_; }
  std::span<const Thread> threads() const { return threads_; }
  const SampleColumns& samples() const { return samples_; }
  const StringTable& strings() const { return strings_; }
  size_t sample_count() const { return samples_.time_ns.size(); }
  Sample sample(size_t index) const;
  std::span<const Location> locations(FrameId frame) const;  // empty: not symbolized
  // Every index in range, parents before children, columns of equal length.
  // Fails (kCorrupt) with the first violation.
  Result<void> validate() const;

 private:
  struct LocationSpan {
    uint32_t begin = 0;
    uint32_t count = 0;
  };

  StringTable strings_;
  std::vector<Image> images_;
  std::vector<Function> functions_;
  std::vector<Frame> frames_;
  std::vector<LocationSpan> location_spans_;  // by frame
  std::vector<Location> locations_;
  std::vector<Stack> stacks_;
  std::vector<Process> processes_;
  std::vector<Thread> threads_;
  SampleColumns samples_;

  ContentIndex image_index_, function_index_, frame_index_, stack_index_, process_index_, thread_index_;
};

}  // namespace cicada::profile
