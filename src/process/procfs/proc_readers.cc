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
#include <cstdio>
#include <cstring>
#include <optional>

#include "base/left_behind.h"
#include "base/monotonic_clock.h"
#include "process/procfs/mapping_query.h"
#include "process/procfs/proc_fs.h"

namespace cicada::process {
namespace {

enum Request : uint64_t { kBegin, kNext };
constexpr uint64_t kMore = uint64_t{1} << 32;  // beside the number of segments: it is not at the end
constexpr uint64_t kPartNs = 50'000'000;       // a part ends with the file that was read then, so that who asked sees progress

Error error_of(int error, const std::string& path) {
  return error == ENOENT ? make_error(ErrorKind::kGone, "open {}: no such process", path)
                         : errno_error(error, fmt::format("read {}", path));
}

}  // namespace

// Bytes of one file, which follow those of the one before.
struct ProcReaders::Segment {
  uint32_t bytes;
  int32_t error;  // errno, at its end
  bool end;
};

// Between us and a child.
struct ProcReaders::Shared {
  Operation operation;
  uint32_t count;  // of files: pids, or one
  uint64_t limit;
  std::array<Pid, kMaxPids> pids;
  std::array<char, PATH_MAX> path;
  std::array<Segment, kMaxPids> segments;
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
  uint32_t next = 0;  // of the files
  uint64_t left = 0;
  for (uint64_t request = 0; end.hear(request);) {
    const bool maps = shared.operation == Operation::kMaps;
    if (request == kBegin) {
      file.reset();
      next = 0;
    }
    ChildAnswer answer;
    if (shared.operation == Operation::kHandle) {
      file.reset(::open(shared.path.data(), O_PATH | O_CLOEXEC));
      answer.fd = file.get();
      if (!file) answer.error = errno;
      end.say(answer);
      file.reset();
      continue;
    }
    const size_t least = maps ? MappingLines::kLeast : 1;
    const uint64_t began_ns = monotonic_ns();
    size_t used = 0;
    while (next < shared.count && shared.bytes.size() - used >= least && (used == 0 || monotonic_ns() < began_ns + kPartNs)) {
      Segment& segment = shared.segments[answer.number++];
      segment = {};
      if (!file) {
        if (maps) std::snprintf(shared.path.data(), shared.path.size(), "/proc/%d/maps", shared.pids[next]);
        file.reset(::open(shared.path.data(), O_RDONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC));
        lines = MappingLines(file.get());
        left = shared.limit;
        if (!file) segment = {0, errno, true};
      }
      while (!segment.end && shared.bytes.size() - used >= least) {
        const auto to = std::span(shared.bytes).subspan(used).first(std::min<uint64_t>(left, shared.bytes.size() - used));
        const ssize_t got = maps ? lines.read(to) : ::read(file.get(), to.data(), to.size());
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) segment.error = errno;
        const size_t bytes = got < 0 ? 0 : static_cast<size_t>(got);
        used += bytes;
        left -= bytes;
        segment.bytes += static_cast<uint32_t>(bytes);
        segment.end = bytes == 0 || left < least;
      }
      if (!segment.end) continue;
      file.reset();
      ++next;
    }
    if (next < shared.count) answer.number |= kMore;
    end.say(answer);
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
  if (stop.stop_requested()) return make_error(ErrorKind::kIo, "not read before the end");
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

Result<UniqueFd> ProcReaders::ask(uint32_t owner, const Question& question, const std::stop_token& stop, const TakePart& take_part) {
  const size_t path = std::strlen(question.path);
  if (path >= PATH_MAX) return errno_error(ENAMETOOLONG, "open");
  CHECK(question.pids.size() <= kMaxPids);
  for (bool again = true;; again = false) {
    auto reader = TRY(take(owner, stop));
    reader->child.set_owner(owner);
    Shared& shared = *reader->shared;
    shared.operation = question.operation;
    shared.limit = question.limit;
    shared.count = question.operation == Operation::kMaps ? static_cast<uint32_t>(question.pids.size()) : 1;
    std::copy(question.pids.begin(), question.pids.end(), shared.pids.begin());
    std::memcpy(shared.path.data(), question.path, path + 1);
    auto first = reader->child.ask(kBegin, stop);
    const bool ended = !first;  // it was ended while it was idle
    auto heard = hear(*reader, std::move(first), stop, take_part);
    give_back(owner, std::move(reader));
    if (!ended || !again) return heard;
  }
}

Result<UniqueFd> ProcReaders::hear(Reader& reader, Result<std::optional<DisposableChildren::Answer>> answer, const std::stop_token& stop,
                                   const TakePart& take_part) {
  const Shared& shared = *reader.shared;
  for (;; answer = reader.child.ask(kNext, stop)) {
    reader.answers = answer && *answer;
    if (!answer) return answer.error();
    if (!*answer && stop.stop_requested()) return make_error(ErrorKind::kIo, "not read before the end");
    if (!*answer) return ++abandoned_, make_error(ErrorKind::kIo, "{}: the kernel does not answer", shared.path.data());
    if ((*answer)->error != 0) return errno_error((*answer)->error, fmt::format("open {}", shared.path.data()));
    if (shared.operation == Operation::kHandle) return std::move((*answer)->fd);
    std::string_view bytes(shared.bytes.data(), shared.bytes.size());
    for (const Segment& segment : std::span(shared.segments).first(std::min<size_t>((*answer)->number & (kMore - 1), kMaxPids))) {
      const size_t size = std::min<size_t>(segment.bytes, bytes.size());
      TRY(take_part(segment, bytes.substr(0, size)));
      bytes.remove_prefix(size);
    }
    if (((*answer)->number & kMore) == 0) return UniqueFd();
  }
}

Result<std::string> ProcReaders::read_file(uint32_t owner, const std::string& path, size_t limit, const std::stop_token& stop) {
  std::string text;
  TRY(ask(owner, {Operation::kRead, limit, path.c_str(), {}}, stop, [&](const Segment& segment, std::string_view part) -> Result<void> {
    text.append(part);
    if (segment.error != 0) return error_of(segment.error, path);
    return {};
  }));
  return text;
}

// They are read one after the other: where there is no answer, it is the first that is not done that gives none.
std::vector<Result<MapsFile>> ProcReaders::read_maps(uint32_t owner, std::span<const Pid> pids, const std::stop_token& stop) {
  std::vector<Result<MapsFile>> read;
  const auto path = [&] { return fmt::format("/proc/{}/maps", pids[read.size()]); };
  while (read.size() < pids.size()) {
    const size_t before = read.size();
    std::optional<MapsText> text;
    Result<void> fits;
    const auto take_part = [&](const Segment& segment, std::string_view part) -> Result<void> {
      if (!text) {
        text.emplace(path(), MapsFilter::kExecutable);
        fits = {};
      }
      if (fits) fits = text->append(part);
      if (!segment.end) return {};
      if (segment.error != 0)
        read.emplace_back(error_of(segment.error, path()));
      else
        read.push_back(fits ? Result<MapsFile>(text->finish()) : fits.error());
      text.reset();
      return {};
    };
    const auto asked = ask(owner, {Operation::kMaps, kMaxMapsBytes + MappingLines::kLeast, "", pids.subspan(before)}, stop, take_part);
    if (!asked) read.emplace_back(asked.error());
    CHECK(read.size() > before);
  }
  for (size_t i = 0; i < pids.size(); ++i) {
    if (!read[i] || !read[i]->entries.empty()) continue;
    const Tid thread = thread_with_memory(pids[i]);
    if (thread != pids[i]) read[i] = std::move(read_maps(owner, std::span(&thread, 1), stop).front());
  }
  return read;
}

Result<UniqueFd> ProcReaders::open_handle(uint32_t owner, const std::string& path, const std::stop_token& stop) {
  return ask(owner, {Operation::kHandle, 0, path.c_str(), {}}, stop, [](const Segment&, std::string_view) { return Result<void>(); });
}

}  // namespace cicada::process
