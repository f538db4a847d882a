// SPDX-License-Identifier: Apache-2.0
#include "process/images/image_table.h"

#include <elf.h>
#include <gtest/gtest.h>

namespace cicada::process {
namespace {

class ImageTableTest : public testing::Test {
 protected:
  static MappedFile mapped(uint64_t inode, std::string_view path = "/lib/libc.so.6", uint64_t generation = 0) {
    return {{8, 1, inode, generation}, 10, {RuntimeAddr(0x5000), RuntimeAddr(0x7000)}, FileOffset(0x1000), path, false};
  }
  static OpenedImage opened(uint64_t size, const std::string& build_id) {
    OpenedImage image;
    image.contents.size = size;
    image.header = elf::ImageHeader{ET_DYN, {{PT_LOAD, PF_X, FileOffset(0x1000), LinkAddr(0x1000), 0x2000, 0x2000}}, build_id};
    return image;
  }
  ImageEntry& add(const MappedFile& file, OpenedImage image) {
    ImageEntry& entry = *table_.create(file);
    EXPECT_TRUE(table_.accept(entry, image));
    return entry;
  }
  ImageTable table_{4};
};

TEST_F(ImageTableTest, GivesIdsUntilThereAreNone) {
  for (uint32_t id = 1; id <= 4; ++id) EXPECT_EQ(table_.create(mapped(id))->job.id, id);
  EXPECT_EQ(table_.create(mapped(5)), nullptr);
  EXPECT_EQ(table_.find(0), nullptr);
  EXPECT_EQ(table_.find(5), nullptr);
}

TEST_F(ImageTableTest, FindsTheNewestOfAnInode) {
  EXPECT_EQ(table_.find(mapped(7)), nullptr);
  table_.create(mapped(7));
  ImageEntry* newer = table_.create(mapped(7));
  EXPECT_EQ(table_.find(mapped(7)), newer);
  EXPECT_EQ(table_.find(mapped(8)), nullptr);
}

TEST_F(ImageTableTest, TellsGenerationsOfAnInodeNumberApart) {
  ImageEntry* image = table_.create(mapped(7));
  EXPECT_EQ(table_.find(mapped(7, "/lib/libc.so.6", 3)), image) << "which it is was not known";
  EXPECT_EQ(table_.find(mapped(7, "/lib/libc.so.6", 4)), nullptr);
  EXPECT_EQ(table_.find(mapped(7)), image);
}

TEST_F(ImageTableTest, GoesByThePathWhereInodeNumbersAreNotUnique) {
  OpenedImage on_overlay = opened(100, "aa");
  on_overlay.path_matters = true;
  add(mapped(7), std::move(on_overlay));
  EXPECT_NE(table_.find(mapped(7)), nullptr);
  EXPECT_EQ(table_.find(mapped(7, "/lib/libm.so.6")), nullptr);
}

TEST_F(ImageTableTest, BindsCodeOfSegmentsOnly) {
  ImageEntry& waiting = *table_.create(mapped(6));
  EXPECT_EQ(waiting.bind(RuntimeAddr(0x5000), FileOffset(0x1000), 0x2000).state, BindingState::kPending);
  const ImageEntry& image = add(mapped(7), opened(100, "aa"));
  EXPECT_EQ(image.kind, profile::ImageKind::kLibrary);
  const ImageBinding binding = image.bind(RuntimeAddr(0x5000), FileOffset(0x1000), 0x2000);
  EXPECT_EQ(binding.state, BindingState::kImage);
  EXPECT_EQ(binding.bias, 0x4000U);
  EXPECT_EQ(image.bind(RuntimeAddr(0x5000), FileOffset(0x9000), 0x1000).state, BindingState::kJit);
}

TEST_F(ImageTableTest, AnIdStandsForWhatItWas) {
  ImageEntry& image = add(mapped(7), opened(100, "aa"));
  OpenedImage same_build = opened(101, "aa");
  EXPECT_TRUE(table_.accept(image, same_build));
  OpenedImage other = opened(102, "bb");
  EXPECT_FALSE(table_.accept(image, other));
  EXPECT_EQ(image.state, ImageState::kFailed);
  EXPECT_EQ(table_.find(mapped(7)), nullptr);
  EXPECT_EQ(table_.find(1), &image);
}

TEST_F(ImageTableTest, FilesThatAreNoImagesStayOut) {
  ImageEntry& entry = *table_.create(mapped(7));
  OpenedImage text;
  text.contents.size = 3;
  EXPECT_TRUE(table_.accept(entry, text));
  EXPECT_EQ(entry.bind(RuntimeAddr(0x5000), FileOffset(0), 0x1000).state, BindingState::kJit);
}

TEST_F(ImageTableTest, KeepsTheLatestHintsOneAProcess) {
  ImageEntry& entry = *table_.create(mapped(7));
  for (const Pid pid : {1, 2, 3, 4, 5, 2}) entry.add_hint({pid, {}});
  std::vector<Pid> pids;
  for (const ImageHint& hint : entry.job.hints) pids.push_back(hint.pid);
  EXPECT_EQ(pids, (std::vector<Pid>{2, 5, 4, 3}));
}

}  // namespace
}  // namespace cicada::process
