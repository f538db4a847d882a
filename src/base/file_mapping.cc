// SPDX-License-Identifier: Apache-2.0
// Why a signal handler: between mmap and a read, the owner of the file may truncate it, and the read raises SIGBUS. There is
// no other way to survive that with a mapping, and reading a 200 MB library with pread costs more than building its table.
// The handler knows every live mapping; a fault inside one is answered by an anonymous zero page at that address, so the
// parser sees zeros, which every parser here treats as a malformed file. A fault elsewhere is raised again with the default
// action.
#include "base/file_mapping.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <mutex>

namespace cicada {
namespace {

struct Slot {
  std::atomic<uintptr_t> begin{0};
  std::atomic<uintptr_t> end{0};
  size_t pieces = 0;  // that cover its holes; under the mutex
};
constexpr size_t kSlots = 4096;
std::array<Slot, kSlots> g_slots;
std::atomic<size_t> g_slots_used{0};
std::mutex g_slots_mutex;
// Each is a mapping, of which a process may have 65,530 (vm.max_map_count).
constexpr size_t kMaxPiecesOfAll = 4 * FileMapping::kMaxPieces;
std::atomic<size_t> g_pieces{0};

void on_sigbus(int signal, siginfo_t* info, void*) {
  const auto at = reinterpret_cast<uintptr_t>(info->si_addr);
  const size_t used = g_slots_used.load(std::memory_order_acquire);
  for (size_t i = 0; i < used; ++i) {
    if (at < g_slots[i].begin.load(std::memory_order_relaxed) || at >= g_slots[i].end.load(std::memory_order_relaxed)) continue;
    const uintptr_t page = at & ~uintptr_t{4095};
    void* got = ::mmap(reinterpret_cast<void*>(page), 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    if (got != MAP_FAILED) return;
  }
  ::signal(signal, SIG_DFL);
}

bool guard(uintptr_t begin, uintptr_t end) {
  static std::once_flag installed;
  std::call_once(installed, [] {
    struct sigaction action {};
    action.sa_sigaction = on_sigbus;
    action.sa_flags = SA_SIGINFO | SA_NODEFER;
    ::sigaction(SIGBUS, &action, nullptr);
  });
  const std::lock_guard lock(g_slots_mutex);
  for (size_t i = 0; i < kSlots; ++i) {
    if (g_slots[i].begin.load(std::memory_order_relaxed) != 0) continue;
    g_slots[i].end.store(end, std::memory_order_relaxed);
    g_slots[i].begin.store(begin, std::memory_order_relaxed);
    if (i >= g_slots_used.load()) g_slots_used.store(i + 1, std::memory_order_release);
    return true;
  }
  return false;
}

// `begin` is guarded.
void note_pieces(uintptr_t begin, size_t pieces) {
  const std::lock_guard lock(g_slots_mutex);
  for (Slot& slot : g_slots)
    if (slot.begin.load(std::memory_order_relaxed) == begin) slot.pieces = pieces;
}

void unguard(uintptr_t begin) {
  const std::lock_guard lock(g_slots_mutex);
  for (Slot& slot : g_slots) {
    if (slot.begin.load(std::memory_order_relaxed) == begin) {
      g_pieces -= slot.pieces;
      slot.pieces = 0;
      slot.begin.store(0, std::memory_order_relaxed);
      slot.end.store(0, std::memory_order_relaxed);
      return;
    }
  }
}

constexpr uint64_t kPage = 4096;

uint64_t allocated_bytes(const struct stat& st) { return static_cast<uint64_t>(st.st_blocks) * 512; }

// The kernel makes a page of memory of each page of a hole that is read. So a piece of one hole is read for all of them: it is mapped wherever there
// are holes. (Private memory that is only read is one page for all on most machines, but not on all: 6.18 below a hypervisor that keeps the page tables.)
class Holes {
 public:
  Holes(int fd, uint8_t* at, uint64_t size) : fd_(fd), at_(at), size_(size) {}

  Result<void> cover(const std::string& name) {
    uint64_t position = 0;
    for (int holes = 0; position < size_; ++holes) {
      if (holes == FileMapping::kMaxPieces) return too_many(name);
      const off_t hole = ::lseek(fd_, static_cast<off_t>(position), SEEK_HOLE);
      if (hole < 0 || static_cast<uint64_t>(hole) >= size_) break;  // or a file system that knows nothing of holes
      const off_t data = ::lseek(fd_, hole, SEEK_DATA);
      position = data < 0 ? size_ : std::min(size_, static_cast<uint64_t>(data));
      const uint64_t begin = (static_cast<uint64_t>(hole) + kPage - 1) & ~(kPage - 1);
      const uint64_t end = position & ~(kPage - 1);
      if (end >= begin + FileMapping::kLeastHole) TRY(cover(begin, end, name));
    }
    return {};
  }
  size_t pieces() const { return pieces_; }

 private:
  static constexpr uint64_t kMaxPiece = 1 << 20;

  static Error too_many(const std::string& name) { return make_error(ErrorKind::kLimit, "{}: in more than {} pieces", name, FileMapping::kMaxPieces); }

  Result<void> cover(uint64_t begin, uint64_t end, const std::string& name) {
    if (end - begin >= 2 * piece_ && piece_ < kMaxPiece) {
      source_ = begin;
      piece_ = std::min(end - begin, kMaxPiece);
      begin += piece_;  // it is there already
    }
    for (uint64_t length = 0; begin < end; begin += length) {
      length = std::min(piece_, end - begin);
      if (pieces_ == FileMapping::kMaxPieces || g_pieces.load() >= kMaxPiecesOfAll) return too_many(name);
      ++pieces_;
      ++g_pieces;
      if (::mmap(at_ + begin, length, PROT_READ, MAP_PRIVATE | MAP_FIXED, fd_, static_cast<off_t>(source_)) == MAP_FAILED)
        return errno_error(errno, fmt::format("mmap {}", name));
    }
    return {};
  }

  const int fd_;
  uint8_t* const at_;
  const uint64_t size_;
  uint64_t source_ = 0, piece_ = 0;
  size_t pieces_ = 0;
};

}  // namespace

uint64_t existing_bytes(int fd) {
  struct stat st {};
  return ::fstat(fd, &st) == 0 ? std::min(static_cast<uint64_t>(st.st_size), allocated_bytes(st)) : 0;
}

Result<UniqueFd> open_regular(const std::string& path) {
  const UniqueFd handle(::open(path.c_str(), O_PATH | O_CLOEXEC));
  if (!handle) return errno_error(errno, fmt::format("open {}", path));
  return reopen_regular(handle, path);
}

Result<UniqueFd> reopen_regular(const UniqueFd& handle, const std::string& path) {
  struct stat st {};
  if (::fstat(handle.get(), &st) != 0) return errno_error(errno, fmt::format("stat {}", path));
  if (!S_ISREG(st.st_mode)) return make_error(ErrorKind::kInvalid, "{}: not a regular file", path);
  UniqueFd fd(::open(fmt::format("/proc/self/fd/{}", handle.get()).c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!fd) return errno_error(errno, fmt::format("open {}", path));
  return fd;
}

Result<FileMapping> FileMapping::open(const std::string& path) {
  const UniqueFd fd = TRY(open_regular(path));
  return map(fd.get(), path);
}

Result<FileMapping> FileMapping::map(int fd, const std::string& name) {
  struct stat st {};
  if (::fstat(fd, &st) != 0) return errno_error(errno, fmt::format("stat {}", name));
  if (!S_ISREG(st.st_mode)) return make_error(ErrorKind::kInvalid, "{}: not a regular file", name);
  const auto size = static_cast<uint64_t>(st.st_size);
  if (size > kMaxBytes) return make_error(ErrorKind::kLimit, "{}: {} bytes, more than cicada reads ({})", name, size, kMaxBytes);
  FileMapping file;
  if (size == 0) return file;
  if (size <= kCopyLimit) {
    auto* copy = new uint8_t[size];
    file.bytes_ = Bytes(copy, size);
    uint64_t done = 0;
    while (done < size) {
      const ssize_t n = ::pread(fd, copy + done, size - done, static_cast<off_t>(done));
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return errno_error(errno, fmt::format("read {}", name));
      if (n == 0) break;
      done += static_cast<uint64_t>(n);
    }
    file.bytes_ = file.bytes_.first(done);
    return file;
  }
  void* at = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
  if (at == MAP_FAILED) return errno_error(errno, fmt::format("mmap {}", name));
  file.bytes_ = Bytes(static_cast<const uint8_t*>(at), size);
  file.mapped_ = true;
  const auto begin = reinterpret_cast<uintptr_t>(at);
  if (!guard(begin, begin + ((size + 4095) & ~uint64_t{4095}))) {
    return make_error(ErrorKind::kLimit, "{}: more than {} files mapped at once", name, kSlots);
  }
  if (allocated_bytes(st) + kLeastHole <= size) {
    Holes holes(fd, static_cast<uint8_t*>(at), size);
    const Result<void> covered = holes.cover(name);
    note_pieces(begin, holes.pieces());
    TRY(covered);
  }
  return file;
}

FileMapping::FileMapping(FileMapping&& other) noexcept { *this = std::move(other); }

FileMapping& FileMapping::operator=(FileMapping&& other) noexcept {
  std::swap(bytes_, other.bytes_);
  std::swap(mapped_, other.mapped_);
  return *this;
}

void FileMapping::drop_pages() const {
  if (mapped_) ::madvise(const_cast<uint8_t*>(bytes_.data()), bytes_.size(), MADV_DONTNEED);
}

FileMapping::~FileMapping() {
  if (mapped_) {
    unguard(reinterpret_cast<uintptr_t>(bytes_.data()));
    ::munmap(const_cast<uint8_t*>(bytes_.data()), bytes_.size());
  } else {
    delete[] bytes_.data();
  }
}

}  // namespace cicada
