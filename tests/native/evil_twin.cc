// SPDX-License-Identifier: Apache-2.0
// The parser's evil twin: a process locked down as parsers are, by the same zygote, that tries what a parser taken over would try. Each attempt has a
// process of its own; it must fail, or end the process.
#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "sandbox/zygote.h"

namespace {

using cicada::Result;
using cicada::sandbox::Channel;
using cicada::sandbox::Message;
using cicada::sandbox::Zygote;

struct Attempt {
  const char* name;
  bool (*run)(const Message& message);  // true: it succeeded
};

bool works(long result) { return result >= 0; }

const std::vector<Attempt> kAttempts = {
    {"open /etc/shadow", [](const Message&) { return works(::open("/etc/shadow", O_RDONLY)); }},
    {"open /etc/passwd", [](const Message&) { return works(::open("/etc/passwd", O_RDONLY)); }},
    {"openat2 /proc/self/maps", [](const Message&) { uint64_t how[3] = {}; return works(::syscall(SYS_openat2, AT_FDCWD, "/proc/self/maps", how, sizeof how)); }},
    {"create a file", [](const Message&) { return works(::creat("/tmp/evil", 0600)); }},
    {"stat /etc", [](const Message&) { struct stat st {}; return works(::stat("/etc", &st)); }},
    {"reopen the handed file for writing", [](const Message& m) { char name[32]; std::snprintf(name, sizeof name, "/proc/self/fd/%d", m.fds[0].get()); return works(::open(name, O_RDWR)); }},
    {"write the handed file", [](const Message& m) { return works(::pwrite(m.fds[0].get(), "x", 1, 0)); }},
    {"change the handed file's mode", [](const Message& m) { return works(::fchmod(m.fds[0].get(), 0777)); }},
    {"map the handed file executable", [](const Message& m) { return ::mmap(nullptr, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, m.fds[0].get(), 0) != MAP_FAILED; }},
    {"map executable memory", [](const Message&) { return ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED; }},
    {"make memory executable", [](const Message&) { void* at = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); return works(::mprotect(at, 4096, PROT_READ | PROT_EXEC)); }},
    {"fork", [](const Message&) { return works(::syscall(SYS_fork)); }},
    {"clone a thread", [](const Message&) { return works(::syscall(SYS_clone, CLONE_VM | CLONE_THREAD | CLONE_SIGHAND, 0, 0, 0, 0)); }},
    {"clone3", [](const Message&) { return works(::syscall(SYS_clone3, nullptr, 0)); }},
    {"execve /bin/sh", [](const Message&) { char* const none[] = {nullptr}; return works(::execve("/bin/sh", none, none)); }},
    {"execveat the handed file", [](const Message& m) { char* const none[] = {nullptr}; return works(::syscall(SYS_execveat, m.fds[0].get(), "", none, none, AT_EMPTY_PATH)); }},
    {"ptrace the collector", [](const Message& m) { return works(::ptrace(PTRACE_ATTACH, static_cast<pid_t>(m.numbers[1]), nullptr, nullptr)); }},
    {"read the collector's memory", [](const Message& m) { char byte; iovec to{&byte, 1}, from{reinterpret_cast<void*>(m.numbers[2]), 1}; return works(::process_vm_readv(static_cast<pid_t>(m.numbers[1]), &to, 1, &from, 1, 0)); }},
    {"signal the collector", [](const Message& m) { return works(::kill(static_cast<pid_t>(m.numbers[1]), SIGCONT)); }},
    {"signal everybody", [](const Message&) { return works(::kill(-1, SIGCONT)); }},
    {"pidfd_open the collector", [](const Message& m) { return works(::syscall(SYS_pidfd_open, m.numbers[1], 0)); }},
    {"socket, TCP", [](const Message&) { return works(::socket(AF_INET, SOCK_STREAM, 0)); }},
    {"socket, Unix", [](const Message&) { return works(::socket(AF_UNIX, SOCK_STREAM, 0)); }},
    {"socketpair", [](const Message&) { int ends[2]; return works(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends)); }},
    {"bpf", [](const Message&) { bpf_attr attr{}; return works(::syscall(SYS_bpf, BPF_MAP_CREATE, &attr, sizeof attr)); }},
    {"perf_event_open", [](const Message&) { return works(::syscall(SYS_perf_event_open, nullptr, 0, -1, -1, 0)); }},
    {"setuid 0", [](const Message&) { return works(::syscall(SYS_setuid, 0)); }},
    {"a user namespace", [](const Message&) { return works(::unshare(CLONE_NEWUSER)); }},
    {"mount", [](const Message&) { return works(::mount("none", "/", "tmpfs", 0, nullptr)); }},
    {"chroot out", [](const Message&) { return works(::chroot("/")); }},
    {"io_uring", [](const Message&) { char parameters[256] = {}; return works(::syscall(SYS_io_uring_setup, 1, parameters)); }},
    {"keyctl", [](const Message&) { return works(::syscall(SYS_keyctl, 0, -3, 0)); }},
    {"shared memory of System V", [](const Message&) { return works(::shmget(IPC_PRIVATE, 4096, IPC_CREAT | 0600)); }},
    {"inotify", [](const Message&) { return works(::inotify_init1(0)); }},
    {"ioctl on the socket", [](const Message&) { int left; return works(::ioctl(Zygote::kSocket, FIONREAD, &left)); }},
    {"more memory than its limit", [](const Message&) { return ::mmap(nullptr, size_t{3} << 30, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED; }},
    {"raise its limits", [](const Message&) { const rlimit all{RLIM_INFINITY, RLIM_INFINITY}; return works(::setrlimit(RLIMIT_DATA, &all)); }},
    {"the limits of the collector", [](const Message& m) { rlimit now{}; return works(::prlimit(static_cast<pid_t>(m.numbers[1]), RLIMIT_DATA, nullptr, &now)); }},
    {"be dumpable", [](const Message&) { return works(::prctl(PR_SET_DUMPABLE, 1, 0, 0, 0)); }},
    {"root's environment", [](const Message&) { return environ[0] != nullptr; }},
    {"the standard output", [](const Message& m) { struct stat null {}, out {}; ::fstat(1, &out); null.st_rdev = m.numbers[3]; return out.st_rdev != null.st_rdev; }},
};

