// SPDX-License-Identifier: Apache-2.0
#include "symbolize/naming_batch.h"

#include <algorithm>
#include <atomic>
#include <tuple>
#include <unordered_map>

#include "base/diagnostics.h"
#include "base/parallel.h"
#include "base/seeded_hash.h"
#include "profile/frame_text.h"

namespace cicada::symbolize {
namespace {

using profile::FrameId;
using profile::FrameKind;
using profile::NameSource;
using profile::Profile;
using profile::ProfileSnapshot;

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
  std::unordered_map<std::string_view, uint32_t, SeededHash> index_;
};

struct NamedLocation {
  uint32_t name = 0, file = 0;  // indices into names and files of the chunk
  uint32_t line = 0;
  bool inlined = false;
  NameSource source = NameSource::kNone;
};

}  // namespace

struct NamingBatch::Chunk {
  std::vector<uint32_t> indices;         // into Job::addresses
  std::vector<uint32_t> begins, counts;  // locations of each address: resolve() answers in an order of its own
  std::vector<NamedLocation> locations;
  std::vector<const ShownName*> names;   // of OpenImages::names()
  ChunkStrings files;
  bool resolved = false;
};

struct NamingBatch::Job {
  ImageToName image;
  std::vector<LinkAddr> addresses;  // sorted
  std::vector<FrameId> frames;      // same order
  std::vector<Chunk> chunks;
  std::shared_ptr<const ImageSymbols> symbols;  // while it is worked on
  std::atomic<size_t> open_chunks{0};
  bool opened = false, failed = false, without_symbols = false;

  void open(OpenImages& images) {
    auto found = images.open(image);
    opened = true;
    if (!found) {
      diagnostics().warn(image.path, "no names for {} addresses: {}", addresses.size(), found.error().message());
      failed = without_symbols = true;
      return;
    }
    symbols = *std::move(found);
    without_symbols = !symbols->has_symbols() && !symbols->has_dwarf();
    for (auto& part : symbols->partition(addresses, kChunkAddresses)) chunks.emplace_back().indices = std::move(part);
    open_chunks = chunks.size();
  }

  void name(Chunk& chunk, ShownNames& shown_names) {
    std::vector<LinkAddr> wanted;
    for (const uint32_t index : chunk.indices) wanted.push_back(addresses[index]);
    std::unordered_map<std::string_view, uint32_t, SeededHash> names;  // keys live in shown_names
    chunk.begins.resize(wanted.size());
    chunk.counts.resize(wanted.size());
    symbols->resolve(wanted, [&](size_t i, std::span<const SourceFrame> found) {
      std::string by_place;
      SourceFrame nameless;
      if (found.empty()) {
        if (const auto begin = symbols->find_function_begin(wanted[i])) {
          by_place = fmt::format("{}+{:#x}", profile::file_name(image.path), begin->value);
          nameless.linkage_name = by_place;
          nameless.source = NameSource::kCallFrame;
          found = std::span(&nameless, 1);
        }
      }
      chunk.begins[i] = static_cast<uint32_t>(chunk.locations.size());
      chunk.counts[i] = static_cast<uint32_t>(found.size());
      for (const SourceFrame& frame : found) {
        auto at = names.find(frame.linkage_name);
        if (at == names.end()) {
          chunk.names.push_back(&shown_names.find(frame.linkage_name));
          at = names.emplace(chunk.names.back()->linkage, static_cast<uint32_t>(chunk.names.size() - 1)).first;
        }
        chunk.locations.push_back({at->second, chunk.files.intern(frame.file), frame.line, frame.inlined,
                                   image.kind == profile::ImageKind::kVdso ? NameSource::kVdso : frame.source});
      }
    });
    chunk.resolved = true;
    if (open_chunks.fetch_sub(1) == 1) symbols.reset();
  }
};

