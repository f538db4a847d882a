// SPDX-License-Identifier: Apache-2.0
// A zygote that does not answer in time, and answers later: whoever asked first is told so, and whoever asks next has a child of his own.
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "sandbox/zygote.h"

namespace {

using cicada::Result;
using cicada::sandbox::Channel;
using cicada::sandbox::Message;
using cicada::sandbox::Zygote;

// Says who it is and who forked it.
void introduce(Channel channel) {
  Message self;
  self.numbers = {static_cast<uint64_t>(::getpid()), static_cast<uint64_t>(::getppid())};
  static_cast<void>(channel.send(self));
  static_cast<void>(channel.receive(false));
}

template <typename T>
T expect(Result<T> result, const char* what) {
  if (result) return *std::move(result);
  std::printf("%s: %s\n", what, result.error().message().c_str());
  std::exit(1);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && std::string_view(argv[1]) == "--zygote") return cicada::sandbox::run_zygote(introduce, introduce);
  const auto zygote = expect(Zygote::start({"/proc/self/exe", "--zygote"}), "the zygote");
  Zygote::Child first = expect(zygote->spawn_helper(), "the first child");
  const auto zygote_pid = static_cast<pid_t>(expect(first.channel.receive(false), "its word").numbers[1]);
  if (::kill(zygote_pid, SIGSTOP) != 0) return std::perror("stopping the zygote"), 1;
  const auto late = zygote->spawn_helper();
  ::kill(zygote_pid, SIGCONT);
  if (late || late.error().kind() != cicada::ErrorKind::kLimit) return std::puts("a zygote that is stopped was waited for"), 1;
  for (int i = 0; i < 3; ++i) {
    Zygote::Child next = expect(zygote->spawn_helper(), "a child after it");
    const auto pid = static_cast<pid_t>(expect(next.channel.receive(false), "its word").numbers[0]);
    if (pid != next.pid) return std::printf("process %d was called %d\n", pid, next.pid), 1;
  }
  std::puts("each has its own child");
  return 0;
}