// What a parser does must still work: otherwise everything above would pass for nothing.
bool ordinary(const Message& message) {
  char byte = 0;
  void* mapped = ::mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE, message.fds[0].get(), 0);
  std::vector<char> memory(64 << 20, 'x');
  return mapped != MAP_FAILED && ::pread(message.fds[0].get(), &byte, 1, 0) == 1 && byte == *static_cast<char*>(mapped) && memory.back() == 'x';
}

void twin(Channel channel) {
  const auto message = channel.receive(true);
  if (!message || message->fds.size() != 1) return;
  const size_t which = message->numbers[0];
  Message answer;
  answer.kind = (which == kAttempts.size() ? ordinary(*message) : kAttempts[which].run(*message)) ? 1 : 2;
  static_cast<void>(channel.send(answer));
}

// 1: it succeeded. 2: it failed. 0: it ended the process.
Result<uint32_t> ask(Zygote& zygote, size_t which) {
  static char byte = 'c';
  Zygote::Child child = TRY(zygote.spawn(1000));
  const cicada::UniqueFd file(::open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
  struct stat null {};
  ::stat("/dev/null", &null);
  Message message;
  message.numbers = {which, static_cast<uint64_t>(::getpid()), reinterpret_cast<uint64_t>(&byte), null.st_rdev, 0};
  TRY(child.channel.send(message, {file.get()}));
  const auto answer = child.channel.receive(false, Channel::Clock::now() + std::chrono::seconds(180));
  return answer ? answer->kind : 0;
}

// Is the child in the namespace that this process is in?
bool shares(Zygote& zygote, const char* kind) {
  const auto child = zygote.spawn(1000);
  struct stat ours {}, its {};
  const std::string file = std::string("/ns/") + kind;
  if (!child || ::stat(("/proc/self" + file).c_str(), &ours) != 0) return false;
  return ::stat(("/proc/" + std::to_string(child->pid) + file).c_str(), &its) != 0 || its.st_ino == ours.st_ino;
}

}  // namespace

int main(int argc, char**) {
  if (argc > 1) return cicada::sandbox::run_zygote(&twin, &twin);
  ::setenv("SECRET", "of root", 1);
  ::unsetenv("LD_LIBRARY_PATH");
  auto zygote = Zygote::start({"/proc/self/exe", "zygote"});
  if (!zygote) return std::fprintf(stderr, "no zygote: %s\n", zygote.error().message().c_str()), 1;
  int failed = 0;
  for (const char* kind : {"net", "ipc", "uts"}) {
    const bool shared = shares(**zygote, kind);
    std::printf("%-8s the machine's %s namespace: %s\n", shared ? "WRONG" : "ok", kind, shared ? "it is there" : "not there");
    failed += shared;
  }
  for (size_t i = 0; i <= kAttempts.size(); ++i) {
    const bool may = i == kAttempts.size();
    const char* name = may ? "read, map, ask for memory" : kAttempts[i].name;
    const auto said = ask(**zygote, i);
    const bool right = said && (may ? *said == 1 : *said != 1);
    std::printf("%-8s %s: %s\n", right ? "ok" : "WRONG", name, !said ? said.error().message().c_str() : *said == 1 ? "works" : *said == 2 ? "refused" : "ended it");
    failed += !right;
  }
  return failed == 0 ? 0 : 1;
}
