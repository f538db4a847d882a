// SPDX-License-Identifier: Apache-2.0
#include "cli/reader.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <optional>
#include <utility>
#include <vector>

#include "cli/quantity.h"
#include "sandbox/channel.h"
#include "sandbox/read_only.h"
#include "sink/sink_registry.h"

namespace cicada::cli {
namespace {

using sandbox::Channel;
using sandbox::Message;

constexpr uint64_t kMaxPipedBytes = uint64_t{2} << 30;
// Of the reader: a profile takes less than sixteen times its file, and names what their programs are worth.
constexpr uint64_t kLeastMemory = uint64_t{2} << 30, kMemoryPerByte = 16;

// Standard input, or what a shell's <(…) hands over.
std::optional<int> find_descriptor(std::string_view path) {
  if (path == "-" || path == "/dev/stdin") return STDIN_FILENO;
  constexpr std::string_view kDescriptors = "/dev/fd/";
  if (!path.starts_with(kDescriptors)) return std::nullopt;
  const auto number = parse_number(path.substr(kDescriptors.size()), path);
  return number && *number < INT_MAX ? std::optional(static_cast<int>(*number)) : std::nullopt;
}

std::string name_of(const std::string& path) { return path == "-" ? "standard input" : path; }

// To its end, into memory: formats are read in more than one pass.
Result<UniqueFd> read_pipe(int descriptor, const std::string& name) {
  UniqueFd copy(::memfd_create("cicada-input", MFD_CLOEXEC));
  if (!copy) return errno_error(errno, name);
  std::vector<uint8_t> block(1 << 20);
  for (uint64_t all = 0;;) {
    const ssize_t size = ::read(descriptor, block.data(), block.size());
    if (size < 0 && errno == EINTR) continue;
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

struct Input {
  std::string path;
  UniqueFd fd;
};
struct Output {
  std::string path;
  sink::OutputFile file;
};
struct OpenFiles {
  std::vector<Input> inputs;
  std::vector<Output> outputs;
  sink::FileRights rights;
  uint64_t bytes = 0;  // of the inputs
};

Result<void> open_input(const std::string& path, OpenFiles& files) {
  const auto descriptor = find_descriptor(path);
  UniqueFd fd = descriptor ? TRY(read_pipe(*descriptor, name_of(path))) : TRY(open_regular(path));
  struct stat st {};
  if (::fstat(fd.get(), &st) != 0) return errno_error(errno, path);
  if (!descriptor) files.rights.mode &= st.st_mode | 0600;
  files.bytes += existing_bytes(fd.get());
  files.inputs.push_back({path, std::move(fd)});
  return {};
}

Result<OpenFiles> open_files(const NamedFiles& named) {
  OpenFiles files;
  files.rights.replace_recordings = named.replace_recordings;
  for (const std::string& path : named.inputs) TRY(open_input(path, files));
  if (named.keep_inputs) {
    for (const std::string& output : named.outputs) {
      for (const std::string& input : named.inputs) {
        std::error_code ignored;
        if (std::filesystem::equivalent(input, output, ignored)) return make_error(ErrorKind::kInvalid, "-o {}: is one of the inputs", output);
      }
    }
  }
  TRY(sink::check_distinct(named.outputs));
  for (const std::string& path : named.outputs) {
    TRY(sink::check_writable(path, files.rights));
    if (!sink::is_standard_output(path)) files.outputs.push_back({path, TRY(sink::OutputFile::create(path, files.rights))});
  }
  return files;
}

// In the reader. A commit is a question to who called it.
class Outputs final : public sink::OutputOpener {
 public:
  Outputs(std::vector<Output> outputs, UniqueFd socket) : outputs_(std::move(outputs)), caller_(std::move(socket)) {
    for (Output& output : outputs_) output.file.leave();
  }
  Result<UniqueFd> open(const std::string& path) override {
    UniqueFd copy(::fcntl(outputs_[TRY(find(path))].file.fd(), F_DUPFD_CLOEXEC, 3));
    if (!copy) return errno_error(errno, fmt::format("write {}", path));
    return copy;
  }
  Result<void> commit(const std::string& path) override {
    Message whole;
    whole.numbers[0] = TRY(find(path));
    TRY(caller_.send(whole));
    const Message answer = TRY(caller_.receive(false));
    if (answer.text.empty()) return {};
    return make_error(static_cast<ErrorKind>(answer.kind), "{}", answer.text);
  }

 private:
  Result<size_t> find(const std::string& path) const {
    const auto found = std::ranges::find(outputs_, path, &Output::path);
    if (found == outputs_.end()) return make_error(ErrorKind::kPermission, "write {}: not among the files that were named", path);
    return static_cast<size_t>(found - outputs_.begin());
  }
  std::vector<Output> outputs_;
  Channel caller_;
};

class Files final : public ReaderFiles {
 public:
  Files(OpenFiles files, UniqueFd socket) : inputs_(std::move(files.inputs)), rights_(std::move(files.rights)) {
    rights_.opener = std::make_shared<Outputs>(std::move(files.outputs), std::move(socket));
  }
  Result<FileMapping> input(const std::string& path) const override {
    const auto found = std::ranges::find(inputs_, path, &Input::path);
    if (found == inputs_.end()) return make_error(ErrorKind::kPermission, "{}: not among the files that were named", path);
    return FileMapping::map(found->fd.get(), name_of(path));
  }
  sink::FileRights rights() const override { return rights_; }

 private:
  std::vector<Input> inputs_;
  sink::FileRights rights_;
};

// What the caller has open besides is no business of the reader's.
void close_others(const OpenFiles& files, int socket) {
  std::vector<int> kept{socket};
  for (const Input& input : files.inputs) kept.push_back(input.fd.get());
  for (const Output& output : files.outputs) kept.push_back(output.file.fd());
  std::ranges::sort(kept);
  unsigned from = STDERR_FILENO + 1;
  for (const int fd : kept) {
    if (static_cast<unsigned>(fd) > from) ::syscall(SYS_close_range, from, static_cast<unsigned>(fd) - 1, 0U);
    from = static_cast<unsigned>(fd) + 1;
  }
  ::syscall(SYS_close_range, from, ~0U, 0U);
  const UniqueFd nothing(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  ::dup2(nothing.get(), STDIN_FILENO);
}

Result<int> run_here(const Command& command, Invocation invocation, OpenFiles files, UniqueFd socket, pid_t caller) {
  ::prctl(PR_SET_NAME, "cicada-reader");
  close_others(files, socket.get());
  TRY(sandbox::become_read_only(kLeastMemory + kMemoryPerByte * files.bytes));
  if (::getppid() != caller) return make_error(ErrorKind::kGone, "who called it has ended");
  invocation.files = std::make_shared<Files>(std::move(files), std::move(socket));
  return command.run(invocation);
}

// Until the reader has ended.
void commit_what_is_whole(Channel& reader, std::vector<Output>& outputs) {
  std::vector<bool> done(outputs.size());
  for (;;) {
    const Result<Message> whole = reader.receive(false);
    if (!whole) return;
    const uint64_t which = whole->numbers[0];
    if (which >= outputs.size() || done[which]) return;
    done[which] = true;
    Message answer;
    if (const Result<void> committed = outputs[which].file.commit(); !committed) {
      answer.kind = static_cast<uint32_t>(committed.error().kind());
      answer.text = committed.error().message();
    }
    if (!reader.send(answer)) return;
  }
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
  OpenFiles files = TRY(open_files(command.names_files()));
  auto [ours, theirs] = TRY(Channel::make_pair());
  const pid_t caller = ::getpid(), reader = ::fork();
  if (reader < 0) return errno_error(errno, "start a process that reads");
  if (reader == 0) {
    ours.reset();
    return run_here(command, std::move(invocation), std::move(files), std::move(theirs), caller);
  }
  theirs.reset();
  Channel channel(std::move(ours));
  commit_what_is_whole(channel, files.outputs);
  return wait_for(reader);
}

}  // namespace cicada::cli
