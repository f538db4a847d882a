// SPDX-License-Identifier: Apache-2.0
// File systems that do not answer: tests/live/survives-mute-file-system.sh.
#include "process/images/file_opener.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/loop.h>
#include <linux/magic.h>
#include <linux/major.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "process/procfs/proc_readers.h"

namespace cicada::process {
namespace {

constexpr auto kTimeout = std::chrono::minutes(5);

// A file on a device without a disk (tmpfs), and the name that others know our descriptor by.
class FileOpenerTest : public testing::Test {
 protected:
  FileOpenerTest() {
    struct stat st {};
    EXPECT_EQ(::fstat(memory_.get(), &st), 0);
    file_.major = major(st.st_dev);
    file_.minor = minor(st.st_dev);
    file_.inode = st.st_ino;
  }
  void fall_silent(FileOpener& files) { EXPECT_EQ(files.note_silent({file_.major, file_.minor}).kind(), ErrorKind::kIo); }
  void fall_silent_for(FileOpener& files, uint32_t owner) {
    EXPECT_EQ(files.note_silent({FileOpener::kNames, owner}).kind(), ErrorKind::kIo);
  }
  UniqueFd memory_{::memfd_create("file", MFD_CLOEXEC)};
  std::string path_ = fmt::format("/proc/{}/fd/{}", ::getpid(), memory_.get());
  FileIdentity file_;
  const std::shared_ptr<ProcReaders> readers_ = std::make_shared<ProcReaders>(ProcReaders::Options{kTimeout, 1});
  FileOpener files_{readers_, kTimeout};
};

TEST_F(FileOpenerTest, OneInMemoryIsReadHere) {
  ASSERT_EQ(file_.major, 0U);
  ASSERT_EQ(::write(memory_.get(), "contents", 8), 8);
  for (int i = 0; i < 2; ++i) {  // by a child that finds out where it is, and without one
    auto opened = files_.open(0, file_, path_);
    ASSERT_TRUE(opened) << opened.error().message();
    EXPECT_FALSE(opened->is_distant());
    EXPECT_TRUE(opened->facts().identity.same_inode(file_));
    EXPECT_EQ(opened->facts().contents.size, 8U);
    EXPECT_EQ(opened->facts().owner, ::geteuid());
    std::array<uint8_t, 16> bytes{};
    EXPECT_EQ(opened->read(3, bytes).value(), 5U);
    EXPECT_EQ(std::memcmp(bytes.data(), "tents", 5), 0);
    EXPECT_EQ(opened->read(8, bytes).value(), 0U);
    EXPECT_EQ(opened->read(~uint64_t{0}, bytes).value(), 0U);
    EXPECT_NE(::fcntl(opened->fd(), F_GETFL) & O_PATH, O_PATH);
  }
}

// Its number says nothing of who answers for it: a program may (fuseblk).
TEST_F(FileOpenerTest, ADiskIsAskedAsOthersAre) {
  struct stat st {};
  ASSERT_EQ(::stat("/proc/self/exe", &st), 0);
  const FileIdentity exe{major(st.st_dev), minor(st.st_dev), st.st_ino, 0};
  const auto opened = files_.open(0, exe, "/proc/self/exe");
  ASSERT_TRUE(opened) << opened.error().message();
  EXPECT_TRUE(files_.open_by_name(0, "/proc/self/exe"));
  EXPECT_EQ(files_.note_silent({exe.major, exe.minor}).kind(), ErrorKind::kIo);
  EXPECT_EQ(files_.open(0, exe, "/proc/self/exe").error().kind(), ErrorKind::kIo);
}

TEST_F(FileOpenerTest, SaysWhatOpeningSays) {
  EXPECT_EQ(files_.open(0, file_, "/proc/self/no such file").error().kind(), ErrorKind::kNotFound);
  EXPECT_EQ(files_.open_by_name(0, "/proc/self/no such file").error().kind(), ErrorKind::kNotFound);
}

TEST_F(FileOpenerTest, OpensNothingButFiles) {
  for (const char* path : {"/dev/null", "/tmp"}) {
    EXPECT_EQ(files_.open(0, file_, path).error().kind(), ErrorKind::kUnsupported) << path;
    EXPECT_EQ(files_.open_by_name(0, path).error().kind(), ErrorKind::kUnsupported) << path;
  }
}

TEST_F(FileOpenerTest, AHandleIsOpenedAnew) {
  const UniqueFd handle(::open(path_.c_str(), O_PATH | O_CLOEXEC));
  ASSERT_EQ(::write(memory_.get(), "x", 1), 1);
  auto opened = files_.open_handle(0, handle.get(), "file");
  ASSERT_TRUE(opened) << opened.error().message();
  std::array<uint8_t, 16> bytes{};
  EXPECT_EQ(opened->read(0, bytes).value(), 1U);
}

TEST_F(FileOpenerTest, OneThatFellSilentIsNotAskedAgain) {
  ASSERT_TRUE(files_.open(0, file_, path_));
  fall_silent(files_);
  const auto opened = files_.open(0, file_, path_);
  ASSERT_FALSE(opened);
  EXPECT_NE(opened.error().message().find("does not answer"), std::string::npos);
  EXPECT_TRUE(files_.open_by_name(0, path_)) << "a name may lead elsewhere";
}

TEST_F(FileOpenerTest, WhereAFileLiesDecidesNotWhereItWasSaidToLie) {
  ASSERT_TRUE(files_.open(0, file_, path_));  // its device was asked
  struct stat elsewhere {};
  ASSERT_EQ(::stat("/proc/self/status", &elsewhere), 0);
  EXPECT_EQ(files_.note_silent({major(elsewhere.st_dev), minor(elsewhere.st_dev)}).kind(), ErrorKind::kIo);
  EXPECT_EQ(files_.open(0, file_, "/proc/self/status").error().kind(), ErrorKind::kIo);
  const UniqueFd handle(::open("/proc/self/status", O_PATH | O_CLOEXEC));
  EXPECT_EQ(files_.open_handle(0, handle.get(), "status").error().kind(), ErrorKind::kIo);
}

TEST_F(FileOpenerTest, SilenceBehindANameIsItsOwners) {
  fall_silent_for(files_, 1000);
  EXPECT_EQ(files_.open_by_name(1000, path_).error().kind(), ErrorKind::kIo);
  EXPECT_TRUE(files_.open_by_name(1001, path_));
}

TEST_F(FileOpenerTest, NumbersOfDevicesAreNotBelievedForEver) {
  FileOpener forgetful(readers_, kTimeout, std::chrono::milliseconds(0));
  fall_silent(forgetful);
  EXPECT_TRUE(forgetful.open(0, file_, path_));
  EXPECT_FALSE(forgetful.open(0, file_, "/proc/self/no such file"));
}

TEST_F(FileOpenerTest, WhoWaitsForAnyChildFindsNone) {
  ASSERT_TRUE(files_.open(0, file_, path_));
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);
  EXPECT_EQ(errno, ECHILD);
}

// mount(8)'s overlay in a mount namespace of its own, with one file; for as long as this lives.
class Overlay {
 public:
  Overlay() {
    int ready[2], stays[2];
    if (::pipe2(ready, O_CLOEXEC) != 0 || ::pipe2(stays, O_CLOEXEC) != 0) return;
    stays_.reset(stays[1]);
    child_ = ::fork();
    if (child_ == 0) {
      ::dup2(stays[0], STDIN_FILENO);
      ::dup2(ready[1], STDOUT_FILENO);
      ::execlp("unshare", "unshare", "-Urm", "sh", "-c",
               "mount -t tmpfs none /mnt && cd /mnt && mkdir l u w m && echo text >l/file && mount -t overlay none -o lowerdir=l,upperdir=u,workdir=w,userxattr m && echo y;"
               "read over",
               nullptr);
      ::_exit(1);
    }
    ::close(ready[1]);
    ::close(stays[0]);
    const UniqueFd said(ready[0]);
    char answer = 'n';
    mounted_ = ::read(said.get(), &answer, 1) == 1 && answer == 'y';
  }
  ~Overlay() {
    stays_.reset();
    if (child_ > 0) ::waitpid(child_, nullptr, 0);
  }
  bool mounted() const { return mounted_; }
  std::string file() const { return fmt::format("/proc/{}/root/mnt/m/file", child_); }

