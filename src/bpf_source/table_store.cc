// SPDX-License-Identifier: Apache-2.0
#include "bpf_source/table_store.h"

#include <bpf/bpf.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <optional>
#include <thread>
#include <utility>

namespace cicada::bpf_source {
namespace {

constexpr uint64_t kGranule = 64;
constexpr uint64_t kFirstSlabBytes = 1 << 20;
constexpr uint64_t kSlabBytes = 4 << 20;

constexpr uint64_t round_up(uint64_t value, uint64_t to) { return (value + to - 1) / to * to; }

}  // namespace

TableStore::TableStore(Maps maps, uint64_t max_bytes) : maps_(maps), max_bytes_(round_up(max_bytes, UNWIND_CHUNK_BYTES)) {
  CHECK(!maps_.places.empty());
}

TableStore::~TableStore() {
  for (Slab& slab : slabs_) ::munmap(slab.bytes.data(), slab.bytes.size());
}

void TableStore::prepare() {
  std::unique_lock lock(mutex_);
  if (slabs_.empty() && max_bytes_ >= kFirstSlabBytes) std::ignore = add_slab(kFirstSlabBytes);  // load() tries again and reports
  insert_slabs(lock);
}

Result<void> TableStore::load(uint32_t image, const unwind::UnwindRows& rows) {
  auto layout = unwind::TableLayout::plan(rows);
  const uint64_t wanted = round_up(layout.max_size_bytes(), kGranule);
  std::unique_lock lock(mutex_);
  reap_quarantine();
  Result<Extent> extent = allocate(wanted);
  if (!extent) {  // an earlier one stays
    ++stats_.refused;
    return extent.error();
  }
  unload_locked(image);
  layout.place(extent->begin);
  const uint64_t used = round_up(layout.size_bytes(), kGranule);
  CHECK(used <= wanted);
  if (used < wanted) {
    release({extent->slab, extent->begin + used, extent->end});
    extent->end = extent->begin + used;
  }
  const std::span<uint8_t> slab = slabs_[extent->slab].bytes;
  lock.unlock();
  unwind_place place{};
  layout.write(rows, image, slab, place);
  place.image = image;
  place.slab = static_cast<uint16_t>(extent->slab);
  place.flags = UNWIND_PLACE_LOADED;

  lock.lock();
  if (const auto& refused = slabs_[extent->slab].refused) return *refused;  // meanwhile, as another loader's
  show(place);
  tables_[image] = *extent;
  stats_.table_bytes += used;
  stats_.tables = tables_.size();
  insert_slabs(lock);
  if (const auto& refused = slabs_[extent->slab].refused) return *refused;
  return {};
}

void TableStore::load_without_cfi(uint32_t image) {
  const std::lock_guard lock(mutex_);
  unload_locked(image);
  unwind_place place{};
  place.image = image;
  place.flags = UNWIND_PLACE_LOADED | UNWIND_PLACE_NO_CFI;
  show(place);
}

// Image and flags are what is_loaded() and walks look at while this writes.
void TableStore::show(const unwind_place& place) {
  unwind_place& slot = place_of(place.image);
  if (slot.image != 0 && slot.image != place.image) unload_locked(slot.image);  // 65,536 images later: the older one leaves
  slot.page_shift = place.page_shift;
  slot.slab = place.slab;
  slot.index = place.index;
  slot.rules = place.rules;
  slot.first_page = place.first_page;
  slot.page_count = place.page_count;
  slot.rule_count = place.rule_count;
  std::atomic_ref(slot.image).store(place.image, std::memory_order_relaxed);
  std::atomic_ref(slot.flags).store(place.flags, std::memory_order_release);
}

// Without the lock: an eviction may hold it for a quarantine, and whoever asks must not wait.
bool TableStore::is_loaded(uint32_t image) const {
  unwind_place& slot = maps_.places[image % maps_.places.size()];
  return std::atomic_ref(slot.image).load(std::memory_order_relaxed) == image &&
         (std::atomic_ref(slot.flags).load(std::memory_order_acquire) & UNWIND_PLACE_LOADED) != 0;
}

TableStoreStats TableStore::stats() const {
  const std::lock_guard lock(mutex_);
  return stats_;
}

void TableStore::unload_locked(uint32_t image) {
  unwind_place& slot = place_of(image);
  if (slot.image == image) {
    std::atomic_ref(slot.flags).store(uint8_t{0}, std::memory_order_release);
    std::atomic_ref(slot.image).store(0, std::memory_order_relaxed);
  }
  const auto found = tables_.find(image);
  if (found == tables_.end()) return;
  if (maps_.eviction_epoch != nullptr) *maps_.eviction_epoch = *maps_.eviction_epoch + 1;
  quarantine_.push_back({found->second, std::chrono::steady_clock::now() + kQuarantine});
  stats_.table_bytes -= found->second.end - found->second.begin;
  tables_.erase(found);
  stats_.tables = tables_.size();
}

Result<TableStore::Extent> TableStore::allocate(uint64_t bytes) {
  if (bytes > max_bytes_) {
    return make_error(ErrorKind::kLimit, "an unwind table of {} KiB does not fit --max-map-memory ({} KiB)", bytes >> 10, max_bytes_ >> 10);
  }
  if (auto extent = find_free(bytes)) return *extent;
  const uint64_t left = max_bytes_ - std::min(max_bytes_, stats_.slab_bytes);
  const uint64_t need = round_up(bytes, UNWIND_CHUNK_BYTES);
  if (need <= left) {
    const uint64_t usual = slabs_.empty() ? kFirstSlabBytes : kSlabBytes;
    TRY(add_slab(std::clamp(usual, need, std::max(need, left / UNWIND_CHUNK_BYTES * UNWIND_CHUNK_BYTES))));
    if (auto extent = find_free(bytes)) return *extent;
  }
  // Slabs stay as large as they are: nobody leaves for what could not get in even then.
  const bool ever = std::any_of(slabs_.begin(), slabs_.end(), [&](const Slab& slab) { return !slab.refused && slab.bytes.size() >= bytes; });
  if (!ever) return make_error(ErrorKind::kLimit, "no room for an unwind table of {} KiB within --max-map-memory ({} KiB)", bytes >> 10, max_bytes_ >> 10);
  // Full: the least recently sampled leave until there is a hole, which can be used once no walk can still be reading it.
  while (evict_one(0)) {
    const auto fits = [&] {
      // Would the holes, quarantined ones included, give enough contiguous room? Cheap test: by merging into a copy.
      for (uint32_t s = 0; s < slabs_.size(); ++s) {
        std::vector<std::pair<uint64_t, uint64_t>> holes(slabs_[s].free.begin(), slabs_[s].free.end());
        for (const Quarantined& q : quarantine_) {
          if (q.extent.slab == s) holes.emplace_back(q.extent.begin, q.extent.end);
        }
        std::sort(holes.begin(), holes.end());
        uint64_t begin = 0, end = 0;
        for (const auto& [from, to] : holes) {
          if (from == end && end != begin) {
            end = to;
          } else {
            begin = from;
            end = to;
          }
          if (end - begin >= bytes) return true;
        }
      }
      return false;
    };
    if (!fits()) continue;
    std::this_thread::sleep_until(quarantine_.back().until);
    reap_quarantine();
    if (auto extent = find_free(bytes)) return *extent;
  }
  return make_error(ErrorKind::kIo, "no room for an unwind table of {} KiB while others are being written", bytes >> 10);
}

std::optional<TableStore::Extent> TableStore::find_free(uint64_t bytes) {
  for (uint32_t s = 0; s < slabs_.size(); ++s) {
    auto& free = slabs_[s].free;
    for (auto hole = free.begin(); hole != free.end(); ++hole) {
      const auto [begin, end] = *hole;
      if (end - begin < bytes) continue;
      free.erase(hole);
      if (begin + bytes < end) free[begin + bytes] = end;
      return Extent{s, begin, begin + bytes};
    }
  }
  return std::nullopt;
}

Result<void> TableStore::add_slab(uint64_t bytes) {
  LIBBPF_OPTS(bpf_map_create_opts, options, .map_flags = BPF_F_MMAPABLE | BPF_F_INNER_MAP);
  Slab slab;
  slab.fd.reset(::bpf_map_create(BPF_MAP_TYPE_ARRAY, "unwind_slab", sizeof(uint32_t), UNWIND_CHUNK_BYTES,
                                 static_cast<uint32_t>(bytes / UNWIND_CHUNK_BYTES), &options));
  if (!slab.fd) return errno_error(errno, fmt::format("create a BPF array of {} KiB for unwind tables", bytes >> 10));
  void* at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, slab.fd.get(), 0);
  if (at == MAP_FAILED) return errno_error(errno, "mmap a BPF array for unwind tables");
  ::madvise(at, bytes, MADV_DONTFORK);  // children do not need it, and a fork copies the entry of each of its pages
  slab.bytes = {static_cast<uint8_t*>(at), bytes};
  slab.free[0] = bytes;
  slabs_.push_back(std::move(slab));
  stats_.slabs = slabs_.size();
  stats_.slab_bytes += bytes;
  return {};
}

