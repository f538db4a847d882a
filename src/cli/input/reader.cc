// SPDX-License-Identifier: Apache-2.0
#include "cli/input/reader.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <climits>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "attach/viewer_socket.h"
#include "base/clean_text.h"
#include "cli/invoking_user.h"
#include "cli/exit_code.h"
#include "cli/quantity.h"
#include "cli/terminal.h"
#include "elf/vdso_image.h"
#include "sandbox/channel.h"
#include "sandbox/read_only.h"
#include "sink/recording/recording_chunks.h"

namespace cicada::cli {
namespace {

using sandbox::Channel;
using sandbox::Message;

constexpr std::chrono::seconds kRecorderTimeout(10);
constexpr std::chrono::seconds kEndTimeout(2);  // that who shows has to give the terminal back
constexpr size_t kMaxRefusal = 200;  // of what it may say instead of a recording
constexpr uint64_t kMaxPipedBytes = uint64_t{2} << 30;
// Of the reader, for its profile and what it makes of it. Recordings take 3 to 30 times their file (recording_reader.cc), and a filter a
// second copy.
constexpr uint64_t kLeastMemory = uint64_t{2} << 30, kMemoryPerByte = 64;

// Standard input, or what a shell's <(…) hands over.
std::optional<int> find_descriptor(std::string_view path) {
  if (path == "-" || path == "/dev/stdin") return STDIN_FILENO;
  constexpr std::string_view kDescriptors = "/dev/fd/";
  if (!path.starts_with(kDescriptors)) return std::nullopt;
  const auto number = parse_number(path.substr(kDescriptors.size()), path);
  return number && *number < INT_MAX ? std::optional(static_cast<int>(*number)) : std::nullopt;
}

// To its end, into memory: formats are read in more than one pass.
Result<UniqueFd> read_pipe(int descriptor, const std::string& name, bool recorder = false) {
  UniqueFd copy(::memfd_create("cicada-input", MFD_CLOEXEC));
  if (!copy) return errno_error(errno, name);
  std::vector<uint8_t> block(1 << 20);
  for (uint64_t all = 0;;) {
    ssize_t size = ::read(descriptor, block.data(), block.size());
    if (recorder && size < 0 && errno == ECONNRESET) size = 0;  // a recorder that has not read what it was asked, but said why
    if (size < 0 && errno == EINTR) continue;
    if (recorder && size < 0 && errno == EAGAIN) return make_error(ErrorKind::kLimit, "{}: no answer for {} s; is it stopped?", name, kRecorderTimeout.count());
    if (size < 0) return errno_error(errno, fmt::format("read {}", name));
    if (size == 0) return copy;
    all += static_cast<uint64_t>(size);
    if (all > kMaxPipedBytes) return make_error(ErrorKind::kLimit, "{}: more than {} GiB from a pipe; give a file", name, kMaxPipedBytes >> 30);
    for (ssize_t done = 0; done < size;) {
      const ssize_t written = ::write(copy.get(), block.data() + done, static_cast<size_t>(size - done));
      if (written <= 0) return errno_error(errno, fmt::format("keep {}", name));
      done += written;
    }
  }
}

// All that a recorder has now. It is to answer, and to send on; it may be stopped.
Result<UniqueFd> read_recorder(const std::string& pid_or_path) {
  const UniqueFd socket = TRY(attach::connect_to_recorder(pid_or_path, InvokingUser::detect().uid()));
  const timeval timeout{kRecorderTimeout.count(), 0};
  ::setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
  const std::string line = fmt::format("{}\n", attach::kOnce);
  const std::string name = fmt::format("recorder {}", pid_or_path);
  // Who has said already why it does not want to does not hear it.
  if (::send(socket.get(), line.data(), line.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(line.size()) && errno != EPIPE) return errno_error(errno, "ask " + name);
  UniqueFd fd = TRY(read_pipe(socket.get(), name, true));
  std::string begin(kMaxRefusal, '\0');
  begin.resize(static_cast<size_t>(std::max<ssize_t>(::pread(fd.get(), begin.data(), begin.size(), 0), 0)));
  if (begin.empty()) return make_error(ErrorKind::kGone, "{}: it ended before it said anything", name);
  if (!begin.starts_with(sink::kRecordingMagic)) return make_error(ErrorKind::kInvalid, "{} says: {}", name, clean_text(begin.substr(0, begin.find('\n'))));
  return fd;
}

// The files of the inputs, opened and mapped by who calls.
struct Inputs {
  std::map<std::string, FileMapping> files;
  std::set<int> descriptors;  // that have been read to their ends
  mode_t mode = 0644;         // of an output that nobody may read who may not read them all
  uint64_t bytes = 0;
};

Result<void> open_input(const std::string& path, bool recorder, Inputs& inputs) {
  if (recorder) {
    const UniqueFd fd = TRY(read_recorder(path));
    inputs.bytes += existing_bytes(fd.get());
    inputs.mode = 0600;  // as the socket
    inputs.files.emplace(path, TRY(FileMapping::map(fd.get(), fmt::format("recorder {}", path))));
    return {};
  }
  const auto descriptor = find_descriptor(path);
  const std::string name = path == "-" ? "standard input" : path;
  if (!descriptor && inputs.files.contains(path)) return {};
  if (descriptor && !inputs.descriptors.insert(*descriptor).second)
    return make_error(ErrorKind::kInvalid, "{}: named twice, and can be read once only", name);
  UniqueFd fd;
  if (!descriptor) fd = TRY(open_regular(path));
  struct stat st {};
  if (::fstat(descriptor ? *descriptor : fd.get(), &st) == 0 && S_ISREG(st.st_mode)) inputs.mode &= st.st_mode | 0600;
  if (descriptor) fd = TRY(read_pipe(*descriptor, name));
  inputs.bytes += existing_bytes(fd.get());
  inputs.files.emplace(path, TRY(FileMapping::map(fd.get(), name)));
  return {};
}

Result<void> check_outputs(const NamedFiles& named, const sink::FileRights& rights) {
  for (const std::string& output : named.outputs) {
    for (const std::string& input : named.inputs) {
      std::error_code ignored;
      if (named.keep_inputs && std::filesystem::equivalent(input, output, ignored))
        return make_error(ErrorKind::kInvalid, "-o {}: is one of the inputs", output);
    }
    TRY(sink::check_writable(output, rights));
  }
  return sink::check_distinct(named.outputs);
}

// What the reader asks who called it for, and the answers: kind kDone, with a descriptor if it was kOpen; or numbers: kind of error · text:
// why.
enum Kind : uint32_t { kOpen = 1, kCommit, kDone, kFailed };  // numbers: which output

// The reader's half.
class Outputs final : public sink::OutputOpener {
 public:
  Outputs(std::vector<std::string> paths, UniqueFd socket) : paths_(std::move(paths)), caller_(std::move(socket)) {}
  Result<UniqueFd> open(const std::string& path) override {
    Message answer = TRY(ask(kOpen, path));
    if (answer.fds.size() != 1) return make_error(ErrorKind::kIo, "write {}: no file came", path);
    return std::move(answer.fds[0]);
  }
  Result<void> commit(const std::string& path) override {
    TRY(ask(kCommit, path));
    return {};
  }

 private:
  Result<Message> ask(Kind kind, const std::string& path) {
    const auto found = std::ranges::find(paths_, path);
    if (found == paths_.end()) return make_error(ErrorKind::kPermission, "write {}: not among the files that were named", path);
    Message question;
    question.kind = kind;
    question.numbers[0] = static_cast<uint64_t>(found - paths_.begin());
    TRY(caller_.send(question));
    Message answer = TRY(caller_.receive(true));
    if (answer.kind != kDone) return make_error(static_cast<ErrorKind>(answer.numbers[0]), "{}", answer.text);
    return answer;
  }
  const std::vector<std::string> paths_;
  Channel caller_;
};

class Files final : public ReaderFiles {
 public:
  Files(Inputs inputs, sink::FileRights rights) : inputs_(std::move(inputs)), rights_(std::move(rights)) {}
  Result<Bytes> input(const std::string& path) const override {
    const auto found = inputs_.files.find(path);
    if (found == inputs_.files.end()) return make_error(ErrorKind::kPermission, "{}: not among the files that were named", path);
    return found->second.bytes();
  }
  sink::FileRights rights() const override { return rights_; }

 private:
  const Inputs inputs_;
  const sink::FileRights rights_;
};

const char* name_of(ReaderKind kind) {
  return kind == ReaderKind::kServes ? "cicada-serves" : kind == ReaderKind::kShows ? "cicada-shows" : "cicada-reader";
}

sandbox::Network network_of(ReaderKind kind) {
  return kind == ReaderKind::kServes ? sandbox::Network::kAccepts : kind == ReaderKind::kShows ? sandbox::Network::kTerminal : sandbox::Network::kNone;
}

// Who calls may have closed his; what is opened then would be taken for them.
void fill_standard_files() {
  int fd;
  while ((fd = ::open("/dev/null", O_RDWR)) >= 0 && fd <= STDERR_FILENO) {
  }
  if (fd >= 0) ::close(fd);
}

// What the caller has open besides is no business of the reader's.
void close_others(ReaderKind kind, std::vector<int> kept) {
  std::sort(kept.begin(), kept.end());
  unsigned from = STDERR_FILENO + 1;
  for (const int fd : kept) {
    if (static_cast<unsigned>(fd) > from) ::syscall(SYS_close_range, from, static_cast<unsigned>(fd) - 1, 0U);
    from = std::max(from, static_cast<unsigned>(fd) + 1);
  }
  ::syscall(SYS_close_range, from, ~0U, 0U);
  if (kind == ReaderKind::kShows) return;
  const UniqueFd nothing(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  ::dup2(nothing.get(), STDIN_FILENO);
}

Result<int> run_here(const Command& command, Invocation invocation, Inputs inputs, sink::FileRights rights,
                     NamedFiles named, UniqueFd socket, pid_t caller) {
  ::prctl(PR_SET_NAME, name_of(named.kind));
  named.kept.push_back(socket.get());
  close_others(named.kind, std::move(named.kept));
  static_cast<void>(elf::open_vdso());  // it is kept
  TRY(sandbox::become_read_only(kLeastMemory + kMemoryPerByte * inputs.bytes, network_of(named.kind)));
  if (::getppid() != caller) return make_error(ErrorKind::kGone, "who called it has ended");
  rights.opener = std::make_shared<Outputs>(std::move(named.outputs), std::move(socket));
  invocation.files = std::make_shared<Files>(std::move(inputs), std::move(rights));
  return command.run(invocation);
}

// The caller's half: until the reader has ended, or says what it cannot mean.
void serve(Channel reader, const std::vector<std::string>& paths, const sink::FileRights& rights) {
  std::vector<std::optional<sink::OutputFile>> files(paths.size());
  std::vector<bool> opened(paths.size());
  for (;;) {
    const Result<Message> asked = reader.receive(false);
    if (!asked || asked->numbers[0] >= paths.size()) return;
    const size_t which = asked->numbers[0];
    std::optional<sink::OutputFile>& file = files[which];
    Result<void> done{};
    if (asked->kind == kOpen && !opened[which]) {
      opened[which] = true;
      auto created = sink::OutputFile::create(paths[which], rights);
      if (created)
        file.emplace(std::move(*created));
      else
        done = created.error();
    } else if (asked->kind == kCommit && file) {
      done = std::exchange(file, std::nullopt)->commit();
    } else {
      return;
    }
    Message answer;
    answer.kind = done ? kDone : kFailed;
    if (!done) {
      answer.numbers[0] = static_cast<uint64_t>(done.error().kind());
      answer.text = done.error().message();
    }
    if (!(file ? reader.send(answer, {file->fd()}) : reader.send(answer))) return;
  }
}

// A server and a view end by signals that who called it may get alone. The reader says how it ended.
pid_t interrupted = 0;
void pass_interrupts_to(pid_t reader, ReaderKind kind) {
  interrupted = reader;
  const auto pass = [](int signal) { ::kill(interrupted, signal); };
  ::signal(SIGINT, pass);
  if (kind != ReaderKind::kShows) return;
  ::signal(SIGTERM, pass);
  ::signal(SIGHUP, pass);
}

Result<int> wait_for(pid_t reader) {
  int status = 0;
  while (::waitpid(reader, &status, 0) < 0) {
    if (errno != EINTR) return errno_error(errno, "wait for the reader");
  }
  if (WIFEXITED(status)) return WEXITSTATUS(status);
  return make_error(ErrorKind::kGone, "the process that reads was ended by signal {} ({})", WTERMSIG(status), ::strsignal(WTERMSIG(status)));
}

}  // namespace

Result<int> run_reader(const Command& command, Invocation invocation) {
  fill_standard_files();
  NamedFiles named = TRY(command.names_files());
  sink::FileRights rights;
  rights.replace_recordings = named.replace_recordings;
  TRY(check_outputs(named, rights));  // before the input is read
  Inputs inputs;
  for (const std::string& path : named.inputs) TRY(open_input(path, named.recorders, inputs));
  rights.mode = inputs.mode;
  auto [ours, theirs] = TRY(Channel::make_pair());
  const pid_t caller = ::getpid(), reader = ::fork();
  if (reader < 0) return errno_error(errno, "start a process that reads");
  if (reader == 0) {
    ours.reset();
    return run_here(command, std::move(invocation), std::move(inputs), std::move(rights), std::move(named), std::move(theirs), caller);
  }
  theirs.reset();
  if (named.kind != ReaderKind::kReads) pass_interrupts_to(reader, named.kind);
  serve(Channel(std::move(ours)), named.outputs, rights);
  return wait_for(reader);
}

Result<pid_t> start_reader(ReaderKind kind, const std::vector<int>& kept, const InvokingUser& user, const std::function<int()>& work) {
  fill_standard_files();
  const pid_t caller = ::getpid(), reader = ::fork();
  if (reader < 0) return errno_error(errno, "start a process that shows what is recorded");
  if (reader != 0) return reader;
  ::prctl(PR_SET_NAME, name_of(kind));
  close_others(kind, kept);
  Result<void> locked = user.become();
  if (locked) locked = sandbox::become_read_only(kLeastMemory, network_of(kind));
  if (locked && ::getppid() == caller) ::_exit(work());
  if (!locked) print_error(locked.error().message());
  ::_exit(kExitFailure);
}

int end_reader(ReaderKind kind, pid_t reader) {
  int status = 0;
  if (kind == ReaderKind::kShows) {
    ::kill(reader, SIGTERM);
    const auto deadline = std::chrono::steady_clock::now() + kEndTimeout;
    while (std::chrono::steady_clock::now() < deadline) {
      if (::waitpid(reader, &status, WNOHANG) != 0) return status;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }
  ::kill(reader, SIGKILL);
  while (::waitpid(reader, &status, 0) < 0 && errno == EINTR) continue;
  return status;
}

}  // namespace cicada::cli
