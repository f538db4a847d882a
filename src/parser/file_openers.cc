// SPDX-License-Identifier: Apache-2.0
//   question   numbers: user · text: name · fds: the root directory, if it is not ours
//   kProgress  while it copies
//   kOpened    numbers: owner, mode, by_user · text: path · fds: the file
//   kRefused   numbers: kind of error · text: why
#include "parser/file_openers.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <filesystem>

#include "base/diagnostics.h"
#include "base/process_state.h"
#include "base/scoped_file_user.h"
#include "parser/protocol.h"
#include "process/images/file_opener.h"

namespace cicada::parser {
namespace {

using sandbox::Channel;
using sandbox::Message;
using symbolize::FileRoot;

enum OpenerKind : uint32_t { kQuestion = 1, kProgress, kOpened, kRefused };

constexpr size_t kCopyBytes = 1 << 20;  // between two signs of progress

// To be read, with a position of its own.
Result<UniqueFd> copy_of(int fd, uint64_t size, const std::string& name, Channel& channel) {
  if (size > FileOpeners::kMaxCopyBytes) {
    return make_error(ErrorKind::kLimit, "{}: larger than {} MiB, on a file system that may not answer", name,
                      FileOpeners::kMaxCopyBytes >> 20);
  }
  const UniqueFd copy(::memfd_create("companion", MFD_CLOEXEC));
  if (!copy) return errno_error(errno, "copy " + name);
  std::vector<uint8_t> bytes(kCopyBytes);
  for (uint64_t at = 0; at < size;) {
    const ssize_t got = ::pread(fd, bytes.data(), std::min<uint64_t>(bytes.size(), size - at), static_cast<off_t>(at));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return errno_error(errno, "read " + name);
    if (got == 0) break;
    if (::pwrite(copy.get(), bytes.data(), static_cast<size_t>(got), static_cast<off_t>(at)) != got)
      return errno_error(errno, "copy " + name);
    at += static_cast<uint64_t>(got);
    Message progress;
    progress.kind = kProgress;
    TRY(channel.send(progress));
  }
  UniqueFd readable(::open(fmt::format("/proc/self/fd/{}", copy.get()).c_str(), O_RDONLY | O_CLOEXEC));
  if (!readable) return errno_error(errno, "copy " + name);
  return readable;
}

// Which files of the kernel one may read, their modes do not say.
bool is_the_kernels(uint32_t magic) {
  constexpr std::array<uint32_t, 5> kMagics{PROC_SUPER_MAGIC, SYSFS_MAGIC, DEBUGFS_MAGIC, TRACEFS_MAGIC, SECURITYFS_MAGIC};
  return std::ranges::find(kMagics, magic) != kMagics.end();
}

struct Found {
  UniqueFd file;
  Message message;
};

Result<Found> find(const Message& question, Channel& channel) {
  const auto user = static_cast<uint32_t>(question.numbers[0]);
  const FileRoot root =
      question.fds.empty() ? FileRoot() : FileRoot(std::make_shared<const UniqueFd>(::fcntl(question.fds[0].get(), F_DUPFD_CLOEXEC, 0)));
  Found found;
  const ScopedFileUser rights(user);
  found.file = TRY(root.open(question.text));
  struct stat st {};
  struct statfs fs {};
  if (::fstat(found.file.get(), &st) != 0 || ::fstatfs(found.file.get(), &fs) != 0) return errno_error(errno, "stat " + question.text);
  std::error_code error;
  const std::filesystem::path real = std::filesystem::read_symlink(fmt::format("/proc/self/fd/{}", found.file.get()), error);
  if (is_the_kernels(static_cast<uint32_t>(fs.f_type)))
    return make_error(ErrorKind::kPermission, "{}: not a file that has debug information", question.text);
  if (process::is_answered_by_others(static_cast<uint32_t>(fs.f_type)) ||
      process::is_disk_of_others(gnu_dev_major(st.st_dev), gnu_dev_minor(st.st_dev))) {
    UniqueFd copy = TRY(copy_of(found.file.get(), static_cast<uint64_t>(st.st_size), question.text, channel));
    found.file = std::move(copy);  // closing the other may hang: before the answer, so that who asked waits for it
  }
  found.message.kind = kOpened;
  found.message.numbers = {st.st_uid, st.st_mode, rights.holds() || st.st_uid == user || (st.st_mode & S_IROTH) != 0};
  found.message.text = error ? question.text : real.string();
  return found;
}

Message refusal(const Error& error) {
  Message message = to_message(error);
  message.kind = kRefused;
  return message;
}

}  // namespace

Result<FileOpeners::Opener> FileOpeners::take(uint32_t user) {
  if (!left_.has_room(user)) return make_error(ErrorKind::kIo, "too many file systems do not answer");
  {
    const std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      Opener opener = std::move(idle_.back());
      idle_.pop_back();
      return opener;
    }
  }
  return std::make_unique<sandbox::Zygote::Child>(TRY(start_()));
}

void FileOpeners::give_back(Opener opener) {
  const std::lock_guard lock(mutex_);
  if (idle_.size() < kMaxIdle) idle_.push_back(std::move(opener));  // else its channel closes, and it ends
}

void FileOpeners::leave(Opener opener, uint32_t user) {
  ::syscall(SYS_pidfd_send_signal, opener->process.get(), SIGKILL, nullptr, 0);
  left_.add(user, std::move(opener->process));
}

Result<FileOpeners::File> FileOpeners::open(const FileRoot& root, const std::string& name, uint32_t user,
                                            const std::stop_token& stop) {
  Message question;
  question.kind = kQuestion;
  question.numbers[0] = user;
  question.text = name;
  const auto give_up = Channel::Clock::now() + kMaxOpen;
  Opener opener;
  Result<void> sent = make_error(ErrorKind::kGone, "");
  for (int tries = 0; !sent && sent.error().kind() == ErrorKind::kGone && tries < 2; ++tries) {  // one that was idle may have been ended
    opener = TRY(take(user));
    sent = root.is_ours() ? opener->channel.send_now(question) : opener->channel.send_now(question, {root.descriptor()});
  }
  const auto is_stopped = [&] { return stop.stop_requested(); };
  Result<Message> answer = Message();
  const auto goes_on = [&] {
    return answer ? answer->kind == kProgress : Channel::Clock::now() < give_up && is_runnable(opener->pid);
  };
  const auto receive = [&] { return opener->channel.receive(true, std::min(give_up, Channel::Clock::now() + silence_), is_stopped); };
  do answer = sent ? receive() : Result<Message>(sent.error());
  while (sent && goes_on() && !is_stopped());
  if (!answer || answer->kind == kProgress) {
    leave(std::move(opener), user);
    if (is_stopped()) return make_error(ErrorKind::kIo, "{}: not opened in time", name);
    diagnostics().warn(name, "its file system does not answer");
    return make_error(ErrorKind::kIo, "{}: its file system does not answer", name);
  }
  give_back(std::move(opener));
  if (answer->kind != kOpened || answer->fds.size() != 1) return error_from(*answer);
  return File{std::move(answer->fds[0]), std::move(answer->text), static_cast<uint32_t>(answer->numbers[0]),
              static_cast<uint32_t>(answer->numbers[1]), answer->numbers[2] != 0};
}

void serve_names(Channel channel) {
  for (;;) {
    const auto question = channel.receive(true);
    if (!question) return;
    const auto found = find(*question, channel);
    const Result<void> sent = found ? channel.send(found->message, {found->file.get()}) : channel.send(refusal(found.error()));
    if (!sent) return;
  }
}

}  // namespace cicada::parser
