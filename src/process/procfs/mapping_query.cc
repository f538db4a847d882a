// SPDX-License-Identifier: Apache-2.0
#include "process/procfs/mapping_query.h"

#include <linux/limits.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <string_view>

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
constexpr size_t kMaxFields = 128;  // of a line, without its name
static_assert(MappingLines::kLeast > kMaxFields + 4 * PATH_MAX);

// As long as it fits.
size_t write_line(const Query& query, std::string_view name, char* to) {
  const auto flag = [&](uint64_t bit, char shown) { return (query.vma_flags & bit) != 0 ? shown : '-'; };
  auto size = static_cast<size_t>(std::snprintf(to, kMaxFields, "%lx-%lx %c%cx%c %08lx %02x:%02x %lu ", query.vma_start, query.vma_end,
                                                flag(kReadable, 'r'), flag(kWritable, 'w'), (query.vma_flags & kShared) != 0 ? 's' : 'p',
                                                query.vma_offset, query.dev_major, query.dev_minor, query.inode));
  const auto append = [&](std::string_view text) { size += text.copy(to + size, text.size()); };
  for (size_t newline; (newline = name.find('\n')) != std::string_view::npos; name.remove_prefix(newline + 1)) {
    append(name.substr(0, newline));
    append("\\012");
  }
  append(name);
  to[size++] = '\n';
  return size;
}

}  // namespace

ssize_t MappingLines::read(std::span<char> to) {
  if (queries_) {
    const ssize_t size = query(to);
    if (size >= 0 || errno != ENOTTY) return size;
    queries_ = false;
  }
  ssize_t size;
  do size = ::read(maps_fd_, to.data(), to.size());
  while (size < 0 && errno == EINTR);
  return size;
}

ssize_t MappingLines::query(std::span<char> to) {
  std::array<char, PATH_MAX> name;
  size_t used = 0;
  while (to.size() - used >= kLeast) {
    Query query{};
    query.size = sizeof query;
    query.query_flags = kOrNext | kExecutable;
    query.query_addr = from_;
    query.vma_name_size = name.size();
    query.vma_name_addr = reinterpret_cast<uintptr_t>(name.data());
    int done = ::ioctl(maps_fd_, kQuery, &query);
    const bool unnamed = done != 0 && errno == ENAMETOOLONG;
    if (unnamed) {
      query.vma_name_size = 0;
      query.vma_name_addr = 0;
      done = ::ioctl(maps_fd_, kQuery, &query);
    }
    if (done != 0 && errno == EINTR) continue;
    if (done != 0 && (errno == ENOENT || errno == ESRCH)) break;
    if (done != 0) return -1;
    const std::string_view known(name.data(), query.vma_name_size == 0 ? 0 : query.vma_name_size - 1);
    used += write_line(query, unnamed ? "(name too long)" : known, to.data() + used);
    from_ = query.vma_end;
  }
  return static_cast<ssize_t>(used);
}

}  // namespace cicada::process
