// SPDX-License-Identifier: Apache-2.0
// Where a page is found: a socket that listens, and the word that one has to know. Made by a process that has the rights; used by one that has none.
#pragma once
#include <functional>
#include <string>

#include "base/result.h"
#include "cli/invoking_user.h"
#include "serve/live_content.h"
#include "web/listener.h"

namespace cicada::cli {

struct PageDoor {
  web::Listener listener;
  std::string token;    // empty: none is asked for
  std::string address;  // of the page; for a Unix socket a command that reads it
};

// `listen`: as web::listen_at() has it. Fails: no token, where others than this machine could ask.
Result<PageDoor> open_page_door(const std::string& listen, bool with_token, const InvokingUser& user);
void open_address(const PageDoor& door, const InvokingUser& user);
// Says where it is, and shows it in the user's browser if that is wanted.
void tell_address(const PageDoor& door, bool open, const InvokingUser& user);

// Signals that end a server wait for answer_at(). Before there are threads.
void hold_signals();
// In the process that can only answer: until Ctrl-C, or, if `until_killed`, for ever.
Result<void> answer_at(PageDoor& door, serve::LiveContent& content, bool until_killed);

}  // namespace cicada::cli