// Those that this thread has made, or another one has just made: whoever comes first. Gives the lock up for the kernel's wait.
void TableStore::insert_slabs(std::unique_lock<std::mutex>& lock) {
  for (uint32_t key = 0; key < slabs_.size(); ++key) {
    if (std::exchange(slabs_[key].inserted, true)) continue;
    const int fd = slabs_[key].fd.get();
    lock.unlock();
    const int error = ::bpf_map_update_elem(maps_.slabs_fd, &key, &fd, BPF_ANY) == 0 ? 0 : errno;
    lock.lock();
    if (error == 0) continue;
    // What is in it cannot be seen: it leaves, and nothing goes there any more.
    std::vector<uint32_t> lost;
    for (const auto& [image, extent] : tables_) {
      if (extent.slab == key) lost.push_back(image);
    }
    for (const uint32_t image : lost) unload_locked(image);
    std::erase_if(quarantine_, [&](const Quarantined& q) { return q.extent.slab == key; });
    slabs_[key].free.clear();
    slabs_[key].refused = errno_error(error, fmt::format("insert slab {} of unwind tables", key));
  }
}

void TableStore::release(const Extent& extent) {
  auto& free = slabs_[extent.slab].free;
  uint64_t begin = extent.begin, end = extent.end;
  auto next = free.lower_bound(begin);
  if (next != free.end() && next->first == end) {
    end = next->second;
    next = free.erase(next);
  }
  if (next != free.begin()) {
    const auto previous = std::prev(next);
    if (previous->second == begin) {
      begin = previous->first;
      free.erase(previous);
    }
  }
  free[begin] = end;
}

void TableStore::reap_quarantine() {
  const auto now = std::chrono::steady_clock::now();
  std::erase_if(quarantine_, [&](const Quarantined& q) {
    if (q.until > now) return false;
    release(q.extent);
    return true;
  });
}

bool TableStore::evict_one(uint32_t keep) {
  uint32_t victim = 0;
  uint64_t oldest = ~uint64_t{0};
  for (const auto& [image, extent] : tables_) {
    const uint64_t used = maps_.last_used.empty() ? 0 : maps_.last_used[image % maps_.last_used.size()];
    if (image != keep && used < oldest) {
      oldest = used;
      victim = image;
    }
  }
  if (victim == 0) return false;
  unload_locked(victim);
  ++stats_.evictions;
  return true;
}

}  // namespace cicada::bpf_source
