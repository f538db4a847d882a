// SPDX-License-Identifier: Apache-2.0
// Three steps: sort the frames that have no names yet by where their names are (image, kernel, JIT); let workers open the images
// and name a chunk of addresses at a time (whole compilation units, demangling included); then move the results into the profile, which has one
// writer. A chunk holds each name once, so that moving is a few table look-ups a name, not a frame.
#include "symbolize/symbolizer.h"

#include <time.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <deque>
#include <unordered_map>

#include "base/diagnostics.h"
#include "profile/frame_text.h"
#include "symbolize/debuginfod_client.h"
#include "names/demangle.h"
#include "symbolize/image_symbols.h"
#include "symbolize/jit_symbols.h"
#include "symbolize/kernel_context.h"
#include "symbolize/kernel_names.h"
#include "symbolize/parallel.h"
#include "symbolize/shown_names.h"
#include "symbolize/vdso_image.h"

namespace cicada::symbolize {
namespace {

using profile::FrameId;
using profile::FrameKind;
using profile::ImageId;
using profile::NameSource;
using profile::Profile;

constexpr size_t kChunkAddresses = 1024;

// Strings of one chunk, each stored once.
class ChunkStrings {
 public:
  uint32_t intern(std::string_view text) {
    const auto found = index_.find(text);
    if (found != index_.end()) return found->second;
    const std::string& kept = texts_.emplace_back(text);
    index_.emplace(kept, static_cast<uint32_t>(texts_.size() - 1));
    return static_cast<uint32_t>(texts_.size() - 1);
  }
  const std::deque<std::string>& texts() const { return texts_; }

 private:
  std::deque<std::string> texts_;
  std::unordered_map<std::string_view, uint32_t> index_;
};

struct NamedLocation {
  uint32_t name = 0, file = 0;  // indices into names; of ChunkStrings
  uint32_t line = 0;
  bool inlined = false;
  NameSource source = NameSource::kNone;
};

struct ChunkName {
  std::string linkage, shown;
};

struct Chunk {
  std::vector<uint32_t> indices;     // into ImageJob::addresses
  std::vector<uint32_t> begins, counts;  // locations of each address: resolve() answers in an order of its own
  std::vector<NamedLocation> locations;
  std::deque<ChunkName> names;
  ChunkStrings files;
};

struct ImageJob {
  ImageId image;
  std::string path;
  profile::ImageKind kind{};
  std::vector<LinkAddr> addresses;   // sorted
  std::vector<FrameId> frames;       // same order
  std::vector<Chunk> chunks;
  std::unique_ptr<ImageSymbols> symbols;
  std::atomic<size_t> open_chunks{0};
  bool without_symbols = false;
};

class Worker {
 public:
  Worker(const Profile& profile, ImageFiles& files, const SymbolizeOptions& options) : profile_(profile), files_(files), options_(options), names_(options) {
    if (options.debuginfod) debuginfod_.emplace(std::chrono::seconds(options.debuginfod_seconds));
  }

  void open(ImageJob& job) {
    Result<elf::ElfFile> elf = job.kind == profile::ImageKind::kVdso || job.path == "[vdso]" ? load_vdso() : load(job);
    if (!elf) {
      diagnostics().warn(job.path, "no names for {} addresses: {}", job.addresses.size(), elf.error().message());
      job.without_symbols = true;
      return;
    }
    job.symbols = ImageSymbols::open(std::move(*elf), job.path, options_, debuginfod_ ? &*debuginfod_ : nullptr, files_.root(profile_, job.image));
    job.without_symbols = !job.symbols->has_symbols() && !job.symbols->has_dwarf();
    for (auto& part : job.symbols->partition(job.addresses, kChunkAddresses)) job.chunks.emplace_back().indices = std::move(part);
    job.open_chunks = job.chunks.size();
  }

  void run(ImageJob& job, Chunk& chunk) {
    std::vector<LinkAddr> addresses;
    for (const uint32_t index : chunk.indices) addresses.push_back(job.addresses[index]);
    std::unordered_map<std::string_view, uint32_t> names;  // keys live in chunk.names
    chunk.begins.resize(addresses.size());
    chunk.counts.resize(addresses.size());
    job.symbols->resolve(addresses, [&](size_t i, std::span<const SourceFrame> frames) {
      std::string by_place;
      SourceFrame nameless;
      if (frames.empty()) {
        if (const auto begin = job.symbols->find_function_begin(addresses[i])) {
          by_place = fmt::format("{}+{:#x}", profile::file_name(job.path), begin->value);
          nameless.linkage_name = by_place;
          nameless.source = NameSource::kCallFrame;
          frames = std::span(&nameless, 1);
        }
      }
      chunk.begins[i] = static_cast<uint32_t>(chunk.locations.size());
      chunk.counts[i] = static_cast<uint32_t>(frames.size());
      for (const SourceFrame& frame : frames) {
        const auto [at, added] = names.try_emplace(frame.linkage_name, static_cast<uint32_t>(chunk.names.size()));
        const uint32_t name = at->second;
        if (added) {
          names.erase(at);
          append_name(chunk, frame.linkage_name);
          names.emplace(chunk.names.back().linkage, name);
        }
        chunk.locations.push_back({name, chunk.files.intern(frame.file), frame.line, frame.inlined,
                                   job.kind == profile::ImageKind::kVdso ? NameSource::kVdso : frame.source});
      }
    });
    if (job.open_chunks.fetch_sub(1) == 1) job.symbols.reset();
  }

