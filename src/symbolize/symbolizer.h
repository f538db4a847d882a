// SPDX-License-Identifier: Apache-2.0
// Gives the frames of a profile their names: while it is recorded, and at the end; the target may be gone.
//
//   Symbolizer symbolizer(files, options);
//   symbolizer.request(profile);        // every 100 ms or so: what is new goes to threads that have less of a claim to the CPU
//   symbolizer.apply_ready(profile);    // what they have found goes into the profile
//   symbolizer.finish(profile);         // the rest
//
//   frames ──▶ subjects (an image, the kernel, an address space's JIT code) ──▶ Namer ──▶ NamedAddresses ──▶ NameWriter
//
// A frame is first named by symbol tables, a quarter of a second after it was first seen once those are open; where there are few, one to three
// seconds after. Inlined calls and lines follow, in batches that are worth it, at the latest in finish(). The names of a profile do not depend on when they were looked up.
// Each Location remembers which source named it (docs/symbols.md).
// Threads: one, the profile's; worker threads inside.
#pragma once
#include <chrono>
#include <memory>
#include <optional>
#include <vector>

#include "profile/row_copier.h"
#include "symbolize/files/image_files.h"
#include "symbolize/jit/jit_symbol.h"
#include "symbolize/symbolize_options.h"

namespace cicada::symbolize {

struct SymbolizeStats {
  uint64_t frames = 0, named = 0, images = 0, images_without_symbols = 0;
  uint64_t named_before = 0;  // finish()
  uint64_t cut_short = 0;     // questions that finish() had no time for
  double seconds = 0;      // that passed in finish()
  double cpu_seconds = 0;  // of this program meanwhile, all threads
};

// When finish() ends with what there is. Nothing: when all is named. `of_others`: for files that neither root owns nor SymbolizeOptions::user;
// nothing: as for all.
struct NamingDeadlines {
  std::optional<std::chrono::steady_clock::time_point> all = {}, of_others = {};
};

class Symbolizer {
 public:
  using Clock = std::chrono::steady_clock;

  // Borrows `files` and options.kernel_names.
  Symbolizer(ImageFiles& files, SymbolizeOptions options);
  ~Symbolizer();

  // Newer code wins where it replaced older.
  void add_jit_symbols(std::vector<JitSymbol> symbols);
  // Frames that were added since the last call, and what may be asked for again. Copies addresses; waits for nothing.
  void request(const profile::ProfileSnapshot& profile);
  // For about a millisecond at most. Returns how many frames got a name.
  size_t apply_ready(profile::Profile& profile);
  // Takes over the ids of a compacted profile, after all others who have some: frames that it does not have are not asked for any more.
  void rebase(const profile::ProfileSnapshot& before, profile::RowCopier& ids);
  // Names every frame that has none, and looks up inlined calls and lines that are missing; what could not be opened is tried again. At a deadline
  // it ends with what there is, as soon as namers do that are asked to stop, and says so in a diagnostic.
  SymbolizeStats finish(profile::Profile& profile, NamingDeadlines deadlines = {});

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

// All at once, for a profile from elsewhere. Kernel frames are resolved from the running kernel if this boot recorded them (kernel_names.h).
SymbolizeStats symbolize(profile::Profile& profile, ImageFiles& files, const SymbolizeOptions& options);

}  // namespace cicada::symbolize
