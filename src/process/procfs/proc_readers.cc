// SPDX-License-Identifier: Apache-2.0
#include "process/procfs/proc_readers.h"

#include <fcntl.h>
#include <linux/limits.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <optional>

#include "base/left_behind.h"
#include "process/procfs/mapping_query.h"
#include "process/procfs/proc_fs.h"

namespace cicada::process {
namespace {

enum Request : uint64_t { kBegin, kNext };
constexpr uint64_t kMore = uint64_t{1} << 32;  // beside the number of bytes: it is not at the end

}  // namespace

// Between us and a child.
struct ProcReaders::Shared {
  Operation operation;
  uint64_t limit;  // in bytes
  std::array<char, PATH_MAX> path;
  std::array<char, 256 << 10> bytes;
};

struct ProcReaders::Reader {
  struct Unmap {
    void operator()(Shared* at) const { ::munmap(at, sizeof *at); }
  };
  std::unique_ptr<Shared, Unmap> shared;
  DisposableChildren::Conversation child;
  bool answers = true;
};

// The child.
void ProcReaders::serve(ChildEnd end, Shared& shared) {
  ::prctl(PR_SET_NAME, "cicada-proc");
  UniqueFd file;
  MappingLines lines(-1);
  uint64_t left = 0;
  for (uint64_t request = 0; end.hear(request);) {
    ChildAnswer answer;
    const Operation operation = shared.operation;
    if (request == kBegin) {
      const int flags = operation == Operation::kHandle ? O_PATH : O_RDONLY | O_NOCTTY | O_NONBLOCK;
      file.reset(::open(shared.path.data(), flags | O_CLOEXEC));
      if (!file) answer.error = errno;
      lines = MappingLines(file.get());
      left = shared.limit;
    }
    const size_t least = operation == Operation::kMaps ? MappingLines::kLeast : 1;
    size_t used = 0;
    while (file && operation != Operation::kHandle && shared.bytes.size() - used >= least) {
      const auto to = std::span(shared.bytes).subspan(used).first(std::min<uint64_t>(left, shared.bytes.size() - used));
      const ssize_t got = operation == Operation::kMaps ? lines.read(to) : ::read(file.get(), to.data(), to.size());
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) answer.error = errno;
      const size_t bytes = got < 0 ? 0 : static_cast<size_t>(got);
      used += bytes;
      left -= bytes;
      if (bytes == 0 || left < least) file.reset();
    }
    answer.number = used | (file ? kMore : 0);
    if (operation == Operation::kHandle) answer.fd = file.get();
    end.say(answer);
    if (operation == Operation::kHandle) file.reset();
  }
}

ProcReaders::ProcReaders(const Options& options) : kept_(options.kept), children_(options.timeout) {
  for (unsigned i = 0; i < kept_; ++i)
    if (auto reader = start(0)) idle_.push_back(std::move(*reader));
}

ProcReaders::~ProcReaders() = default;

size_t ProcReaders::idle() const {
  const std::lock_guard lock(mutex_);
  return idle_.size();
}

Result<std::unique_ptr<ProcReaders::Reader>> ProcReaders::start(uint32_t owner) {
  void* const memory = ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return errno_error(errno, "memory of a reader");
  std::unique_ptr<Shared, Reader::Unmap> shared(static_cast<Shared*>(memory));
  auto child = TRY(children_.start(owner, {}, [&shared](ChildEnd end) { serve(end, *shared); }));
  return std::unique_ptr<Reader>(new Reader{std::move(shared), std::move(child)});
}

Result<std::unique_ptr<ProcReaders::Reader>> ProcReaders::take(uint32_t owner, const std::stop_token& stop) {
  if (!LeftBehind::all().has_room(owner)) return make_error(ErrorKind::kLimit, "too much of user {} does not answer", owner);
  std::unique_lock lock(mutex_);
  if (!returned_.wait(lock, stop, [&] { return busy_[owner] < kMaxOfOwner; }) || stop.stop_requested()) return make_error(ErrorKind::kIo, "not read before the end");
  ++busy_[owner];
  std::unique_ptr<Reader> reader;
  if (!idle_.empty()) {
    reader = std::move(idle_.back());
    idle_.pop_back();
    return reader;
  }
  lock.unlock();
  auto started = start(owner);
  if (!started) give_back(owner, nullptr);
  return started;
}

