// SPDX-License-Identifier: Apache-2.0
#include "process/procfs/mapping_query.h"

#include <linux/limits.h>
#include <sys/ioctl.h>

#include <array>
#include <cerrno>

namespace cicada::process {
namespace {

// struct procmap_query; Debian 12's headers have none.
struct Query {
  uint64_t size, query_flags, query_addr;
  uint64_t vma_start, vma_end, vma_flags, vma_page_size, vma_offset;
  uint64_t inode;
  uint32_t dev_major, dev_minor, vma_name_size, build_id_size;
  uint64_t vma_name_addr, build_id_addr;
};
static_assert(sizeof(Query) == 104);
constexpr unsigned long kQuery = _IOWR('f', 17, Query);
constexpr uint64_t kReadable = 1, kWritable = 2, kExecutable = 4, kShared = 8, kOrNext = 16;

}  // namespace

Result<MapsFile> query_executable_mappings(int maps_fd) {
  MapsFile file;
  std::array<char, PATH_MAX> name;
  uint64_t from = 0;
  size_t bytes = 0;
  while (file.entries.size() < kMaxMapsEntries) {
    Query query{};
    query.size = sizeof query;
    query.query_flags = kOrNext | kExecutable;
    query.query_addr = from;
    query.vma_name_size = name.size();
    query.vma_name_addr = reinterpret_cast<uintptr_t>(name.data());
    int done = ::ioctl(maps_fd, kQuery, &query);
    const bool unnamed = done != 0 && errno == ENAMETOOLONG;
    if (unnamed) {
      query.vma_name_size = 0;
      query.vma_name_addr = 0;
      done = ::ioctl(maps_fd, kQuery, &query);
    }
    if (done != 0 && errno == EINTR) continue;
    if (done != 0 && (errno == ENOENT || errno == ESRCH)) return file;  // no more, or no memory any more: as the text is empty then
    if (done != 0 && errno == ENOTTY) return make_error(ErrorKind::kUnsupported, "PROCMAP_QUERY: not in this kernel");
    if (done != 0) return errno_error(errno, "PROCMAP_QUERY");
    MapsEntry entry;
    entry.range = {RuntimeAddr{query.vma_start}, RuntimeAddr{query.vma_end}};
    entry.offset = FileOffset{query.vma_offset};
    entry.file = {query.dev_major, query.dev_minor, query.inode, 0};
    entry.readable = query.vma_flags & kReadable;
    entry.writable = query.vma_flags & kWritable;
    entry.executable = true;
    entry.shared = query.vma_flags & kShared;
    entry.path = unnamed ? "(name too long)" : std::string(name.data(), query.vma_name_size == 0 ? 0 : query.vma_name_size - 1);
    entry.deleted = take_deleted(entry.path);
    bytes += entry.path.size();
    if (bytes > kMaxMapsBytes) return make_error(ErrorKind::kLimit, "names of mappings: more than {} bytes", kMaxMapsBytes);
    file.entries.push_back(std::move(entry));
    from = query.vma_end;
  }
  return make_error(ErrorKind::kLimit, "more than {} mappings", kMaxMapsEntries);
}

}  // namespace cicada::process
