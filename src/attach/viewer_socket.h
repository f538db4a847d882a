// SPDX-License-Identifier: Apache-2.0
// Where a running recording is found by who wants to look at it: a socket with the recorder's number, in a folder that only its user can enter.
//
//   /run/user/UID/cicada/PID.sock     where that directory is (systemd makes it)
//   /tmp/cicada-UID/PID.sock          elsewhere
//
// Folder and socket belong to the user behind the recorder, also where that runs as root; all that is done there is done as that user. Threads: one.
#pragma once
#include <sys/types.h>

#include <memory>
#include <string>
#include <string_view>

#include "base/process_key.h"
#include "base/result.h"
#include "base/unique_fd.h"

namespace cicada::attach {

// The folder above, of `user`: made if it is not there. Fails: kPermission (it is somebody else's, or open to others).
Result<std::string> folder_of_user(uid_t user, gid_t group);

// What a viewer says, with a newline behind it.
inline constexpr std::string_view kOnce = "cicada-attach 1 once", kFollow = "cicada-attach 1 follow";
// Who follows may say, then: kPause, kResume, kStop; kRecord and behind it the events, a tab, and the processes (sink::Moment): record these from now on.
inline constexpr std::string_view kPause = "pause", kResume = "resume", kStop = "stop", kRecord = "record ";
inline constexpr size_t kMaxLine = 1024;

// Listens; the name goes with it.
class ViewerSocket {
 public:
  // Removes what recorders that were killed have left behind. Fails: kPermission (the folder is somebody else's, or open to others).
  static Result<std::unique_ptr<ViewerSocket>> open(uid_t user, gid_t group);
  static Result<std::unique_ptr<ViewerSocket>> open_in(const std::string& folder, uid_t user, gid_t group);
  ~ViewerSocket();
  ViewerSocket(const ViewerSocket&) = delete;
  ViewerSocket& operator=(const ViewerSocket&) = delete;

  int fd() const { return fd_.get(); }
  const std::string& path() const { return path_; }

 private:
  ViewerSocket(UniqueFd fd, std::string path, uid_t user, gid_t group) : fd_(std::move(fd)), path_(std::move(path)), user_(user), group_(group) {}
  UniqueFd fd_;
  std::string path_;
  uid_t user_;
  gid_t group_;
};

// Who is at the other end may be trusted with what belongs to `user`: root, or that user.
Result<void> check_peer(int socket, uid_t user);

// To the recorder with that number or at that path, as `user`; root looks into everybody's folders. What it says is to be read as strangers' bytes are.
// Fails: kGone (no such recorder; says which there are), kPermission (the socket is a third user's), kLimit (it does not accept).
Result<UniqueFd> connect_to_recorder(const std::string& pid_or_path, uid_t user);

}  // namespace cicada::attach