 private:
  UniqueFd stays_;
  pid_t child_ = -1;
  bool mounted_ = false;
};

TEST_F(FileOpenerTest, AnOverlayThatIsNotOursIsDistant) {
  const Overlay overlay;
  if (!overlay.mounted()) GTEST_SKIP() << "no overlay in a user namespace";
  struct stat st {};
  ASSERT_EQ(::stat(overlay.file().c_str(), &st), 0);
  for (int i = 0; i < 2; ++i) {
    auto opened = files_.open(0, {major(st.st_dev), minor(st.st_dev), st.st_ino, 0}, overlay.file());
    ASSERT_TRUE(opened) << opened.error().message();
    EXPECT_TRUE(opened->is_distant());
    std::array<uint8_t, 16> bytes{};
    EXPECT_EQ(opened->read(0, bytes).value(), 5U);
    EXPECT_EQ(std::memcmp(bytes.data(), "text\n", 5), 0);
  }
}

TEST_F(FileOpenerTest, AnOverlayThatWeSeeMountedIsReadHere) {
  char directory[] = "/tmp/cicada-overlay-XXXXXX";
  ASSERT_NE(::mkdtemp(directory), nullptr);
  const std::string at = directory;
  for (const char* name : {"/one", "/two", "/all"}) ASSERT_EQ(::mkdir((at + name).c_str(), 0755), 0);
  ASSERT_EQ(std::fclose(std::fopen((at + "/one/file").c_str(), "w")), 0);
  const std::string options = fmt::format("lowerdir={}/one:{}/two", at, at);
  const bool mounted = ::mount("overlay", (at + "/all").c_str(), "overlay", MS_RDONLY, options.c_str()) == 0;
  if (mounted) {
    struct stat st {};
    EXPECT_EQ(::stat((at + "/all/file").c_str(), &st), 0);
    auto opened = files_.open(0, {major(st.st_dev), minor(st.st_dev), st.st_ino, 0}, at + "/all/file");
    EXPECT_TRUE(opened && !opened->is_distant() && (::fcntl(opened->fd(), F_GETFL) & O_PATH) == 0);
    EXPECT_EQ(::umount2((at + "/all").c_str(), MNT_DETACH), 0);
  }
  std::filesystem::remove_all(at);
  if (!mounted) GTEST_SKIP() << "we may not mount an overlay";
}

// A loop device of a file, for as long as this lives.
class LoopDevice {
 public:
  explicit LoopDevice(int file) {
    const UniqueFd control(::open("/dev/loop-control", O_RDWR | O_CLOEXEC));
    const int number = control ? ::ioctl(control.get(), LOOP_CTL_GET_FREE) : -1;
    if (number < 0) return;
    device_.reset(::open(fmt::format("/dev/loop{}", number).c_str(), O_RDWR | O_CLOEXEC));
    if (device_ && ::ioctl(device_.get(), LOOP_SET_FD, file) == 0) number_ = number;
  }
  ~LoopDevice() {
    if (number_ >= 0) ::ioctl(device_.get(), LOOP_CLR_FD, 0);
  }
  int fd() const { return device_.get(); }
  bool exists() const { return number_ >= 0; }
  bool is_of_others() const { return is_disk_of_others(LOOP_MAJOR, static_cast<uint32_t>(number_)); }