void ProcReaders::give_back(uint32_t owner, std::unique_ptr<Reader> reader) {
  {
    const std::lock_guard lock(mutex_);
    const auto busy = busy_.find(owner);
    if (--busy->second == 0) busy_.erase(busy);
    if (reader && reader->answers && idle_.size() < kept_) idle_.push_back(std::move(reader));
  }
  returned_.notify_all();
}

Result<UniqueFd> ProcReaders::ask(uint32_t owner, Operation operation, const std::string& path, uint64_t limit, const std::stop_token& stop,
                                  const TakePart& take_part) {
  if (path.size() >= PATH_MAX) return errno_error(ENAMETOOLONG, fmt::format("open {}", path));
  for (bool again = true;; again = false) {
    auto reader = TRY(take(owner, stop));
    reader->child.set_owner(owner);
    reader->shared->operation = operation;
    reader->shared->limit = limit;
    std::memcpy(reader->shared->path.data(), path.c_str(), path.size() + 1);
    auto first = reader->child.ask(kBegin, stop);
    const bool ended = !first;  // it was ended while it was idle
    auto heard = hear(*reader, std::move(first), path, stop, take_part);
    give_back(owner, std::move(reader));
    if (!ended || !again) return heard;
  }
}

Result<UniqueFd> ProcReaders::hear(Reader& reader, Result<std::optional<DisposableChildren::Answer>> answer, const std::string& path,
                                   const std::stop_token& stop, const TakePart& take_part) {
  const Shared& shared = *reader.shared;
  for (;; answer = reader.child.ask(kNext, stop)) {
    reader.answers = answer && *answer;
    if (!answer) return make_error(ErrorKind::kIo, "{}: {}", path, answer.error().message());
    if (!*answer && stop.stop_requested()) return make_error(ErrorKind::kIo, "{}: not read before the end", path);
    if (!*answer) return ++abandoned_, make_error(ErrorKind::kIo, "{}: the kernel does not answer", path);
    if (const int error = (*answer)->error; error == ENOENT && shared.operation != Operation::kHandle)
      return make_error(ErrorKind::kGone, "open {}: no such process", path);
    else if (error != 0)
      return errno_error(error, fmt::format("read {}", path));
    if (shared.operation == Operation::kHandle) return std::move((*answer)->fd);
    TRY(take_part({shared.bytes.data(), std::min<size_t>((*answer)->number & (kMore - 1), shared.bytes.size())}));
    if (((*answer)->number & kMore) == 0) return UniqueFd();
  }
}

Result<std::string> ProcReaders::read_file(uint32_t owner, const std::string& path, size_t limit, const std::stop_token& stop) {
  std::string text;
  TRY(ask(owner, Operation::kRead, path, limit, stop, [&](std::string_view part) { return text.append(part), Result<void>(); }));
  return text;
}

Result<MapsFile> ProcReaders::read_maps(Pid pid, const std::stop_token& stop) {
  const uint32_t owner = owner_of(pid);
  const auto read_of = [&](Tid tid) -> Result<MapsFile> {
    const std::string path = fmt::format("/proc/{}/maps", tid);
    MapsText text(path, MapsFilter::kExecutable);
    TRY(ask(owner, Operation::kMaps, path, kMaxMapsBytes + MappingLines::kLeast, stop, [&](std::string_view part) { return text.append(part); }));
    return text.finish();
  };
  return read_maps_by(pid, read_of);
}

Result<UniqueFd> ProcReaders::open_handle(uint32_t owner, const std::string& path, const std::stop_token& stop) {
  return ask(owner, Operation::kHandle, path, 0, stop, [](std::string_view) { return Result<void>(); });
}

}  // namespace cicada::process
