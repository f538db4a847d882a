// SPDX-License-Identifier: Apache-2.0
// Each probe runs in a child that has become a reader, and says what it could do.
#include "sandbox/read_only.h"

#include <dirent.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/bpf.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <thread>

#include "base/unique_fd.h"

namespace cicada::sandbox {
namespace {

constexpr uint64_t kMemory = 64 << 20;

struct Told {
  std::string text;
  void could(bool done, const char* what) {
    if (done) text += std::string(what) + " ";
  }
};

std::string in_reader(const std::function<void(Told&)>& probe, Network network = Network::kNone) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return "no pipe";
  const pid_t child = ::fork();
  if (child == 0) {
    Told told;
    if (const auto done = become_read_only(kMemory, network)) probe(told);
    else told.text = done.error().message();
    told.text += "; whole";
    ::_exit(::write(ends[1], told.text.data(), told.text.size()) > 0 ? 0 : 1);
  }
  ::close(ends[1]);
  std::string all;
  char block[4096];
  for (ssize_t size; (size = ::read(ends[0], block, sizeof block)) > 0;) all.append(block, static_cast<size_t>(size));
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? all : all + "ended by signal " + std::to_string(WTERMSIG(status));
}

class ReadOnly : public ::testing::Test {
 protected:
  void SetUp() override {
    directory_ = std::filesystem::temp_directory_path() / ("cicada-reader-" + std::to_string(::getpid()));
    std::filesystem::create_directory(directory_);
    std::filesystem::permissions(directory_, std::filesystem::perms::all);
    file_ = directory_ / "file";
    std::ofstream(file_) << "text";
    std::filesystem::permissions(file_, std::filesystem::perms(0666));
  }
  void TearDown() override {
    std::filesystem::remove_all(directory_);
  }
  std::filesystem::path directory_, file_;
};

TEST_F(ReadOnly, ReadsFilesAndDirectoriesWithThreads) {
  EXPECT_EQ(in_reader([&](Told& told) {
              std::string line;
              std::ifstream in(file_);
              told.could(bool(in >> line) && line == "text", "read");
              std::thread other([&] { told.could(UniqueFd(::open(directory_.c_str(), O_RDONLY | O_DIRECTORY)).get() >= 0, "open-directory"); });
              other.join();
              told.could(std::filesystem::directory_iterator(directory_)->path() == file_, "list");
            }),
            "read open-directory list ; whole");
}

TEST_F(ReadOnly, ChangesNoFile) {
  EXPECT_EQ(in_reader([&](Told& told) {
              const std::string other = directory_ / "other";
              told.could(UniqueFd(::open(file_.c_str(), O_WRONLY)).get() >= 0, "write");
              told.could(UniqueFd(::open(file_.c_str(), O_RDWR)).get() >= 0, "read-write");
              told.could(UniqueFd(::open(file_.c_str(), O_RDONLY | O_TRUNC)).get() >= 0, "open-and-truncate");
              told.could(UniqueFd(::open(other.c_str(), O_RDONLY | O_CREAT, 0600)).get() >= 0, "create");
              told.could(UniqueFd(::open(directory_.c_str(), O_TMPFILE | O_RDWR, 0600)).get() >= 0, "create-nameless");
              told.could(::truncate(file_.c_str(), 0) == 0, "truncate");
              told.could(::mkdir(other.c_str(), 0700) == 0, "make-directory");
              told.could(::symlink("x", other.c_str()) == 0, "make-link");
              told.could(::mknod(other.c_str(), S_IFIFO | 0600, 0) == 0, "make-fifo");
              told.could(::rename(file_.c_str(), other.c_str()) == 0, "rename");
              told.could(::unlink(file_.c_str()) == 0, "remove");
              told.could(::chmod(file_.c_str(), 0600) == 0, "chmod");
              const UniqueFd held(::open(file_.c_str(), O_RDONLY));
              told.could(UniqueFd(::open(("/proc/self/fd/" + std::to_string(held.get())).c_str(), O_WRONLY)).get() >= 0, "reopen-to-write");
            }),
            "; whole");
}

TEST_F(ReadOnly, ReachesNobody) {
  EXPECT_EQ(in_reader([&](Told& told) {
              told.could(UniqueFd(::socket(AF_INET, SOCK_STREAM, 0)).get() >= 0, "network");
              told.could(UniqueFd(::socket(AF_UNIX, SOCK_STREAM, 0)).get() >= 0, "socket");
              told.could(::kill(::getppid(), 0) == 0, "signal");
              told.could(::syscall(SYS_tgkill, ::getppid(), ::getppid(), 0) == 0, "signal-a-thread");
              told.could(::fcntl(STDERR_FILENO, F_SETOWN, ::getppid()) == 0, "be-the-cause-of-a-signal");
              told.could(::setpriority(PRIO_PROCESS, static_cast<id_t>(::getppid()), 19) == 0, "make-another-wait");
              const pid_t forked = ::fork();
              if (forked == 0) ::_exit(0);
              told.could(forked > 0, "fork");
              told.could(::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) == 0, "trace");
              char byte = 0;
              iovec here{&byte, 1};
              told.could(::process_vm_readv(::getpid(), &here, 1, &here, 1, 0) == 1, "memory");
              char* const words[] = {const_cast<char*>("/bin/true"), nullptr};
              told.could(::execv(words[0], words) == 0, "exec");
              told.could(::unshare(CLONE_NEWUSER) == 0, "namespace");
              const long child = ::syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, nullptr, nullptr, nullptr, 0UL);
              if (child == 0) ::_exit(0);
              told.could(child > 0, "namespace-of-a-child");
              told.could(::mmap(nullptr, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED, "code");
              bpf_attr attr{};
              told.could(::syscall(SYS_bpf, BPF_MAP_CREATE, &attr, sizeof attr) >= 0 || errno == EINVAL, "bpf");
              told.could(::syscall(SYS_io_uring_setup, 1, nullptr) >= 0 || errno == EFAULT, "io-uring");
            }),
            "; whole");
}