NamingBatch::NamingBatch(const ProfileSnapshot& profile, ImageFiles& files, const std::function<bool(FrameId)>& wants) {
  std::vector<std::unique_ptr<Job>> by_image(profile.images().size());
  for (size_t i = 0; i < profile.frames().size(); ++i) {
    const profile::Frame& frame = profile.frames()[i];
    if (frame.kind != FrameKind::kNative || !frame.image.valid() || !profile.locations(FrameId(i)).empty() || !wants(FrameId(i))) continue;
    auto& job = by_image[frame.image.value];
    if (job == nullptr) {
      const profile::Image& image = profile.images()[frame.image.value];
      job = std::make_unique<Job>();
      job->image = {frame.image, image.kind, std::string(profile.text(image.path)), files.find(profile, frame.image)};
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
  jobs_ = std::move(by_image);
}

NamingBatch::NamingBatch(NamingBatch&&) noexcept = default;
NamingBatch::~NamingBatch() = default;

size_t NamingBatch::frame_count() const {
  size_t count = 0;
  for (const auto& job : jobs_) count += job->frames.size();
  return count;
}

void NamingBatch::resolve(OpenImages& images, unsigned threads, const std::stop_token& stop) {
  for_each_parallel(jobs_.size(), threads, [&](size_t i) {
    if (!stop.stop_requested()) jobs_[i]->open(images);
  });
  std::vector<std::pair<Job*, Chunk*>> work;
  for (const auto& job : jobs_) {
    for (Chunk& chunk : job->chunks) work.emplace_back(job.get(), &chunk);
  }
  for_each_parallel(work.size(), threads, [&](size_t i) {
    if (!stop.stop_requested()) work[i].first->name(*work[i].second, images.names());
  });
  for (const auto& job : jobs_) job->symbols.reset();
}

std::vector<NamingBatch::ImageOutcome> NamingBatch::outcomes() const {
  std::vector<ImageOutcome> outcomes;
  for (const auto& job : jobs_) {
    ImageOutcome& outcome = outcomes.emplace_back();
    outcome.image = job->image.id;
    outcome.failed = job->failed;
    outcome.without_symbols = job->without_symbols;
    outcome.frames = job->frames;
    if (!job->opened || job->failed) outcome.unresolved = job->frames;
    for (const Chunk& chunk : job->chunks) {
      if (chunk.resolved) continue;
      for (const uint32_t index : chunk.indices) outcome.unresolved.push_back(job->frames[index]);
    }
  }
  return outcomes;
}

size_t move_names(Profile& profile, std::span<const NamingBatch> batches) {
  // The chunk's names and files as they are called in the profile, once one of its frames has them.
  struct Known {
    const NamingBatch::Chunk* chunk;
    profile::ImageId image;
    std::vector<profile::FunctionId> functions;
    std::vector<profile::StringId> files;
  };
  struct Row {
    uint32_t image, known, at;  // `at` of the chunk's addresses
    uint64_t address;
    FrameId frame;
  };
  std::vector<Known> known;
  std::vector<Row> rows;
  for (const NamingBatch& batch : batches) {
    for (const auto& job : batch.jobs_) {
      for (const NamingBatch::Chunk& chunk : job->chunks) {
        if (!chunk.resolved) continue;
        for (size_t i = 0; i < chunk.indices.size(); ++i) {
          if (chunk.counts[i] == 0) continue;
          const uint32_t index = chunk.indices[i];
          rows.push_back({job->image.id.value, static_cast<uint32_t>(known.size()), static_cast<uint32_t>(i), job->addresses[index].value, job->frames[index]});
        }
        known.push_back({&chunk, job->image.id, std::vector<profile::FunctionId>(chunk.names.size()),
                         std::vector<profile::StringId>(chunk.files.texts().size())});
      }
    }
  }
  std::sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) {
    return std::tie(a.image, a.address, a.frame.value) < std::tie(b.image, b.address, b.frame.value);
  });
  size_t named = 0;
  std::vector<profile::Location> locations;
  for (const Row& row : rows) {
    Known& in = known[row.known];
    const NamingBatch::Chunk& chunk = *in.chunk;
    locations.clear();
    for (uint32_t k = 0; k < chunk.counts[row.at]; ++k) {
      const NamedLocation& from = chunk.locations[chunk.begins[row.at] + k];
      profile::FunctionId& function = in.functions[from.name];
      if (!function.valid()) {
        const ShownName& name = *chunk.names[from.name];
        const bool same = name.linkage == name.shown;
        function = profile.intern_function({profile.intern(name.shown), same ? profile::StringId() : profile.intern(name.linkage), in.image});
      }
      profile::StringId& file = in.files[from.file];
      if (const std::string& text = chunk.files.texts()[from.file]; !file.valid() && !text.empty()) file = profile.intern(text);
      locations.push_back({function, file, from.line, from.inlined, from.source});
    }
    profile.set_locations(row.frame, locations);
    if (locations.back().source != NameSource::kCallFrame) ++named;
  }
  return named;
}

}  // namespace cicada::symbolize
