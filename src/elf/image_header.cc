// SPDX-License-Identifier: Apache-2.0
// Program headers first: they are beside the file's header, and so are the notes. Go's linker leaves the build-id's
// note out of them, so sections are looked at when there is none.
#include "elf/image_header.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "elf/elf_records.h"

namespace cicada::elf {
namespace {

constexpr uint64_t kPageBytes = 4096;

class HeaderReader {
 public:
  explicit HeaderReader(const ReadAt& file) : file_(file) {}
  // What the file has of it. Fails: kLimit, the system's error.
  Result<std::vector<uint8_t>> read_some(uint64_t offset, uint64_t size) {
    if (size > left_)
      return make_error(ErrorKind::kLimit, "its ELF header has more than {} MiB", kMaxHeaderBytes >> 20);
    left_ -= size;
    std::vector<uint8_t> bytes(size);
    uint64_t done = 0;
    while (done < size) {
      const size_t got = TRY(file_(offset + done, std::span(bytes).subspan(done)));
      if (got == 0) break;
      done += got;
    }
    bytes.resize(done);
    return bytes;
  }
  // Fails: kCorrupt (not all of it is in the file), and like read_some.
  Result<std::vector<uint8_t>> read(uint64_t offset, uint64_t size) {
    auto bytes = TRY(read_some(offset, size));
    if (bytes.size() < size) return make_error(ErrorKind::kCorrupt, "its ELF header is out of the file");
    return bytes;
  }
  // Of `count` entries of `entry` bytes, which are `least` at least.
  Result<std::vector<uint8_t>> read_table(uint64_t offset, uint64_t count, uint64_t entry, uint64_t least) {
    if (count == 0) return std::vector<uint8_t>();
    if (entry < least) return make_error(ErrorKind::kCorrupt, "its ELF tables have entries of {} bytes", entry);
    return read(offset, count > kMaxHeaderBytes ? count : count * entry);
  }
  std::string read_build_id(FileOffset offset, uint64_t size) {
    const auto notes = read(offset.value, size);
    return notes ? find_build_id(*notes) : std::string();
  }

 private:
  const ReadAt& file_;
  uint64_t left_ = kMaxHeaderBytes;
};

}  // namespace

ReadAt by_pread(int fd) {
  return [fd](uint64_t offset, std::span<uint8_t> to) -> Result<size_t> {
    for (;;) {
      const ssize_t got = ::pread(fd, to.data(), to.size(), static_cast<off_t>(offset));
      if (got >= 0) return static_cast<size_t>(got);
      if (errno == EINVAL) return size_t{0};  // an offset that no file has
      if (errno != EINTR) return errno_error(errno, "read");
    }
  };
}

Result<ImageHeader> read_image_header(const ReadAt& read_at) {
  HeaderReader file(read_at);
  const auto first = TRY(file.read_some(0, sizeof(Elf64_Ehdr)));
  FileHeader header = TRY(parse_file_header(first, "file"));
  uint32_t name = 0;
  if (header.needs_first_section()) {
    const auto bytes = TRY(file.read(header.section_table, sizeof(Elf64_Shdr)));
    ByteCursor cursor(bytes);
    header.take_counts(read_section(cursor, name));
  }
  ImageHeader image;
  image.type = header.type;
  const auto segments =
      TRY(file.read_table(header.segment_table, header.segment_count, header.segment_size, sizeof(Elf64_Phdr)));
  for (uint64_t at = 0; at < segments.size(); at += header.segment_size) {
    ByteCursor cursor(segments, at);
    const Segment segment = read_segment(cursor);
    if (segment.type == PT_LOAD && segment.file_size > 0) image.loaded.push_back(segment);
    if (segment.type == PT_NOTE && image.build_id.empty())
      image.build_id = file.read_build_id(segment.offset, segment.file_size);
  }
  if (image.loaded.size() > ImageHeader::kMaxLoaded)
    return make_error(ErrorKind::kLimit, "it has {} segments to be loaded", image.loaded.size());
  if (!image.build_id.empty()) return image;
  const auto sections =
      file.read_table(header.section_table, header.section_count, header.section_size, sizeof(Elf64_Shdr));
  for (uint64_t at = 0; sections && at < sections->size() && image.build_id.empty(); at += header.section_size) {
    ByteCursor cursor(*sections, at);
    const Section section = read_section(cursor, name);
    if (section.type == SHT_NOTE) image.build_id = file.read_build_id(section.offset, section.size);
  }
  return image;
}

// Neighbouring segments share a file page when the linker packs them (lld, `ld -z noseparate-code`): that page is
// mapped twice, at two distances from the link address. Those who ask have an executable mapping, and whole segments
// are the rule: executable segments are preferred, then an equal first page, then an equal size.
std::optional<uint64_t> find_bias(std::span<const Segment> segments, RuntimeAddr begin, FileOffset offset,
                                  uint64_t size) {
  const Segment* best = nullptr;
  int best_score = -1;
  for (const Segment& segment : segments) {
    if (segment.type != PT_LOAD || segment.file_size == 0) continue;
    const uint64_t lead = segment.offset.value % kPageBytes;
    const FileOffset first = segment.offset - lead;
    if (offset < first || offset - first >= lead + segment.file_size) continue;
    const uint64_t pages = (lead + segment.file_size + kPageBytes - 1) / kPageBytes * kPageBytes;
    const int score = ((segment.flags & PF_X) != 0 ? 4 : 0) + (offset == first ? 2 : 0) + (pages == size ? 1 : 0);
    if (score > best_score) {
      best = &segment;
      best_score = score;
    }
  }
  if (best == nullptr) return std::nullopt;
  return begin.value - (best->address.value + (offset.value - best->offset.value));
}

}  // namespace cicada::elf
