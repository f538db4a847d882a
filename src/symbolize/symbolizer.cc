// SPDX-License-Identifier: Apache-2.0
// Frames of images go in batches (naming_batch.h): those that are looked up while a recording runs, and the rest at the end, by the same code.
// The kernel's and generated code's names are had in milliseconds, at the end.
//
// Ahead of the end there is a batch when at least a fourth of the frames are new, so there are a dozen in a minute, each is worth it, and the
// rest is a fifth at most. What a batch costs beyond its names is opening images, which stay open (open_images.h), and decoding
// compilation units again.
#include "symbolize/symbolizer.h"

#include <time.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <set>

#include "base/diagnostics.h"
#include "base/work_queue.h"
#include "names/demangle.h"
#include "symbolize/jit/jit_symbols.h"
#include "symbolize/kernel/kernel_context.h"
#include "symbolize/kernel/kernel_names.h"
#include "symbolize/naming_batch.h"
#include "symbolize/files/open_images.h"

namespace cicada::symbolize {
namespace {

using profile::FrameId;
using profile::FrameKind;
using profile::ImageId;
using profile::Profile;
using profile::ProfileSnapshot;

constexpr size_t kFewestAhead = 64;
constexpr size_t kNewShareAhead = 4;
// Of the thread that looks up ahead, beside our other threads: a tenth of their share. With 19 it would not be done by the end of a recording
// on a busy machine.
constexpr int kNiceAhead = 10;

// Kernel addresses mean something only in the boot they were recorded in.
bool recorded_by_this_boot(const profile::Header& header) {
  if (header.start_realtime_ns == 0 || header.start_monotonic_ns == 0) return true;
  struct timespec real {}, mono {};
  ::clock_gettime(CLOCK_REALTIME, &real);
  ::clock_gettime(CLOCK_MONOTONIC, &mono);
  constexpr int64_t kNs = 1'000'000'000;
  constexpr int64_t kClockAdjustmentNs = 120 * kNs;
  const int64_t boot_now = (real.tv_sec - mono.tv_sec) * kNs + (real.tv_nsec - mono.tv_nsec);
  const auto boot_then = static_cast<int64_t>(header.start_realtime_ns - header.start_monotonic_ns);
  return std::abs(boot_now - boot_then) < kClockAdjustmentNs;
}

double cpu_seconds() {
  struct timespec used {};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return static_cast<double>(used.tv_sec) + static_cast<double>(used.tv_nsec) / 1e9;
}

size_t name_kernel_frames(Profile& profile, const SymbolizeOptions& options) {
  std::vector<uint64_t> addresses;
  std::vector<FrameId> frames;
  for (size_t i = 0; i < profile.frames().size(); ++i) {
    const profile::Frame& frame = profile.frames()[i];
    if (frame.kind != FrameKind::kKernel || !profile.locations(FrameId(i)).empty()) continue;
    addresses.push_back(frame.address);
    frames.push_back(FrameId(i));
  }
  if (addresses.empty()) return 0;
  std::unique_ptr<KernelNames> fallback;
  KernelNames* names = options.kernel_names;
  if (names == nullptr) {
    if (!recorded_by_this_boot(profile.header)) return 0;
    fallback = kallsyms_names();
    names = fallback.get();
  }
  std::vector<KernelSymbol> symbols;
  if (const Result<void> resolved = names->resolve(addresses, symbols); !resolved) {
    diagnostics().warn("[kernel]", "kernel functions stay unnamed: {}", resolved.error().message());
    return 0;
  }
  size_t named = 0;
  for (size_t i = 0; i < frames.size() && i < symbols.size(); ++i) {
    const KernelSymbol& symbol = symbols[i];
    if (symbol.name.empty()) continue;
    profile::Image image;
    image.kind = symbol.module.empty() ? profile::ImageKind::kKernel
                 : symbol.module == "bpf" ? profile::ImageKind::kBpf
                                          : profile::ImageKind::kKernelModule;
    image.path = profile.intern(symbol.module.empty() ? "[kernel]" : symbol.module == "bpf" ? "[bpf]" : symbol.module);
    const std::string shown = names::demangle(options.fold_clones ? names::fold_clone(symbol.name) : symbol.name, options.demangle);
    const bool same = shown == symbol.name;
    const auto function = profile.intern_function({profile.intern(shown), same ? profile::StringId() : profile.intern(symbol.name),
                                                   profile.intern_image(image)});
    const profile::Location location{function, {}, 0, false, symbol.source};
    profile.set_locations(frames[i], std::span(&location, 1));
    ++named;
  }
  return named;
}

}  // namespace

size_t name_jit_frames(Profile& profile, const std::vector<JitSymbol>& jit) {
  if (jit.empty()) return 0;
  const JitSymbols symbols(jit);
  size_t named = 0;
  for (size_t i = 0; i < profile.frames().size(); ++i) {
    const profile::Frame frame = profile.frames()[i];
    if ((frame.kind != FrameKind::kJit && frame.kind != FrameKind::kUnknown) || !profile.locations(FrameId(i)).empty()) continue;
    const JitSymbol* symbol = symbols.find(frame.address_space, RuntimeAddr(frame.address));
    if (symbol == nullptr) continue;
    const auto function = profile.intern_function({profile.intern(symbol->name), {}, {}});
    const profile::Location location{function, symbol->file.empty() ? profile::StringId() : profile.intern(symbol->file), symbol->line, false, symbol->source};
    profile.set_locations(FrameId(i), std::span(&location, 1));
    ++named;
  }
  return named;
}

struct Symbolizer::Parts {
  Parts(ImageFiles& where, SymbolizeOptions wanted) : files(where), options(std::move(wanted)), images(options) {}

