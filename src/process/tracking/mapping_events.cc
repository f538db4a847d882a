// SPDX-License-Identifier: Apache-2.0
// Reads perf rings in place. A record may wrap around the end of its ring: only then it is copied, into a scratch of the ring's.
//
// Every record ends with the sample_id trailer {pid, tid, time, cpu, res} (sample_id_all), so its time is found without knowing
// its kind. Source: include/uapi/linux/perf_event.h.
#include "process/tracking/mapping_events.h"

#include <linux/perf_event.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

#include "base/byte_cursor.h"
#include "base/cpu_list.h"

namespace cicada::process {
namespace {

constexpr uint64_t kTrailerBytes = 24;
constexpr uint64_t kPageBytes = 4096;

perf_event_attr dummy_event(const MappingEvents::Options& options) {
  perf_event_attr attr{};
  attr.size = sizeof attr;
  attr.type = PERF_TYPE_SOFTWARE;
  attr.config = PERF_COUNT_SW_DUMMY;
  attr.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU;
  attr.sample_id_all = 1;
  attr.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED;
  attr.mmap = 1;
  attr.mmap2 = 1;
  attr.comm = 1;
  attr.comm_exec = 1;
  attr.task = 1;
  attr.use_clockid = 1;
  attr.clockid = CLOCK_MONOTONIC;
  attr.watermark = 1;
  attr.wakeup_watermark = options.wakeup_bytes;
  return attr;
}

struct Unmap {
  size_t bytes;
  void operator()(void* at) const { ::munmap(at, bytes); }
};

}  // namespace

class MappingEvents::Ring {
 public:
  static Result<Ring> open(int cpu, const Options& options) {
    perf_event_attr attr = dummy_event(options);
    Ring ring;
    ring.cpu_ = cpu;
    ring.fd_.reset(static_cast<int>(::syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC)));
    if (!ring.fd_) return errno_error(errno, fmt::format("perf event for mappings on CPU {}", cpu));
    const size_t bytes = (size_t{1} + options.ring_pages) * kPageBytes;
    void* at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, ring.fd_.get(), 0);
    if (at == MAP_FAILED) return errno_error(errno, fmt::format("ring of the mapping events on CPU {} ({} KiB)", cpu, bytes >> 10));
    ring.map_ = std::unique_ptr<void, Unmap>(at, Unmap{bytes});
    return ring;
  }

  int cpu() const { return cpu_; }
  int fd() const { return fd_.get(); }
  bool gone() const { return gone_; }
  // The kernel takes an event away with its CPU and does not bring it back: its time stands still. What is in the ring stays there.
  void look_whether_gone() {
    uint64_t count_and_time[2] = {0, seen_enabled_ns_};
    [[maybe_unused]] const ssize_t got = ::read(fd_.get(), count_and_time, sizeof count_and_time);
    gone_ = gone_ || count_and_time[1] == seen_enabled_ns_;
    seen_enabled_ns_ = count_and_time[1];
  }
  void begin() { head_ = __atomic_load_n(&page()->data_head, __ATOMIC_ACQUIRE); }
  void release() { __atomic_store_n(&page()->data_tail, tail_, __ATOMIC_RELEASE); }

  // The next record's header and time. False: none, or nonsense (then the ring is emptied).
  bool peek(MappingEventCounts& counts) {
    if (tail_ == head_) return false;
    perf_event_header header{};
    copy(tail_, &header, sizeof header);
    if (header.size < sizeof header + kTrailerBytes || header.size > head_ - tail_) {
      ++counts.malformed;
      tail_ = head_;
      return false;
    }
    type_ = header.type;
    misc_ = header.misc;
    size_ = header.size;
    copy(tail_ + size_ - kTrailerBytes + 8, &time_ns_, sizeof time_ns_);
    return true;
  }
  uint64_t time_ns() const { return time_ns_; }
  uint32_t type() const { return type_; }
  uint16_t misc() const { return misc_; }
  void pop() { tail_ += size_; }
  // What stands between header and trailer; valid until release().
  Bytes body() {
    const uint64_t begin = tail_ + sizeof(perf_event_header);
    const uint64_t bytes = size_ - sizeof(perf_event_header) - kTrailerBytes;
    const uint64_t at = begin & (size() - 1);
    if (at + bytes <= size()) return {data() + at, bytes};
    scratch_.resize(0x10000);
    copy(begin, scratch_.data(), bytes);
    return {scratch_.data(), bytes};
  }

 private:
  perf_event_mmap_page* page() const { return static_cast<perf_event_mmap_page*>(map_.get()); }
  const uint8_t* data() const { return static_cast<const uint8_t*>(map_.get()) + kPageBytes; }
  uint64_t size() const { return map_.get_deleter().bytes - kPageBytes; }
  void copy(uint64_t from, void* to, uint64_t bytes) const {
    const uint64_t at = from & (size() - 1);
    const uint64_t first = std::min(bytes, size() - at);
    std::memcpy(to, data() + at, first);
    std::memcpy(static_cast<uint8_t*>(to) + first, data(), bytes - first);
  }

  int cpu_ = 0;
  bool gone_ = false;
  uint64_t seen_enabled_ns_ = 0;
  UniqueFd fd_;
  std::unique_ptr<void, Unmap> map_{nullptr, Unmap{0}};
  uint64_t head_ = 0, tail_ = 0;
  uint64_t time_ns_ = 0;
  uint32_t type_ = 0;
  uint16_t misc_ = 0;
  uint64_t size_ = 0;
  std::vector<uint8_t> scratch_;
};

