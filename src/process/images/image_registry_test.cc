// SPDX-License-Identifier: Apache-2.0
#include "process/images/image_registry.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "process/procfs/maps_file.h"

namespace cicada::process {
namespace {

namespace fs = std::filesystem;

class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    char name[] = "/tmp/cicada-images-XXXXXX";
    path_ = ::mkdtemp(name);
  }
  ~TemporaryDirectory() { fs::remove_all(path_); }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

// A file mapped executable into this very process, and what maps says of it.
class Mapped {
 public:
  explicit Mapped(int fd) {
    struct stat st {};
    ::fstat(fd, &st);
    size_ = std::max<size_t>(4096, (static_cast<size_t>(st.st_size) + 4095) & ~size_t{4095});
    at_ = ::mmap(nullptr, size_, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
    EXPECT_NE(at_, MAP_FAILED);
    const auto maps = read_maps(::getpid(), MapsFilter::kExecutable);
    for (const MapsEntry& entry : maps->entries) {
      if (entry.range.begin.value == reinterpret_cast<uint64_t>(at_)) entry_ = entry;
    }
  }
  explicit Mapped(const std::string& path) : Mapped(UniqueFd(::open(path.c_str(), O_RDONLY | O_CLOEXEC)).get()) {}
  ~Mapped() { unmap(); }
  void unmap() {
    if (at_ != nullptr) ::munmap(std::exchange(at_, nullptr), size_);
  }
  MappedFile file() const { return {entry_.file, ::getpid(), entry_.range, entry_.offset, entry_.path, entry_.deleted}; }

 private:
  size_t size_ = 0;
  void* at_ = nullptr;
  MapsEntry entry_;
};

void wait_until_ready(ImageRegistry& images, uint32_t id, int timeout_ms = 10000) {
  for (int waited = 0; waited < timeout_ms; waited += 50) {
    pollfd fd{images.ready_fd(), POLLIN, 0};
    ::poll(&fd, 1, 50);
    for (const uint32_t ready : images.take_ready()) {
      if (ready == id) return;
    }
  }
  FAIL() << "image " << id << " did not become ready";
}

ImageBinding resolve_and_wait(ImageRegistry& images, const MappedFile& file) {
  const ImageBinding first = images.resolve(file);
  if (first.state != BindingState::kPending) return first;
  wait_until_ready(images, first.image);
  return images.re_resolve(first.image, file.range, file.offset);
}

const char* const kProgram = "/bin/true";

TEST(ImageRegistry, OpensOnAWorkerThenAnswersAtOnce) {
  ImageRegistry images({});
  const Mapped mapped((std::string(kProgram)));
  const ImageBinding first = images.resolve(mapped.file());
  EXPECT_EQ(first.state, BindingState::kPending);
  EXPECT_EQ(first.image, 1u);
  EXPECT_TRUE(images.is_opening(1));
  wait_until_ready(images, first.image);
  EXPECT_FALSE(images.is_opening(1));
  EXPECT_FALSE(images.is_opening(2)) << "there is none";
  const ImageBinding again = images.resolve(mapped.file());
  EXPECT_EQ(again.state, BindingState::kImage);
  EXPECT_EQ(again.image, 1u);
  EXPECT_EQ(again.bias, mapped.file().range.begin.value);  // a PIE's first segment is linked at 0
  const auto info = images.find(1);
  ASSERT_TRUE(info);
  EXPECT_EQ(fs::path(info->path).filename(), fs::canonical(kProgram).filename());
  EXPECT_EQ(info->build_id.size(), 40u);
  EXPECT_EQ(info->kind, profile::ImageKind::kExecutable);
  EXPECT_EQ(images.counts().opened, 1u);
}

TEST(ImageRegistry, DeletedFileIsOpenedThroughItsMapping) {
  TemporaryDirectory directory;
  fs::copy_file(kProgram, directory / "program");
  const Mapped before(directory / "program");
  fs::remove(directory / "program");
  const Mapped mapped_entry_again(UniqueFd(::open(fmt::format("/proc/self/map_files/{:x}-{:x}", before.file().range.begin.value,
                                                              before.file().range.end.value).c_str(), O_RDONLY)).get());
  ImageRegistry images({});
  MappedFile file = mapped_entry_again.file();
  EXPECT_TRUE(file.deleted);
  EXPECT_EQ(resolve_and_wait(images, file).state, BindingState::kImage);
  EXPECT_EQ(images.find(1)->path, directory / "program");
  EXPECT_TRUE(images.find(1)->deleted);
}

TEST(ImageRegistry, DeletedNameIsNeverOpened) {
  TemporaryDirectory directory;
  fs::copy_file(kProgram, directory / "program");
  Mapped mapped(directory / "program");
  MappedFile file = mapped.file();
  const std::string path(file.path);
  file.path = path;
  file.deleted = true;  // the file is there under that very name, but the mapping is said to be of a deleted one
  file.pid = 0x3fffffff;
  ImageRegistry images({});
  EXPECT_EQ(resolve_and_wait(images, file).state, BindingState::kUnknown);
}

TEST(ImageRegistry, WhoMapsItWhileItIsOpenedIsAskedNext) {
  TemporaryDirectory directory;
  fs::copy_file(kProgram, directory / "program");
  const Mapped mapped(directory / "program");
  MappedFile file = mapped.file();
  file.deleted = true;  // so that its name does not help
  MappedFile gone = file;
  gone.range = {RuntimeAddr(0x1000), RuntimeAddr(0x5000)};  // of the same process: what it mapped before its exec
  ImageRegistry images({});
  const ImageBinding first = images.resolve(gone);
  EXPECT_EQ(images.resolve(file).state, BindingState::kPending);
  wait_until_ready(images, first.image);
  EXPECT_EQ(images.re_resolve(first.image, file.range, file.offset).state, BindingState::kImage);
  EXPECT_EQ(images.counts().open_failed, 0U);
}

TEST(ImageRegistry, ProcessThatIsGoneLeavesItsFileByNameIfTheInodeIsTheSame) {
  TemporaryDirectory directory;
  fs::copy_file(kProgram, directory / "program");
  struct stat st {};
  ASSERT_EQ(::stat((directory / "program").c_str(), &st), 0);
  const std::string path = directory / "program";
  MappedFile file{{major(st.st_dev), minor(st.st_dev), st.st_ino, 0}, 0x3fffffff, {RuntimeAddr(0x1000), RuntimeAddr(0x5000)}, FileOffset(0), path, false};
  {
    ImageRegistry images({});
    EXPECT_EQ(resolve_and_wait(images, file).state, BindingState::kImage);
  }
  fs::copy_file(kProgram, directory / "other");
  fs::rename(directory / "other", directory / "program");  // an upgrade: same name, another inode
  ImageRegistry images({});
  EXPECT_EQ(resolve_and_wait(images, file).state, BindingState::kUnknown);
}

TEST(ImageRegistry, ContentsReplacedInPlaceAreAnotherImage) {
  TemporaryDirectory directory;
  fs::copy_file(kProgram, directory / "program");
  const Mapped mapped(directory / "program");
  ImageRegistry::Options options;
  options.check_every_ms = 0;
  ImageRegistry images(options);
  EXPECT_EQ(resolve_and_wait(images, mapped.file()).image, 1u);
  ASSERT_EQ(::chmod((directory / "program").c_str(), 0700), 0);  // moves the change time, changes nothing
  EXPECT_EQ(resolve_and_wait(images, mapped.file()).image, 1u);
  fs::copy_file("/bin/false", directory / "program", fs::copy_options::overwrite_existing);
  EXPECT_EQ(resolve_and_wait(images, mapped.file()).image, 2u);
  EXPECT_EQ(images.counts().replaced, 1u);
}

TEST(ImageRegistry, ContentsReplacedInPlaceAreNotReadAsWhatWasThere) {
  TemporaryDirectory directory;
  fs::copy_file(kProgram, directory / "program");
  const Mapped mapped(directory / "program");
  ImageRegistry images({});
  ASSERT_EQ(resolve_and_wait(images, mapped.file()).image, 1u);
  fs::last_write_time(directory / "program", fs::file_time_type::clock::now() + std::chrono::hours(1));
  EXPECT_TRUE(images.open(1)) << "only touched";
  fs::copy_file("/bin/false", directory / "program", fs::copy_options::overwrite_existing);
  const auto opened = images.open(1);
  ASSERT_FALSE(opened);
  EXPECT_NE(opened.error().message().find("written over"), std::string::npos) << opened.error().message();
  EXPECT_FALSE(images.open(1));
}

TEST(ImageRegistry, OtherGenerationOfAnInodeNumberIsAnotherImage) {
  const Mapped mapped((std::string(kProgram)));
  ImageRegistry images({});
  MappedFile file = mapped.file();
  EXPECT_EQ(resolve_and_wait(images, file).image, 1u);
  file.file.generation = 7;  // maps did not tell the generation, MMAP2 does
  EXPECT_EQ(resolve_and_wait(images, file).image, 1u);
  file.file.generation = 8;
  EXPECT_EQ(resolve_and_wait(images, file).image, 2u);
}

TEST(ImageRegistry, MemfdIsAnImageOrGeneratedCodeByItsContents) {
  const UniqueFd program(::memfd_create("pro gram", MFD_CLOEXEC));
  std::ifstream in(kProgram, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(in)), {});
  ASSERT_EQ(::write(program.get(), bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  const UniqueFd jit(::memfd_create("doublemapper", MFD_CLOEXEC));
  ASSERT_EQ(::ftruncate(jit.get(), 8192), 0);
  const Mapped a(program.get()), b(jit.get());
  ImageRegistry images({});
  EXPECT_EQ(resolve_and_wait(images, a.file()).state, BindingState::kImage);
  EXPECT_EQ(resolve_and_wait(images, b.file()).state, BindingState::kJit);
}

TEST(ImageRegistry, AnonymousMemoryIsGeneratedCodeAndTheVdsoIsAnImage) {
  ImageRegistry images({});
  MappedFile anonymous{{}, ::getpid(), {RuntimeAddr(0x1000), RuntimeAddr(0x2000)}, FileOffset(0), "//anon", false};
  EXPECT_EQ(images.resolve(anonymous).state, BindingState::kJit);
  const auto maps = read_maps(::getpid(), MapsFilter::kExecutable);
  bool found = false;
  for (const MapsEntry& entry : maps->entries) {
    if (entry.path != "[vdso]") continue;
    found = true;
    const ImageBinding binding = images.resolve({entry.file, ::getpid(), entry.range, entry.offset, entry.path, false});
    EXPECT_EQ(binding.state, BindingState::kImage);
    EXPECT_EQ(binding.image, images.vdso_image());
    EXPECT_EQ(binding.bias, entry.range.begin.value);
    EXPECT_EQ(images.find(binding.image)->kind, profile::ImageKind::kVdso);
    EXPECT_TRUE(images.open(binding.image));
    EXPECT_TRUE(images.open(binding.image));
  }
  EXPECT_TRUE(found);
}

TEST(ImageRegistry, FifoAndDeviceAreNeverOpened) {
  TemporaryDirectory directory;
  ASSERT_EQ(::mkfifo((directory / "fifo").c_str(), 0600), 0);
  ImageRegistry images({});
  uint64_t inode = 1;
  for (const std::string& path : {directory / "fifo", std::string("/dev/zero")}) {
    const ImageBinding binding =
        resolve_and_wait(images, {{0, 99, inode++, 0}, 0x3fffffff, {RuntimeAddr(0x1000), RuntimeAddr(0x2000)}, FileOffset(0), path, false});
    EXPECT_EQ(binding.state, BindingState::kUnknown) << path;
  }
}

TEST(ImageRegistry, FewDescriptorsAreClosedAndReopened) {
  TemporaryDirectory directory;
  ImageRegistry::Options options;
  options.max_descriptors = 4;
  ImageRegistry images(options);
  std::vector<std::unique_ptr<Mapped>> mapped;
  for (int i = 0; i < 12; ++i) {
    const std::string path = directory / std::to_string(i);
    fs::copy_file(kProgram, path);
    mapped.push_back(std::make_unique<Mapped>(path));
    EXPECT_EQ(resolve_and_wait(images, mapped.back()->file()).state, BindingState::kImage);
  }
  EXPECT_GE(images.counts().closed_for_room, 8u);
  EXPECT_TRUE(images.open(1));
  EXPECT_TRUE(images.open(2));
  EXPECT_EQ(images.counts().reopened, 2u);
  // Mapped again while closed: looked at again first.
  EXPECT_EQ(resolve_and_wait(images, mapped[5]->file()).image, 6u);
  // Replaced while closed, mapping and all: the old id does not get the new contents.
  mapped[6]->unmap();
  fs::copy_file("/bin/ls", directory / "6", fs::copy_options::overwrite_existing);
  EXPECT_FALSE(images.open(7));
  EXPECT_FALSE(images.open(4711));
}

TEST(ImageRegistry, TruncatedElfIsGeneratedCodeNotACrash) {
  TemporaryDirectory directory;
  fs::copy_file(kProgram, directory / "program");
  fs::resize_file(directory / "program", 100);
  const Mapped mapped(directory / "program");
  ImageRegistry images({});
  EXPECT_EQ(resolve_and_wait(images, mapped.file()).state, BindingState::kJit);
}

}  // namespace
}  // namespace cicada::process
