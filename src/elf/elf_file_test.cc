// SPDX-License-Identifier: Apache-2.0
#include "elf/elf_file.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>

namespace cicada::elf {
namespace {

// A minimal image: header, segments, bytes, section table. Fields are changed in place before it is parsed.
class Image {
 public:
  Image() : bytes_(sizeof(Elf64_Ehdr)) {
    header().e_ident[0] = 0x7f;
    std::memcpy(&header().e_ident[1], "ELF", 3);
    header().e_ident[EI_CLASS] = ELFCLASS64;
    header().e_ident[EI_DATA] = ELFDATA2LSB;
    header().e_type = ET_DYN;
    header().e_machine = EM_X86_64;
    header().e_phentsize = sizeof(Elf64_Phdr);
    header().e_shentsize = sizeof(Elf64_Shdr);
  }
  Elf64_Ehdr& header() { return *reinterpret_cast<Elf64_Ehdr*>(bytes_.data()); }
  void add_segments(const std::vector<Elf64_Phdr>& segments) {
    header().e_phoff = bytes_.size();
    header().e_phnum = static_cast<uint16_t>(segments.size());
    append(segments.data(), segments.size() * sizeof(Elf64_Phdr));
  }
  void add_sections(const std::vector<Elf64_Shdr>& sections) {
    header().e_shoff = bytes_.size();
    header().e_shnum = static_cast<uint16_t>(sections.size());
    append(sections.data(), sections.size() * sizeof(Elf64_Shdr));
  }
  uint64_t append(const void* data, size_t size) {
    const uint64_t at = bytes_.size();
    const auto* p = static_cast<const uint8_t*>(data);
    bytes_.insert(bytes_.end(), p, p + size);
    return at;
  }
  Bytes bytes() const { return bytes_; }
  Result<ElfFile> parse() const { return ElfFile::parse_copy(bytes_, "image"); }