TEST_F(ReadOnly, GivesItsTerminalBack) {
  const UniqueFd master(::posix_openpt(O_RDWR | O_NOCTTY));
  ASSERT_TRUE(master && ::grantpt(master.get()) == 0 && ::unlockpt(master.get()) == 0);
  const UniqueFd terminal(::open(::ptsname(master.get()), O_RDWR | O_NOCTTY));
  ASSERT_TRUE(terminal);
  EXPECT_EQ(in_reader([&](Told& told) {
              termios modes{};
              told.could(::tcgetattr(terminal.get(), &modes) == 0, "ask");
              modes.c_lflag ^= ECHO;
              told.could(::tcsetattr(terminal.get(), TCSADRAIN, &modes) == 0, "change-another");
              ::dup2(terminal.get(), STDIN_FILENO);
              told.could(::tcsetattr(STDIN_FILENO, TCSADRAIN, &modes) == 0, "change-its-own");
              told.could(::ioctl(STDIN_FILENO, TIOCSTI, "x") == 0, "type");
              told.could(::ioctl(STDIN_FILENO, TIOCSCTTY, 1) == 0, "take");
            }),
            "ask change-its-own ; whole");
  termios after{};
  ASSERT_EQ(::tcgetattr(terminal.get(), &after), 0);
  EXPECT_EQ(after.c_lflag & ECHO, 0u);
}

TEST_F(ReadOnly, TalksFromItsTerminalToWhomItKnows) {
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  const UniqueFd ours(ends[0]), theirs(ends[1]);
  const UniqueFd master(::posix_openpt(O_RDWR | O_NOCTTY));
  ASSERT_TRUE(master);
  EXPECT_EQ(in_reader(
                [&](Told& told) {
                  const winsize size{10, 20, 0, 0};
                  told.could(::send(ours.get(), "x", 1, MSG_NOSIGNAL) == 1, "send");
                  told.could(UniqueFd(::epoll_create1(EPOLL_CLOEXEC)).get() >= 0, "wait");
                  told.could(::ioctl(master.get(), TIOCSWINSZ, &size) == 0, "size");
                  told.could(::socket(AF_UNIX, SOCK_STREAM, 0) >= 0, "socket");
                  told.could(::accept4(ours.get(), nullptr, nullptr, 0) >= 0 || errno != EPERM, "accept");
                  told.could(::ioctl(master.get(), TIOCSTI, "x") == 0, "type");
                  told.could(open_no_more() && ::open(file_.c_str(), O_RDONLY) < 0, "open-no-more");
                },
                Network::kTerminal),
            "send wait size open-no-more ; whole");
}

TEST_F(ReadOnly, HasItsMemoryOnly) {
  EXPECT_EQ(in_reader([&](Told& told) {
              const auto take = [](size_t size) { return ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED; };
              told.could(take(kMemory / 4), "a-quarter");
              told.could(take(kMemory), "all");
              told.could(UniqueFd(::memfd_create("x", MFD_CLOEXEC)).get() >= 0, "memory-in-a-file");
              told.could(::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0) != MAP_FAILED, "shared-memory");
            }),
            "a-quarter ; whole");
}

TEST_F(ReadOnly, OfRootIsNobody) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root";
  std::filesystem::permissions(file_, std::filesystem::perms(0600));
  EXPECT_EQ(in_reader([&](Told& told) {
              told.could(::getuid() == 0 || ::geteuid() == 0 || ::getgid() == 0, "be-root");
              told.could(UniqueFd(::open(file_.c_str(), O_RDONLY)).get() >= 0, "read-what-is-roots");
              told.could(::setuid(0) == 0, "become-root");
              std::string line, name;
              for (std::ifstream status("/proc/self/status"); std::getline(status, line);) {
                // CAP_SYSLOG is number 34.
                if (line.starts_with("CapEff:")) told.could(line != "CapEff:\t0000000400000000" && line != "CapEff:\t0000000000000000", line.c_str());
                if (line.starts_with("Groups:")) told.could(line.find_first_of("0123456789") != std::string::npos, line.c_str());
              }
            }),
            "; whole");
}

}  // namespace
}  // namespace cicada::sandbox
