// SPDX-License-Identifier: Apache-2.0
#include "elf/image_header.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstring>
#include <filesystem>

#include "base/unique_fd.h"
#include "elf/elf_file.h"

namespace cicada::elf {
namespace {

UniqueFd file_of(Bytes bytes) {
  UniqueFd fd(::memfd_create("file", MFD_CLOEXEC));
  EXPECT_EQ(::write(fd.get(), bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  return fd;
}

// A file header with room for more behind it.
std::vector<uint8_t> image(uint16_t segments, uint16_t segment_size = sizeof(Elf64_Phdr)) {
  std::vector<uint8_t> bytes(sizeof(Elf64_Ehdr) + size_t{segments} * segment_size);
  auto& header = *reinterpret_cast<Elf64_Ehdr*>(bytes.data());
  std::memcpy(header.e_ident, "\177ELF\2\1", 6);
  header.e_type = ET_DYN;
  header.e_machine = EM_X86_64;
  header.e_phoff = sizeof(Elf64_Ehdr);
  header.e_phnum = segments;
  header.e_phentsize = segment_size;
  header.e_shentsize = sizeof(Elf64_Shdr);
  return bytes;
}
Elf64_Phdr& segment(std::vector<uint8_t>& bytes, size_t i) {
  return reinterpret_cast<Elf64_Phdr*>(bytes.data() + sizeof(Elf64_Ehdr))[i];
}

TEST(ImageHeader, SaysWhatTheWholeFileSays) {
  size_t compared = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/usr/bin")) {
    const auto elf = ElfFile::open(entry.path());
    const UniqueFd fd(::open(entry.path().c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    const auto header = read_image_header(by_pread(fd.get()));
    ASSERT_EQ(bool(elf), bool(header)) << entry.path();
    if (!elf) continue;
    if (++compared == 100) break;
    EXPECT_EQ(header->type, elf->type()) << entry.path();
    EXPECT_EQ(header->build_id, elf->build_id()) << entry.path();
    for (const Segment& segment : elf->segments()) {
      if (segment.type != PT_LOAD || (segment.flags & PF_X) == 0) continue;
      const RuntimeAddr begin(0x7f0000000000 + segment.address.value / 4096 * 4096);
      EXPECT_EQ(find_bias(header->loaded, begin, FileOffset(segment.offset.value / 4096 * 4096), 4096), 0x7f0000000000U)
          << entry.path();
    }
  }
  EXPECT_GT(compared, 10U);
}

TEST(ImageHeader, OtherFilesAreNotImages) {
  for (const char* text : {"", "#!", "#!/bin/sh\n"}) {
    const auto header = read_image_header(by_pread(file_of({reinterpret_cast<const uint8_t*>(text), std::strlen(text)}).get()));
    ASSERT_FALSE(header);
    EXPECT_EQ(header.error().kind(), ErrorKind::kUnsupported);
  }
}

TEST(ImageHeader, CutOffFilesAreCorrupt) {
  auto bytes = image(3);
  EXPECT_TRUE(read_image_header(by_pread(file_of(bytes).get())));
  for (const size_t size : {bytes.size() - 1, sizeof(Elf64_Ehdr), sizeof(Elf64_Ehdr) - 1}) {
    const auto header = read_image_header(by_pread(file_of(Bytes(bytes).first(size)).get()));
    ASSERT_FALSE(header) << size;
    EXPECT_EQ(header.error().kind(), ErrorKind::kCorrupt);
  }
  reinterpret_cast<Elf64_Ehdr*>(bytes.data())->e_phoff = ~uint64_t{0};
  EXPECT_EQ(read_image_header(by_pread(file_of(bytes).get())).error().kind(), ErrorKind::kCorrupt);
}

TEST(ImageHeader, LargeOnesAreRefused) {
  auto many = image(ImageHeader::kMaxLoaded + 1);
  for (size_t i = 0; i <= ImageHeader::kMaxLoaded; ++i) {
    segment(many, i).p_type = PT_LOAD;
    segment(many, i).p_filesz = 1;
  }
  EXPECT_EQ(read_image_header(by_pread(file_of(many).get())).error().kind(), ErrorKind::kLimit);
  const auto wide = image(33, UINT16_MAX);
  EXPECT_EQ(read_image_header(by_pread(file_of(wide).get())).error().kind(), ErrorKind::kLimit);
}

TEST(ImageHeader, NotesAreReadWithinTheLimit) {
  auto bytes = image(3);
  const uint32_t note[] = {4, 8, NT_GNU_BUILD_ID, 0x00554e47, 0x67452301, 0xefcdab89};  // "GNU"
  for (size_t i = 0; i < 3; ++i) {
    segment(bytes, i).p_type = PT_NOTE;
    segment(bytes, i).p_offset = i < 2 ? 0 : bytes.size();
    segment(bytes, i).p_filesz = i < 2 ? kMaxHeaderBytes : sizeof note;
  }
  bytes.insert(bytes.end(), reinterpret_cast<const uint8_t*>(note), reinterpret_cast<const uint8_t*>(std::end(note)));
  const auto header = read_image_header(by_pread(file_of(bytes).get()));
  ASSERT_TRUE(header);
  EXPECT_EQ(header->build_id, "0123456789abcdef");
  segment(bytes, 0).p_filesz = kMaxHeaderBytes - sizeof(Elf64_Ehdr) - 3 * sizeof(Elf64_Phdr);
  const auto used_up = read_image_header(by_pread(file_of(bytes).get()));
  ASSERT_TRUE(used_up);
  EXPECT_EQ(used_up->build_id, "");
}

}  // namespace
}  // namespace cicada::elf