 private:
  std::vector<uint8_t> bytes_;
};

Elf64_Phdr load(uint64_t offset, uint64_t address, uint64_t size, uint32_t flags) {
  Elf64_Phdr p{};
  p.p_type = PT_LOAD;
  p.p_flags = flags;
  p.p_offset = offset;
  p.p_vaddr = address;
  p.p_filesz = p.p_memsz = size;
  return p;
}

TEST(ElfFile, ReadsItsOwnImage) {
  const auto elf = ElfFile::open("/proc/self/exe");
  ASSERT_TRUE(elf) << elf.error().message();
  const Section* text = elf->find_section(".text");
  ASSERT_NE(text, nullptr);
  EXPECT_GT(elf->contents(*text).size(), 1000u);
  EXPECT_EQ(elf->contents_at(text->address).data(), elf->contents(*text).data());
  EXPECT_EQ(elf->interpreter(), "/lib64/ld-linux-x86-64.so.2");
  EXPECT_EQ(elf->build_id().size() % 2, 0u);
  EXPECT_EQ(elf->find_section(".no such section"), nullptr);
}

TEST(ElfFile, NamesSurviveAMove) {
  auto opened = ElfFile::open("/proc/self/exe");
  ASSERT_TRUE(opened);
  auto copied = ElfFile::parse_copy(opened->bytes(), "copy");
  ASSERT_TRUE(copied);
  const ElfFile moved = std::move(*copied);
  EXPECT_NE(moved.find_section(".text"), nullptr);
  EXPECT_EQ(moved.build_id(), opened->build_id());
}

TEST(ElfFile, BiasOfAPackedExecutableSegmentIgnoresItsNeighbour) {
  Image image;  // lld: the page at offset 0x1000 is the end of one segment and the begin of the next
  image.add_segments({load(0, 0, 0x1234, PF_R), load(0x1234, 0x2234, 0x800, PF_R | PF_X)});
  const auto elf = image.parse();
  ASSERT_TRUE(elf);
  EXPECT_EQ(find_bias(elf->segments(), RuntimeAddr(0x7f0000002000), FileOffset(0x1000), 0x1000), 0x7f0000000000u);
  EXPECT_EQ(find_bias(elf->segments(), RuntimeAddr(0x7f0000000000), FileOffset(0), 0x2000), 0x7f0000000000u);
  EXPECT_EQ(find_bias(elf->segments(), RuntimeAddr(0x7f0000000000), FileOffset(0x9000), 0x1000), std::nullopt);
}

TEST(ElfFile, BiasOfAPartOfASegment) {
  Image image;
  image.add_segments({load(0x1000, 0x401000, 0x5000, PF_R | PF_X)});
  const auto elf = image.parse();
  ASSERT_TRUE(elf);
  EXPECT_EQ(find_bias(elf->segments(), RuntimeAddr(0x403000), FileOffset(0x3000), 0x1000), 0u);
}

TEST(ElfFile, RefusesWhatIsNotX86_64) {
  const std::string text = "#!/bin/sh\n";
  const auto script = ElfFile::parse_copy(Bytes(reinterpret_cast<const uint8_t*>(text.data()), text.size()), "script");
  ASSERT_FALSE(script);
  EXPECT_EQ(script.error().kind(), ErrorKind::kUnsupported);
  EXPECT_NE(script.error().message().find("script"), std::string::npos);
  Image arm;
  arm.header().e_machine = EM_AARCH64;
  EXPECT_EQ(arm.parse().error().kind(), ErrorKind::kUnsupported);
  Image narrow;
  narrow.header().e_ident[EI_CLASS] = ELFCLASS32;
  EXPECT_EQ(narrow.parse().error().kind(), ErrorKind::kUnsupported);
}

TEST(ElfFile, RefusesTablesOutOfTheFile) {
  Image sections;
  sections.header().e_shoff = ~uint64_t{0} - 10;
  sections.header().e_shnum = 3;
  EXPECT_EQ(sections.parse().error().kind(), ErrorKind::kCorrupt);
  Image segments;
  segments.header().e_phoff = 64;
  segments.header().e_phnum = 0xffff;
  EXPECT_EQ(segments.parse().error().kind(), ErrorKind::kCorrupt);
  Image tiny_entries;
  tiny_entries.add_segments({load(0, 0, 10, PF_X)});
  tiny_entries.header().e_phentsize = 1;
  EXPECT_EQ(tiny_entries.parse().error().kind(), ErrorKind::kCorrupt);
}

TEST(ElfFile, HugeSectionCountCostsNoMemory) {
  Image image;
  Elf64_Shdr first{};
  first.sh_size = uint64_t{1} << 60;
  image.add_sections({first});
  image.header().e_shnum = 0;  // "see section 0"
  EXPECT_EQ(image.parse().error().kind(), ErrorKind::kLimit);
}

TEST(ElfFile, ContentsOutOfTheFileAreEmpty) {
  Image image;
  Elf64_Shdr far{};
  far.sh_type = SHT_PROGBITS;
  far.sh_offset = ~uint64_t{0};
  far.sh_size = 2;
  Elf64_Shdr nobits = far;
  nobits.sh_type = SHT_NOBITS;
  nobits.sh_offset = 0;
  image.add_segments({load(~uint64_t{0} - 1, ~uint64_t{0} - 1, ~uint64_t{0}, PF_X)});
  image.add_sections({Elf64_Shdr{}, far, nobits});
  const auto elf = image.parse();
  ASSERT_TRUE(elf);
  EXPECT_TRUE(elf->contents(elf->sections()[1]).empty());
  EXPECT_TRUE(elf->contents(elf->sections()[2]).empty());
  EXPECT_TRUE(elf->contents_at(LinkAddr(~uint64_t{0})).empty());
}

TEST(ElfFile, BuildIdFromSegmentsAlone) {
  Image image;
  const uint32_t note[] = {4, 4, NT_GNU_BUILD_ID, 0x00554e47, 0xefbeadde};
  const uint64_t at = image.append(note, sizeof note);
  Elf64_Phdr p{};
  p.p_type = PT_NOTE;
  p.p_offset = at;
  p.p_filesz = sizeof note;
  image.add_segments({p});
  const auto elf = image.parse();
  ASSERT_TRUE(elf);
  EXPECT_EQ(elf->build_id(), "deadbeef");
}

TEST(ElfFile, EveryTruncationIsAnErrorOrAFile) {
  const auto whole = ElfFile::open("/proc/self/exe");
  ASSERT_TRUE(whole);
  std::mt19937 random(7);
  for (int i = 0; i < 60; ++i) {
    const uint64_t length = i < 40 ? i * 3 : std::uniform_int_distribution<uint64_t>(0, whole->bytes().size() - 1)(random);
    const auto cut = ElfFile::parse_copy(whole->bytes().first(length), "cut");
    EXPECT_FALSE(cut) << length;  // the section table is last
  }
}

TEST(ElfFile, RandomDamageNeverCrashes) {
  Image image;
  image.add_segments({load(0, 0, 0x1234, PF_R), load(0x1234, 0x2234, 0x800, PF_R | PF_X)});
  image.add_sections({Elf64_Shdr{}, Elf64_Shdr{}});
  std::mt19937 random(11);
  for (int round = 0; round < 20000; ++round) {
    std::vector<uint8_t> bytes(image.bytes().begin(), image.bytes().end());
    for (int i = 0; i < 4; ++i) bytes[16 + random() % (bytes.size() - 16)] = static_cast<uint8_t>(random());
    const auto elf = ElfFile::parse_copy(bytes, "damaged");
    if (!elf) continue;
    for (const Section& section : elf->sections()) elf->contents(section);
    elf->contents_at(LinkAddr(random()));
    find_bias(elf->segments(), RuntimeAddr(random()), FileOffset(random() % 8192), 4096);
    elf->build_id();
    elf->interpreter();
  }
}

TEST(ElfFile, MissingFileNamesIt) {
  const auto elf = ElfFile::open("/no/such/file");
  ASSERT_FALSE(elf);
  EXPECT_EQ(elf.error().kind(), ErrorKind::kNotFound);
  EXPECT_NE(elf.error().message().find("/no/such/file"), std::string::npos);
}

}  // namespace
}  // namespace cicada::elf
