// SPDX-License-Identifier: Apache-2.0
#include "serve/page_door.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <optional>

#include "attach/viewer_socket.h"
#include "base/scoped_file_user.h"
#include "cli/launch/open_in_browser.h"
#include "cli/terminal.h"
#include "sink/flamegraph/html.h"

namespace cicada::cli {
namespace {

constexpr std::string_view kUnix = "unix:";
constexpr size_t kTokenLetters = 32;

Result<std::string> random_token() {
  std::array<uint8_t, 16> bytes{};
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) return errno_error(errno, "random numbers for a token");
  return fmt::format("{:02x}", fmt::join(bytes, ""));
}

// The one of before, so that pages that are open find a server again that was started again. Nothing: it cannot be kept.
std::optional<std::string> kept_token(const InvokingUser& user) {
  const auto folder = attach::folder_of_user(user.uid(), user.gid());
  const ScopedFileUser as_user(user.uid(), user.gid());
  if (!folder || !as_user.holds()) return std::nullopt;
  const UniqueFd file(::open((*folder + "/token").c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600));
  struct stat st {};
  if (!file || ::fstat(file.get(), &st) != 0 || !S_ISREG(st.st_mode) || st.st_uid != user.uid() || (st.st_mode & 077) != 0) return std::nullopt;
  ::flock(file.get(), LOCK_EX);  // two that begin at once
  std::string text(kTokenLetters, '\0');
  if (::pread(file.get(), text.data(), text.size(), 0) == static_cast<ssize_t>(text.size()) && text.find_first_not_of("0123456789abcdef") == std::string::npos) return text;
  const auto fresh = random_token();
  if (!fresh || ::pwrite(file.get(), fresh->data(), fresh->size(), 0) != static_cast<ssize_t>(fresh->size())) return std::nullopt;
  return *fresh;
}

sigset_t stop_signals() {
  sigset_t ends;
  ::sigemptyset(&ends);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) ::sigaddset(&ends, signal);
  return ends;
}

std::vector<std::string> our_names() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0 || name[0] == 0) return {};
  return {name.data()};
}

// Where everybody can connect one has to be named.
std::string reachable(std::string where) {
  for (const std::string_view any : {"0.0.0.0:", "[::]:"})
    if (where.starts_with(any)) return fmt::format("{}:{}", our_names().empty() ? "localhost" : our_names()[0], where.substr(any.size()));
  return where;
}

}  // namespace

void hold_signals() {
  const sigset_t ends = stop_signals();
  ::pthread_sigmask(SIG_BLOCK, &ends, nullptr);
}

Result<PageDoor> open_page_door(const std::string& listen, bool with_token, const InvokingUser& user) {
  PageDoor door{.listener = TRY(web::listen_at(listen)), .token = {}, .address = {}};
  if (!with_token && !door.listener.local) return make_error(ErrorKind::kInvalid, "--no-token: whoever reaches {} could look; it goes with 127.0.0.1 or unix:PATH", door.listener.where);
  if (with_token && door.listener.local) door.token = kept_token(user).value_or("");
  if (with_token && door.token.empty()) door.token = TRY(random_token());
  const std::string path = with_token ? door.token + "/" : "";
  if (door.listener.where.starts_with(kUnix)) {
    const std::string file = door.listener.where.substr(kUnix.size());
    TRY(user.give(file));
    door.address = fmt::format("curl --unix-socket {} http://localhost/{}", file, path);
  } else {
    door.address = fmt::format("http://{}/{}", reachable(door.listener.where), path);
  }
  return door;
}

// Command lines are for everybody to see, and the browser's would have the token: it is given a file that only the user can read.
void open_address(const PageDoor& door, const InvokingUser& user) {
  const auto folder = attach::folder_of_user(user.uid(), user.gid());
  std::string file;
  if (folder) {
    const ScopedFileUser as_user(user.uid(), user.gid());
    file = *folder + "/open.html";
    ::unlink(file.c_str());
    const UniqueFd page(as_user.holds() ? ::open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600) : -1);
    const std::string text = fmt::format("<!doctype html><meta name=\"referrer\" content=\"no-referrer\"><meta http-equiv=\"refresh\" content=\"0;url={0}\"><a href=\"{0}\">cicada</a>\n", door.address);
    if (!page || ::write(page.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size())) file.clear();
  }
  if (file.empty()) print_warning(fmt::format("--open: there is no place for it; open {} yourself", door.address));
  else open_in_browser(file, user);
}

void tell_address(const PageDoor& door, bool open, const InvokingUser& user) {
  print_message(fmt::format("cicada: look at {}\n", door.address));
  if (!door.listener.local) print_warning(fmt::format("--listen {}: who has this address can look from other machines, and who is on the way can read along", door.listener.where));
  if (open) open_address(door, user);
}

Result<void> answer_at(PageDoor& door, serve::LiveContent& content, bool until_killed) {
  web::HttpOptions options;
  options.token = door.token;
  options.controls = !door.token.empty();
  options.hosts = our_names();
  options.policy = fmt::format("{}; frame-ancestors 'none'", sink::live_page_policy());
  const sigset_t ends = stop_signals();
  const auto server = TRY(web::HttpServer::start(std::move(door.listener), std::move(options), content));
  for (int signal = 0; until_killed || signal == 0;)
    if (::sigwait(&ends, &signal) != 0) signal = 0;
  return {};
}

}  // namespace cicada::cli
