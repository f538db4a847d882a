// SPDX-License-Identifier: Apache-2.0
// A socket that listens, made while the process still has the rights to make one.
//
//   ""                    127.0.0.1, the first free port from kFirstPort on
//   "8080", "0"           127.0.0.1 with that port; 0: any
//   "0.0.0.0:8080", "[::1]:8080", "localhost:8080"
//   "unix:/run/me.sock"   mode 0600; the socket of a process that has ended is replaced
//
// The socket file stays when the process ends: by then it may have no right to remove it.
#pragma once
#include <string>

#include "base/result.h"
#include "base/unique_fd.h"

namespace cicada::web {

inline constexpr unsigned kFirstPort = 4747, kMostPortsTried = 20;

struct Listener {
  UniqueFd fd;        // does not block
  std::string where;  // "127.0.0.1:8080", "[::1]:8080" or "unix:/path"
  bool local = true;  // only this machine can connect
};

// Fails: kInvalid (not an address; the path is taken by something that is no socket), kLimit (taken; the message names the next free port),
// kPermission, kNotFound (no such address or directory).
Result<Listener> listen_at(const std::string& where);

}  // namespace cicada::web
