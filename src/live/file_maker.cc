// SPDX-License-Identifier: Apache-2.0
#include "live/file_maker.h"

#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <ctime>
#include <optional>
#include <utility>

#include "sink/sink_registry.h"

namespace cicada::live {
namespace {

using sandbox::Channel;
using sandbox::Message;

enum Kind : uint32_t { kMake = 1, kCommit, kDone, kFailed };
constexpr unsigned kMostOfASecond = 100;
constexpr std::string_view kBegin = "cicada";  // of each name

// One that is not there.
std::string new_name(const std::string& extension) {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  ::localtime_r(&now, &local);
  char time[32];
  std::strftime(time, sizeof time, "%Y%m%d-%H%M%S", &local);
  std::string name = fmt::format("cicada-{}{}", time, extension);
  struct stat ignored {};
  for (unsigned i = 2; i < kMostOfASecond && ::lstat(name.c_str(), &ignored) == 0; ++i) name = fmt::format("cicada-{}-{}{}", time, i, extension);
  return name;
}

Result<sink::OutputFile> make(const std::string& path, std::string& name) {
  const std::string extension = path.starts_with(kBegin) ? path.substr(kBegin.size()) : "";
  const auto formats = sink::known_formats();
  if (std::ranges::none_of(formats, [&](const sink::Format& one) { return one.extension == extension; })) return make_error(ErrorKind::kInvalid, "{}: not a format that cicada writes", path);
  name = new_name(extension);
  TRY(sink::check_writable(name, {}));  // not over a recording
  return sink::OutputFile::create(name, {});
}

void work(Channel viewer) {
  std::optional<sink::OutputFile> file;
  for (;;) {
    const Result<Message> asked = viewer.receive(false);
    if (!asked) return;
    Message answer;
    Result<void> done{};
    if (asked->kind == kMake) {
      auto made = make(asked->text, answer.text);
      if (made) file.emplace(std::move(*made));
      else done = made.error();
    } else if (asked->kind == kCommit && file) {
      done = std::exchange(file, std::nullopt)->commit();
    } else {
      return;
    }
    answer.kind = done ? kDone : kFailed;
    if (!done) {
      answer.numbers[0] = static_cast<uint64_t>(done.error().kind());
      answer.text = done.error().message();
    }
    if (!(file ? viewer.send(answer, {file->fd()}) : viewer.send(answer))) return;
  }
}

}  // namespace

Result<UniqueFd> start_file_maker(const cli::InvokingUser& user) {
  auto [ours, theirs] = TRY(Channel::make_pair());
  const pid_t caller = ::getpid(), maker = ::fork();
  if (maker < 0) return errno_error(errno, "start a process that makes files");
  if (maker != 0) return std::move(ours);
  ::prctl(PR_SET_NAME, "cicada-files");
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) ::signal(signal, SIG_IGN);  // it ends with the viewer
  if (::dup2(theirs.get(), STDERR_FILENO + 1) >= 0) ::syscall(SYS_close_range, STDERR_FILENO + 2, ~0U, 0U);
  const bool ready = ::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) == 0 && user.become() && ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && ::getppid() == caller;
  if (ready) work(Channel(UniqueFd(STDERR_FILENO + 1)));
  ::_exit(0);
}

Result<Message> MadeFiles::ask(uint32_t kind, const std::string& path) {
  Message question;
  question.kind = kind;
  question.text = path;
  TRY(maker_.send(question));
  Message answer = TRY(maker_.receive(true));
  if (answer.kind != kDone) return make_error(static_cast<ErrorKind>(answer.numbers[0]), "{}", answer.text);
  return answer;
}

Result<UniqueFd> MadeFiles::open(const std::string& path) {
  Message answer = TRY(ask(kMake, path));
  if (answer.fds.size() != 1) return make_error(ErrorKind::kIo, "write {}: no file came", path);
  name_ = answer.text;
  return std::move(answer.fds[0]);
}

Result<void> MadeFiles::commit(const std::string& path) {
  TRY(ask(kCommit, path));
  return {};
}

}  // namespace cicada::live