MappingEvents::MappingEvents() = default;
MappingEvents::MappingEvents(MappingEvents&&) noexcept = default;
MappingEvents& MappingEvents::operator=(MappingEvents&&) noexcept = default;
MappingEvents::~MappingEvents() = default;

Result<MappingEvents> MappingEvents::open(const Options& options) {
  CHECK(options.ring_pages != 0 && (options.ring_pages & (options.ring_pages - 1)) == 0);
  MappingEvents events;
  events.options_ = options;
  events.epoll_.reset(::epoll_create1(EPOLL_CLOEXEC));
  if (!events.epoll_) return errno_error(errno, "epoll for mapping events");
  TRY(events.follow_cpus());
  return events;
}

Result<void> MappingEvents::follow_cpus() {
  const bool first = rings_.empty();
  for (Ring& ring : rings_) {
    if (ring.gone()) continue;
    ring.look_whether_gone();
    if (ring.gone()) ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, ring.fd(), nullptr);
  }
  for (const int cpu : TRY(online_cpus())) {
    const bool known = std::any_of(rings_.begin(), rings_.end(), [&](const Ring& ring) { return ring.cpu() == cpu && !ring.gone(); });
    if (known) continue;
    TRY(add_cpu(cpu));
    if (!first) ++came_online_;
  }
  return {};
}

Result<void> MappingEvents::add_cpu(int cpu) {
  Ring ring = TRY(Ring::open(cpu, options_));
  epoll_event interest{};
  interest.events = EPOLLIN;
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, ring.fd(), &interest) != 0) return errno_error(errno, "epoll for mapping events");
  rings_.push_back(std::move(ring));
  return {};
}

namespace {

// Everything but the name. False: a kind nobody asks for, or malformed.
bool decode(uint32_t type, uint16_t misc, ByteCursor& body, MappingEvent& event) {
  switch (type) {
    case PERF_RECORD_MMAP2: {
      event.kind = MappingEventKind::kMap;
      event.pid = body.s32();
      event.tid = body.s32();
      event.range.begin = RuntimeAddr(body.u64());
      const uint64_t length = body.u64();
      event.range.end = event.range.begin + std::min(length, ~uint64_t{0} - event.range.begin.value);
      event.offset = FileOffset(body.u64());
      event.file.major = body.u32();
      event.file.minor = body.u32();
      event.file.inode = body.u64();
      event.file.generation = body.u64();
      body.skip(8);  // prot, flags
      return !body.failed() && (misc & PERF_RECORD_MISC_MMAP_BUILD_ID) == 0;
    }
    case PERF_RECORD_COMM:
      event.kind = (misc & PERF_RECORD_MISC_COMM_EXEC) != 0 ? MappingEventKind::kExec : MappingEventKind::kComm;
      event.pid = body.s32();
      event.tid = body.s32();
      return !body.failed();
    case PERF_RECORD_FORK:
    case PERF_RECORD_EXIT:
      event.kind = type == PERF_RECORD_FORK ? MappingEventKind::kThreadFork : MappingEventKind::kThreadExit;
      event.pid = body.s32();
      event.parent_pid = body.s32();
      event.tid = body.s32();
      event.parent_tid = body.s32();
      return !body.failed();
    default: return false;
  }
}

}  // namespace

uint64_t MappingEvents::drain(uint64_t until_ns, const Wants& wants, const Consumer& consumer) {
  uint64_t lost = 0;
  for (Ring& ring : rings_) ring.begin();
  for (;;) {
    // A linear search for the oldest head: rings are as many as CPUs, and most are empty most of the time.
    Ring* oldest = nullptr;
    for (Ring& ring : rings_) {
      if (ring.peek(counts_) && ring.time_ns() <= until_ns && (oldest == nullptr || ring.time_ns() < oldest->time_ns())) oldest = &ring;
    }
    if (oldest == nullptr) break;
    ByteCursor body(oldest->body());
    if (oldest->type() == PERF_RECORD_LOST) {
      body.skip(8);
      lost += body.u64();
      oldest->pop();
      continue;
    }
    MappingEvent event;
    event.time_ns = oldest->time_ns();
    event.cpu = static_cast<uint32_t>(oldest->cpu());
    if (!decode(oldest->type(), oldest->misc(), body, event)) {
      if (body.failed()) ++counts_.malformed;
    } else if (!wants(event)) {
      ++counts_.unwanted;
    } else {
      if (event.kind != MappingEventKind::kThreadFork && event.kind != MappingEventKind::kThreadExit) event.name = body.c_string();
      if (event.time_ns < delivered_until_ns_) ++counts_.late;
      delivered_until_ns_ = std::max(delivered_until_ns_, event.time_ns);
      ++counts_.delivered;
      consumer(event);
    }
    oldest->pop();
  }
  for (Ring& ring : rings_) ring.release();
  counts_.lost += lost;
  return lost + std::exchange(came_online_, 0);
}

}  // namespace cicada::process