  ImageFiles& files;
  const SymbolizeOptions options;
  OpenImages images;
  std::vector<NamingBatch> resolved;  // not yet in the profile
  std::vector<bool> taken;            // frames that are in a batch, or were: they have names, or there are none
  std::set<ImageId> failed;           // images that could not be opened: name_frames() tries again
  size_t taken_count = 0, frames_seen = 0, image_frames = 0;
  uint64_t ahead = 0;

  std::optional<NamingBatch> batch;  // that is looked up ahead
  WorkQueue::JobId job = 0;
  WorkQueue queue{{.thread_name = "cicada-names", .nice = kNiceAhead}};

  // Frames of images that no batch has had.
  size_t count_new(const ProfileSnapshot& profile) {
    for (; frames_seen < profile.frames().size(); ++frames_seen) image_frames += profile.frames()[frames_seen].kind == FrameKind::kNative;
    return image_frames - std::min(image_frames, taken_count);
  }

  NamingBatch make_batch(const ProfileSnapshot& profile) {
    taken.resize(profile.frames().size());
    return NamingBatch(profile, files, [&](FrameId frame) { return !taken[frame.value] && !failed.contains(profile.frames()[frame.value].image); });
  }

  void forget_failures(const ProfileSnapshot& profile) {
    for (size_t i = 0; i < taken.size() && !failed.empty(); ++i) {
      if (!taken[i] || !failed.contains(profile.frames()[i].image)) continue;
      taken[i] = false;
      --taken_count;
    }
    failed.clear();
  }

  void start(NamingBatch wanted) {
    mark(wanted);
    batch.emplace(std::move(wanted));
    job = queue.submit({.run = [this](WorkQueue::Attempt& attempt) {
      batch->resolve(images, 1, attempt.stop_token());
      if (!attempt.stop_token().stop_requested()) images.trim();
    }});
  }

  // Takes back what the thread did; it ends with the piece of work it is at, which nobody is made to wait for at its low priority.
  void collect() {
    if (!batch) return;
    queue.cancel(job);
    queue.set_nice(0);
    queue.wait(job);
    queue.set_nice(kNiceAhead);
    ahead += keep(std::move(*batch));
    batch.reset();
  }

  void mark(const NamingBatch& of) {
    for (const auto& image : of.outcomes()) {
      for (const FrameId frame : image.frames) taken[frame.value] = true;
      taken_count += image.frames.size();
    }
  }
  // Returns how many frames are resolved.
  size_t keep(NamingBatch of) {
    size_t count = of.frame_count();
    for (const auto& image : of.outcomes()) {
      count -= image.unresolved.size();
      if (image.failed) {
        failed.insert(image.image);
        continue;
      }
      for (const FrameId frame : image.unresolved) taken[frame.value] = false;
      taken_count -= image.unresolved.size();
    }
    resolved.push_back(std::move(of));
    return count;
  }
};

Symbolizer::Symbolizer(ImageFiles& files, SymbolizeOptions options) : parts_(std::make_unique<Parts>(files, std::move(options))) {}
Symbolizer::~Symbolizer() = default;

bool Symbolizer::is_busy() const { return !parts_->queue.is_idle(); }

void Symbolizer::look_up_ahead(const ProfileSnapshot& profile) {
  Parts& p = *parts_;
  if (p.options.debuginfod || is_busy()) return;
  p.collect();
  if (p.count_new(profile) < std::max(kFewestAhead, p.taken_count / kNewShareAhead)) return;
  if (NamingBatch batch = p.make_batch(profile); !batch.empty()) p.start(std::move(batch));
}

SymbolizeStats Symbolizer::name_frames(Profile& profile, const std::vector<JitSymbol>& jit) {
  const auto start = std::chrono::steady_clock::now();
  const double cpu_start = cpu_seconds();
  Parts& p = *parts_;
  SymbolizeStats stats;
  p.collect();
  p.forget_failures(profile);
  NamingBatch rest = p.make_batch(profile);
  rest.resolve(p.images, p.options.threads);
  p.mark(rest);
  p.keep(std::move(rest));
  stats.named += move_names(profile, p.resolved);
  std::set<ImageId> images, without_symbols;
  for (const NamingBatch& batch : p.resolved) {
    for (const auto& image : batch.outcomes()) {
      images.insert(image.image);
      if (image.without_symbols) without_symbols.insert(image.image);
    }
  }
  p.resolved.clear();
  p.images.trim();
  stats.images = images.size();
  stats.images_without_symbols = without_symbols.size();
  stats.looked_up_ahead = std::exchange(p.ahead, 0);
  stats.named += name_kernel_frames(profile, p.options);
  stats.named += name_jit_frames(profile, jit);
  for (const profile::Frame& frame : profile.frames()) {
    if (frame.kind != FrameKind::kLabel) ++stats.frames;
  }
  stats.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  stats.cpu_seconds = cpu_seconds() - cpu_start;
  return stats;
}

SymbolizeStats symbolize(Profile& profile, ImageFiles& files, const std::vector<JitSymbol>& jit, const SymbolizeOptions& options) {
  return Symbolizer(files, options).name_frames(profile, jit);
}

}  // namespace cicada::symbolize
