// SPDX-License-Identifier: Apache-2.0
// Gives every frame of a profile its names. Runs after (or beside) the recording; the target may be gone.
//
// Sources are tried in the order of docs/symbols.md; each Location remembers which one named it. Files come through an
// ImageFiles port, so that a live session hands out pinned descriptors and a capture file looks on disk by build-id.
// Threads: one; worker threads inside.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/unique_fd.h"
#include "names/demangle.h"
#include "profile/profile.h"
#include "symbolize/files/file_root.h"

namespace cicada::symbolize {

class KernelNames;

using names::Demangle;

struct SymbolizeOptions {
  bool inlines = true;
  bool lines = true;
  Demangle demangle = Demangle::kFull;
  bool fold_clones = true;             // "f.cold", "f.part.0", "f.constprop.0" shown as "f"
  bool debuginfod = false;             // fetch missing debug files, from where DEBUGINFOD_URLS says
  unsigned debuginfod_seconds = 30;    // for all of them together
  unsigned threads = 0;                // 0: one per CPU, at most 4
  std::vector<std::string> debug_dirs = {"/usr/lib/debug"};
  KernelNames* kernel_names = nullptr;  // borrowed (kernel_names.h); null: /proc/kallsyms
  bool kernel_context = true;          // mark softirq, interrupt and idle work (kernel_context.h)
};

// The file of an image. Threads: any; valid as long as the ImageFiles it is from.
struct ImageFile {
  // A readable descriptor. Fails: kGone, kNotFound, or kInvalid (another build-id). May take long: a network, a disk.
  std::function<Result<UniqueFd>()> open;
  FileRoot root;  // where its path and its debug files are
};

// Where the bytes of images are. Implemented by collect/ (pinned) and by OnDiskImages (by path, checked by build-id).
class ImageFiles {
 public:
  virtual ~ImageFiles() = default;
  // Waits for no file. Threads: the profile's.
  virtual ImageFile find(const profile::ProfileSnapshot& profile, profile::ImageId image) = 0;
};

// A symbol of JIT-compiled code, as perf maps and jitdumps give them. Copied when the process exits or the recording ends.
struct JitSymbol {
  uint32_t address_space = 0;
  Range<RuntimeAddr> code;
  std::string name;
  std::string file;
  uint32_t line = 0;
  profile::NameSource source = profile::NameSource::kPerfMap;
};

struct SymbolizeStats {
  uint64_t frames = 0, named = 0, images = 0, images_without_symbols = 0;
  uint64_t looked_up_ahead = 0;  // frames
  double seconds = 0;      // that passed
  double cpu_seconds = 0;  // of this program meanwhile, all threads
};

// Generated code alone: cheap enough for a running recording. Returns how many frames got a name; those that have one keep it.
size_t name_jit_frames(profile::Profile& profile, const std::vector<JitSymbol>& jit);

// One profile's names.
//
//   Symbolizer symbolizer(files, options);
//   symbolizer.look_up_ahead(profile);                 // while recording, now and then
//   symbolizer.name_frames(profile, jit);              // gives every frame its names; what was looked up ahead is there already
//
// Looking up ahead is done by a thread of its own that has less of a claim to the CPU than everything else, and does not touch the profile. Its
// answers are kept here until name_frames(): the profile is the same, byte for byte, whether and when any of it was done ahead.
class Symbolizer {
 public:
  // Borrows `files`.
  Symbolizer(ImageFiles& files, SymbolizeOptions options);
  ~Symbolizer();

  // Never waits for a file: copies addresses, for the thread. Does nothing while that is busy, while there is little to look up, and
  // with debuginfod, which is for afterwards.
  void look_up_ahead(const profile::ProfileSnapshot& profile);
  // A batch is being looked up.
  bool is_busy() const;
  // See symbolize(). Frames of images that could not be opened are tried again by each call.
  SymbolizeStats name_frames(profile::Profile& profile, const std::vector<JitSymbol>& jit);

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

// Kernel frames are resolved from the running kernel when `profile` was recorded by this boot (see kernel_names.h); a capture
// file brings its own. Frames that have locations already are left alone, so it may be called again while a recording grows.
SymbolizeStats symbolize(profile::Profile& profile, ImageFiles& files, const std::vector<JitSymbol>& jit,
                         const SymbolizeOptions& options);

// ImageFiles for profiles from elsewhere: the recorded path, then debug_dirs by build-id; accepted only if the build-id matches.
std::unique_ptr<ImageFiles> on_disk_images(std::vector<std::string> debug_dirs = {"/usr/lib/debug"});

}  // namespace cicada::symbolize