 private:
  Result<elf::ElfFile> load(ImageJob& job) {
    const UniqueFd fd = TRY(files_.open(profile_, job.image));
    FileMapping mapping = TRY(FileMapping::map(fd.get(), job.path));
    return elf::ElfFile::parse(std::move(mapping), job.path);
  }
  void append_name(Chunk& chunk, std::string_view linkage) {
    chunk.names.push_back({std::string(linkage), names_.find(linkage)});
  }

  const Profile& profile_;
  ImageFiles& files_;
  const SymbolizeOptions& options_;
  ShownNames names_;
  std::optional<DebuginfodClient> debuginfod_;
};

std::vector<std::unique_ptr<ImageJob>> make_jobs(const Profile& profile) {
  std::vector<std::unique_ptr<ImageJob>> by_image(profile.images().size());
  for (size_t i = 0; i < profile.frames().size(); ++i) {
    const profile::Frame& frame = profile.frames()[i];
    if (frame.kind != FrameKind::kNative || !frame.image.valid() || !profile.locations(FrameId(i)).empty()) continue;
    auto& job = by_image[frame.image.value];
    if (job == nullptr) {
      job = std::make_unique<ImageJob>();
      job->image = frame.image;
      job->kind = profile.images()[frame.image.value].kind;
      job->path = std::string(profile.text(profile.images()[frame.image.value].path));
    }
    job->frames.push_back(FrameId(i));
  }
  std::erase(by_image, nullptr);
  for (auto& job : by_image) {
    std::sort(job->frames.begin(), job->frames.end(), [&](FrameId a, FrameId b) {
      return profile.frames()[a.value].address < profile.frames()[b.value].address;
    });
    for (const FrameId frame : job->frames) job->addresses.push_back(LinkAddr(profile.frames()[frame.value].address));
  }
  std::sort(by_image.begin(), by_image.end(), [](const auto& a, const auto& b) { return a->frames.size() > b->frames.size(); });
  return by_image;
}

void run_jobs(const std::vector<std::unique_ptr<ImageJob>>& jobs, Worker& worker, unsigned threads) {
  for_each_parallel(jobs.size(), threads, [&](size_t i) { worker.open(*jobs[i]); });
  std::vector<std::pair<ImageJob*, Chunk*>> work;
  for (const auto& job : jobs) {
    for (Chunk& chunk : job->chunks) work.emplace_back(job.get(), &chunk);
  }
  for_each_parallel(work.size(), threads, [&](size_t i) { worker.run(*work[i].first, *work[i].second); });
}

size_t move_names(Profile& profile, const ImageJob& job) {
  size_t named = 0;
  std::vector<profile::Location> locations;
  for (const Chunk& chunk : job.chunks) {
    std::vector<profile::FunctionId> functions;
    std::vector<profile::StringId> files;
    for (const ChunkName& name : chunk.names) {
      const bool same = name.linkage == name.shown;
      functions.push_back(profile.intern_function({profile.intern(name.shown), same ? profile::StringId() : profile.intern(name.linkage), job.image}));
    }
    for (const std::string& file : chunk.files.texts()) files.push_back(file.empty() ? profile::StringId() : profile.intern(file));
    for (size_t i = 0; i < chunk.counts.size(); ++i) {
      locations.clear();
      for (uint32_t k = 0; k < chunk.counts[i]; ++k) {
        const NamedLocation& from = chunk.locations[chunk.begins[i] + k];
        locations.push_back({functions[from.name], files[from.file], from.line, from.inlined, from.source});
      }
      if (locations.empty()) continue;
      profile.set_locations(job.frames[chunk.indices[i]], locations);
      if (locations.back().source != NameSource::kCallFrame) ++named;
    }
  }
  return named;
}

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

SymbolizeStats symbolize(Profile& profile, ImageFiles& files, const std::vector<JitSymbol>& jit, const SymbolizeOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  const double cpu_start = cpu_seconds();
  SymbolizeStats stats;
  const auto jobs = make_jobs(profile);
  Worker worker(profile, files, options);
  run_jobs(jobs, worker, options.threads);
  for (const auto& job : jobs) {
    stats.named += move_names(profile, *job);
    ++stats.images;
    if (job->without_symbols) ++stats.images_without_symbols;
  }
  stats.named += name_kernel_frames(profile, options);
  stats.named += name_jit_frames(profile, jit);
  if (options.kernel_context) annotate_kernel_context(profile);
  for (const profile::Frame& frame : profile.frames()) {
    if (frame.kind != FrameKind::kLabel) ++stats.frames;
  }
  stats.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  stats.cpu_seconds = cpu_seconds() - cpu_start;
  return stats;
}

}  // namespace cicada::symbolize
