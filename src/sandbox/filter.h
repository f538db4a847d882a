// SPDX-License-Identifier: Apache-2.0
// A seccomp filter: the system calls that a process may make. Made where there are rights and files, applied where there are none.
#pragma once
#include <vector>

#include "base/result.h"

namespace cicada::sandbox {

// Code under sanitizers makes more system calls, and asks for more memory, than the filters and limits let it.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kLocksDown = false;
#else
inline constexpr bool kLocksDown = true;
#endif

// What a reader may do with sockets and with the terminal; it makes no sockets of its own.
//   kAccepts   take connections from a socket that listens already, and talk over them
//   kTerminal  talk over sockets that it holds; set up the terminal that it holds, but put nothing into its input
enum class Network { kNone, kAccepts, kTerminal };

class Filter {
 public:
  // Reading a mapped file, asking for memory and answering. Any other call ends the process (SIGSYS).
  static Result<Filter> of_parsers();
  // Opening files to read them, and threads, too. Any other call fails (EPERM). Made by the reader: it may send signals to itself.
  static Result<Filter> of_readers(Network network = Network::kNone);
  // For this thread and what it starts. Needs no_new_privs. False: errno says why; EINVAL: there are no filters (emulators of user
  // programs).
  bool apply() const;

 private:
  explicit Filter(std::vector<unsigned char> program) : program_(std::move(program)) {}
  std::vector<unsigned char> program_;  // of struct sock_filter
};

}  // namespace cicada::sandbox
