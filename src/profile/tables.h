// SPDX-License-Identifier: Apache-2.0
// The rows of a profile's tables. They refer to each other by typed index (ids.h).
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/process_key.h"
#include "profile/event.h"
#include "profile/ids.h"

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
  kLabel,    // no code at all: a marker or a grouping root of another tool's file; `label` is its text
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
  kFunctionBegin,  // no name: image + begin of the function, from the unwind table or the code
  kGoTable,        // .gopclntab of a Go program without symbols
  kProgramStart,   // _start and main of a program without symbols, by its code
};
inline constexpr NameSource kLastNameSource = NameSource::kProgramStart;

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
  uint32_t line = 0;   // 0: unknown
  bool inlined = false;
  NameSource source = NameSource::kNone;
  auto operator<=>(const Location&) const = default;
};

// Frames have the innermost one of their locations. A tree, because hundreds of inlined calls can be the same for every address of a function.
struct Place : Location {
  PlaceId outer;       // what it is inlined into; stands before it
  uint32_t depth = 1;  // of the outermost
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
  StringId cmdline;       // the program, and its arguments if they were asked for
  StringId cgroup;
  auto operator<=>(const Process&) const = default;
};

struct Thread {
  ProcessId process;
  Tid tid = 0;
  StringId name;     // the latest
  bool main = false; // tid == pid
  std::optional<uint64_t> cpu_ns = {};  // that it ran while the profile was taken, by the scheduler's account; nothing: unknown
  auto operator<=>(const Thread&) const = default;
};

// Says something about samples that has no column: a user, a state, a span.
struct Label {
  StringId key, value;
  auto operator<=>(const Label&) const = default;
};
inline constexpr std::string_view kStateLabel = "state";  // what a thread waited for that did not run: "lock", "disk", … (ingest/wait_state.h)
inline constexpr std::string_view kPreemptedState = "preempted", kRunnableState = "runnable";  // of these the thread could have run
inline constexpr std::string_view kGroupLabel = "group";  // of an event that is grouped by a number (docs/events.md): the number, or "[others]"
inline constexpr std::string_view kUserLabel = "user";  // whose rights the thread had: a name, else a number

struct Header {
  std::string host, kernel, architecture, cicada_version;
  std::string boot_id;                // /proc/sys/kernel/random/boot_id: kernel addresses mean the same only within one boot
  std::vector<std::string> command;   // cicada's own command line
  std::vector<Event> events{1};       // by EventId; the one that pictures begin with is first
  uint64_t start_realtime_ns = 0;     // both clocks at the same moment
  uint64_t start_monotonic_ns = 0;
  uint64_t duration_ns = 0;
  uint32_t cpu_count = 0;
  uint64_t target_cpu_ns = 0;         // that the target used meanwhile, by the scheduler's account; 0: unknown
  uint64_t runs = 0, runs_ns = 0;     // how many commands are in it from their first instruction to their own end, and for how long in all
  std::vector<Count> end_reasons;     // how user stacks ended, in samples
  std::vector<std::string> warnings;  // what the reader of this profile must know
};

}  // namespace cicada::profile