 private:
  UniqueFd device_;
  int number_ = -1;
};

TEST(DiskOfOthersTest, ALoopDeviceIsAsItsFileIs) {
  char name[] = "/dev/shm/cicada-loop-XXXXXX";
  const UniqueFd file(::mkostemp(name, O_CLOEXEC)), nameless(::memfd_create("disk", MFD_CLOEXEC));
  ASSERT_TRUE(file && ::ftruncate(file.get(), 1 << 20) == 0 && ::ftruncate(nameless.get(), 1 << 20) == 0);
  {
    const LoopDevice loop(file.get()), stacked(loop.fd()), unknown(nameless.get()), stacked_unknown(unknown.fd());
    EXPECT_FALSE(loop.exists() && loop.is_of_others());
    EXPECT_FALSE(stacked.exists() && stacked.is_of_others());
    EXPECT_TRUE(!unknown.exists() || unknown.is_of_others()) << "nobody knows whose file it is";
    EXPECT_TRUE(!stacked_unknown.exists() || stacked_unknown.is_of_others());
  }
  ::unlink(name);
}

TEST(DiskOfOthersTest, NetworkDisksAreAndDisksAreNot) {
  EXPECT_TRUE(is_disk_of_others(NBD_MAJOR, 0));
  EXPECT_FALSE(is_disk_of_others(SCSI_DISK0_MAJOR, 1));
  EXPECT_FALSE(is_disk_of_others(BLOCK_EXT_MAJOR, 0xffff));
  EXPECT_TRUE(is_disk_of_others(LOOP_MAJOR, 0xffff)) << "there is none any more";
}

TEST(AnsweredByOthersTest, TellsServedFromLocalFileSystems) {
  EXPECT_TRUE(is_answered_by_others(FUSE_SUPER_MAGIC));
  EXPECT_TRUE(is_answered_by_others(NFS_SUPER_MAGIC));
  EXPECT_FALSE(is_answered_by_others(EXT4_SUPER_MAGIC));
  EXPECT_FALSE(is_answered_by_others(TMPFS_MAGIC));
}

}  // namespace
}  // namespace cicada::process
