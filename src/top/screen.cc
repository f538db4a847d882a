// SPDX-License-Identifier: Apache-2.0
// ncurses knows the terminal and sends what differs. What it is not asked for:
//   the size: it prefers LINES and COLUMNS to the terminal, ends the process if that says 65,535 × 65,535, and its handler of SIGWINCH wakes nobody who
//   waits in poll(). Ours writes to a pipe.
//   the mouse: where terminfo names the old protocol it is lost behind column 223, clicks are waited for, and on the Linux console it loads a library
//   and connects to a daemon. The new protocol is asked for and read here.
//   typeahead: it would leave a picture half sent while keys come.
// Once open_screen() is done, nothing is opened: the process may be locked up (sandbox/read_only.h).
#include "top/screen.h"

#include <fcntl.h>
#include <langinfo.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <clocale>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cwchar>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/clean_text.h"
#include "base/unique_fd.h"
#include "top/approximation.h"

#define NCURSES_NOMACROS 1
#include <curses.h>
#include <term.h>  // last: it makes macros of many words

namespace cicada::top {
namespace {

constexpr int kEscapeDelay = 25;  // milliseconds until Escape is no beginning of another key
constexpr auto kDoubleClick = std::chrono::milliseconds(400);
// A terminal may say that it has 65,535 × 65,535 letters.
constexpr int kMostWidth = 1000, kMostHeight = 300;
constexpr int kMostPairs = 4096;
// From so many changed letters on a terminal is asked to show them at once.
constexpr int kManyLetters = 100;

constexpr std::array kSignals = {SIGINT, SIGTERM, SIGTSTP, SIGWINCH};  // which newterm() handles
int resize_signal = -1;

void note_resize(int) {
  const int before = errno;
  if (::write(resize_signal, "", 1) < 0) errno = before;
}

bool is_there(const char* capability) { return capability != nullptr && capability != reinterpret_cast<const char*>(-1); }

void write_all(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t size = ::write(STDOUT_FILENO, bytes.data(), bytes.size());
    if (size > 0) {
      bytes.remove_prefix(static_cast<size_t>(size));
    } else if (errno == EAGAIN) {
      pollfd until{STDOUT_FILENO, POLLOUT, 0};
      ::poll(&until, 1, -1);
    } else if (errno != EINTR) {
      return;
    }
  }
}

// Whether letters outside ASCII can be shown. The widths of letters need UTF-8 also where they cannot.
bool choose_locale() {
  const auto is_utf8 = [] { return std::string_view(::nl_langinfo(CODESET)) == "UTF-8"; };
  if (std::setlocale(LC_CTYPE, "") != nullptr && is_utf8()) return true;
  std::string named;
  for (const char* variable : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    if (const char* value = std::getenv(variable); named.empty() && value != nullptr) named = value;
  }
  std::transform(named.begin(), named.end(), named.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  const bool says_utf8 = named.find("utf-8") != named.npos || named.find("utf8") != named.npos;
  if (std::setlocale(LC_CTYPE, "C.UTF-8") == nullptr) std::setlocale(LC_CTYPE, "C");
  return says_utf8 && is_utf8();
}

struct Size {
  int width = 0, height = 0;
  bool operator==(const Size&) const = default;
};
// 0 × 0: it does not know, as behind a serial line.
Size size_of_terminal() {
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0 || size.ws_row == 0) return {};
  return {std::min<int>(size.ws_col, kMostWidth), std::min<int>(size.ws_row, kMostHeight)};
}

// What wget_wch gives.
struct Unit {
  bool is_key = false;  // else a letter
  wint_t value = 0;
};

struct Look {
  attr_t attributes = 0;
  int pair = 0;
};

std::string name_of_terminal() {
  const char* named = std::getenv("TERM");
  return named != nullptr ? named : "";
}

class Curses final : public Screen {
 public:
  static Result<std::unique_ptr<Screen>> open(const std::string& terminal);
  ~Curses() override;
  int width() const override { return size_.width; }
  int height() const override { return size_.height; }
  bool has_colours() const override { return palette_ != Palette::kNone; }
  void show(const Grid& grid) override;
  std::optional<Input> next() override;
  int fd() const override { return events_.get(); }
  void send(std::string_view sequence) override { write_all(sequence); }

 private:
  enum class Palette { kNone, k8, k256, kDirect };

  Curses() = default;
  Result<void> watch();
  void choose_colours();
  void take_size(Size now);
  bool resized();
  void redraw();

  int number_of(uint32_t colour) const;
  int pair_of(int ink, int ground);
  Look look_of(const Style& style);
  char32_t letter_of(char32_t letter) const;
  int put_rows(const Grid& grid);

  std::optional<Unit> take_unit(int wait_ms);
  std::optional<Input> input_of(const Unit& unit);
  std::optional<Input> after_escape();
  std::optional<Input> sequence();
  std::optional<Input> mouse(int button, int x, int y);
  bool has_gone() const;

  SCREEN* screen_ = nullptr;
  WINDOW* keys_ = nullptr;  // a pad: reading from a window would refresh it
  UniqueFd events_, resizes_, resize_signal_;
  std::array<struct sigaction, kSignals.size()> before_{};
  Size size_, asked_;

  bool all_letters_ = true;    // else ASCII only
  bool few_pictures_ = false;  // its font has few of them
  bool has_mouse_ = false;
  bool is_emulator_ = false;  // knows what ncurses does not
  Palette palette_ = Palette::kNone;
  bool usual_colours_ = true;
  int most_pairs_ = 0;
  std::unordered_map<uint64_t, int> pairs_;
  bool out_of_pairs_ = false;

  std::vector<Cell> drawn_;  // empty: nothing of it is known
  std::vector<cchar_t> row_;
  std::optional<Unit> kept_;
  std::chrono::steady_clock::time_point clicked_;
  int click_x_ = -1, click_y_ = -1;
  bool waited_ = false;  // since then
};

Result<std::unique_ptr<Screen>> Curses::open(const std::string& terminal) {
  std::unique_ptr<Curses> made(new Curses);
  for (size_t i = 0; i < kSignals.size(); ++i) ::sigaction(kSignals[i], nullptr, &made->before_[i]);
  made->all_letters_ = choose_locale();
  // Later a conversion could want a file.
  std::array<char, 64> bytes{};
  std::mbstate_t state{};
  if (std::wcrtomb(bytes.data(), L'x', &state) != 1) return make_error(ErrorKind::kUnsupported, "letters of this locale cannot be shown");
  made->asked_ = size_of_terminal();
  ::use_env(FALSE);
  ::use_tioctl(made->asked_.width > 0 && made->asked_.width < kMostWidth && made->asked_.height < kMostHeight);
  made->screen_ = ::newterm(terminal.c_str(), stdout, stdin);
  if (made->screen_ == nullptr) return make_error(ErrorKind::kUnsupported, "the terminal \"{}\" cannot be used", clean_text(terminal));
  ::set_escdelay(kEscapeDelay);
  ::raw();
  ::noecho();
  ::nonl();
  ::curs_set(0);
  ::typeahead(-1);
  ::leaveok(stdscr, TRUE);
  made->keys_ = ::newpad(1, 1);
  if (made->keys_ == nullptr) return make_error(ErrorKind::kLimit, "no memory for a screen");
  ::keypad(made->keys_, TRUE);
  ::nodelay(made->keys_, TRUE);
  made->choose_colours();
  const bool is_console = terminal.compare(0, 5, "linux") == 0;
  made->few_pictures_ = is_console;
  made->is_emulator_ = !is_console && is_there(::tigetstr("kmous"));
  TRY(made->watch());
  made->take_size(made->asked_);
  if (made->is_emulator_) {
    ::keyok(KEY_MOUSE, FALSE);
    made->has_mouse_ = true;
    write_all("\x1b[?1002h\x1b[?1006h");
  }
  return std::unique_ptr<Screen>(std::move(made));
}

Curses::~Curses() {
  if (screen_ != nullptr) {
    if (has_mouse_) write_all("\x1b[?1006l\x1b[?1002l");
    if (keys_ != nullptr) ::delwin(keys_);
    if (!is_there(::tigetstr("rmcup"))) {  // the shell goes on in the last row
      ::wmove(stdscr, LINES - 1, 0);
      ::wclrtoeol(stdscr);
      ::wrefresh(stdscr);
    }
    ::endwin();
    ::delscreen(screen_);
  }
  for (size_t i = 0; i < kSignals.size(); ++i) ::sigaction(kSignals[i], &before_[i], nullptr);
}

// Keys, and changes of the size.
Result<void> Curses::watch() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) return errno_error(errno, "make a pipe");
  resizes_ = UniqueFd(ends[0]);
  resize_signal_ = UniqueFd(ends[1]);
  events_ = UniqueFd(::epoll_create1(EPOLL_CLOEXEC));
  for (const int fd : {STDIN_FILENO, resizes_.get()}) {
    epoll_event event{};
    event.events = EPOLLIN;
    if (::epoll_ctl(events_.get(), EPOLL_CTL_ADD, fd, &event) != 0) return errno_error(errno, "wait for the terminal");
  }
  resize_signal = resize_signal_.get();
  struct sigaction action {};
  action.sa_handler = &note_resize;
  action.sa_flags = SA_RESTART;
  ::sigaction(SIGWINCH, &action, nullptr);
  sigset_t set;
  ::sigemptyset(&set);
  ::sigaddset(&set, SIGWINCH);
  ::pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
  return {};
}

void Curses::choose_colours() {
  if (!::has_colors() || ::start_color() == ERR || COLORS < 8) return;
  usual_colours_ = ::use_default_colors() == OK;
  const char* bits = ::tigetstr("RGB");
  const bool direct = ::tigetflag("RGB") > 0 || ::tigetnum("RGB") > 0 || is_there(bits);
  palette_ = direct && COLORS == 1 << 24 ? Palette::kDirect : COLORS >= 256 ? Palette::k256 : Palette::k8;
  most_pairs_ = std::min(COLOR_PAIRS, kMostPairs);
}

void Curses::take_size(Size now) {
  if (now.width > 0 && (now.width != COLS || now.height != LINES)) ::resize_term(now.height, now.width);
  size_ = {::getmaxx(stdscr), ::getmaxy(stdscr)};
  ::werase(stdscr);
  drawn_.clear();
}

bool Curses::resized() {
  std::array<char, 64> bytes;
  while (::read(resizes_.get(), bytes.data(), bytes.size()) > 0) continue;
  const Size now = size_of_terminal();
  if (now == asked_ || now == Size{}) return false;
  asked_ = now;
  take_size(now);
  ::clearok(curscr, TRUE);  // terminals move lines about when their size changes
  return true;
}

void Curses::redraw() {
  ::clearok(curscr, TRUE);
  ::wrefresh(curscr);
}

// -1: the usual one.
int Curses::number_of(uint32_t colour) const {
  if (colour == kUsual) return -1;
  switch (palette_) {
    case Palette::kNone: return -1;
    case Palette::k8: return nearest_of_8(colour);
    case Palette::k256: return nearest_of_256(colour);
    case Palette::kDirect: return colour < 256 ? 0 : static_cast<int>(colour);  // the first are a palette
  }
  return -1;
}

int Curses::pair_of(int ink, int ground) {
  if (!usual_colours_) {
    if (ink < 0) ink = palette_ == Palette::kDirect ? 0xc0c0c0 : 7;
    if (ground < 0) ground = 0;
  }
  if (ink < 0 && ground < 0 && pairs_.empty()) return 0;  // later the usual ones are a pair, too: a change to none takes one sequence more
  const uint64_t key = static_cast<uint64_t>(static_cast<uint32_t>(ink)) << 32 | static_cast<uint32_t>(ground);
  if (const auto found = pairs_.find(key); found != pairs_.end()) return found->second;
  const int pair = static_cast<int>(pairs_.size()) + 1;
  if (pair >= most_pairs_ || ::init_extended_pair(pair, ink, ground) == ERR) {
    out_of_pairs_ = true;
    return 0;
  }
  pairs_.emplace(key, pair);
  return pair;
}

Look Curses::look_of(const Style& style) {
  attr_t attributes = (style.bold ? A_BOLD : 0) | (style.dim ? A_DIM : 0) | (style.underline ? A_UNDERLINE : 0) | (style.reverse ? A_REVERSE : 0);
  const int ground = number_of(style.ground);
  int ink = number_of(style.ink);
  if (palette_ == Palette::k8) {
    if (ground >= 0) ink = readable_on(ground);
    else if (ink == 0 || ink == 7) ink = -1;  // could be that of the ground
  }
  const int pair = palette_ == Palette::kNone ? 0 : pair_of(ink, ground);
  if (pair == 0 && style.ground != kUsual) attributes ^= A_REVERSE;
  return {attributes, pair};
}

char32_t Curses::letter_of(char32_t letter) const {
  if (letter < 0x80 || (all_letters_ && !few_pictures_)) return letter;
  const char32_t other = stand_in(letter);
  return other < 0x80 || all_letters_ ? other : U'?';
}

// How many letters differ from what is there.
int Curses::put_rows(const Grid& grid) {
  const int width = std::min(grid.width(), size_.width), height = std::min(grid.height(), size_.height);
  const size_t cells = static_cast<size_t>(size_.width) * static_cast<size_t>(size_.height);
  if (drawn_.size() != cells) {
    ::werase(stdscr);
    drawn_.assign(cells, Cell{});
  }
  int changed = 0;
  Style style;
  Look look = look_of(style);
  for (int y = 0; y < height; ++y) {
    Cell* drawn = drawn_.data() + static_cast<size_t>(y) * static_cast<size_t>(size_.width);
    int differs = 0;
    for (int x = 0; x < width; ++x) differs += drawn[x] != grid.at(x, y) ? 1 : 0;
    if (differs == 0) continue;
    changed += differs;
    row_.clear();
    for (int x = 0; x < width; ++x) {
      const Cell& cell = drawn[x] = grid.at(x, y);
      if (cell.letter == 0 && x > 0) {
        if (!all_letters_) row_.push_back(row_.back());  // "?" for each column
        continue;
      }
      if (cell.style != style) look = look_of(style = cell.style);
      const bool cut = x + 1 == width && width < grid.width() && grid.at(x + 1, y).letter == 0;
      const std::array<wchar_t, 2> letter = {static_cast<wchar_t>(cut || cell.letter == 0 ? U' ' : letter_of(cell.letter)), L'\0'};
      cchar_t out{};
      if (::setcchar(&out, letter.data(), look.attributes, 0, &look.pair) == ERR) ::setcchar(&out, L"?", look.attributes, 0, &look.pair);
      row_.push_back(out);
    }
    ::mvwadd_wchnstr(stdscr, y, 0, row_.data(), static_cast<int>(row_.size()));
  }
  return changed;
}

void Curses::show(const Grid& grid) {
  out_of_pairs_ = false;
  int changed = put_rows(grid);
  if (out_of_pairs_) {  // those of pictures that are gone
    ::reset_color_pairs();
    pairs_.clear();
    drawn_.clear();
    ::clearok(curscr, TRUE);
    changed = put_rows(grid);
  }
  const bool at_once = is_emulator_ && changed >= kManyLetters;
  if (at_once) write_all("\x1b[?2026h");
  ::wnoutrefresh(stdscr);
  ::doupdate();
  if (at_once) write_all("\x1b[?2026l");
}

// ---- keys ------------------------------------------------------------------------------------------------------------

std::optional<Unit> Curses::take_unit(int wait_ms) {
  if (kept_) return std::exchange(kept_, std::nullopt);
  wint_t value = 0;
  int code = ::wget_wch(keys_, &value);
  if (code == ERR && wait_ms > 0) {
    pollfd until{STDIN_FILENO, POLLIN, 0};
    if (::poll(&until, 1, wait_ms) > 0) code = ::wget_wch(keys_, &value);
  }
  if (code == ERR) return std::nullopt;
  return Unit{code == KEY_CODE_YES, value};
}

std::optional<Input> Curses::next() {
  if (resized()) return Input{.kind = Input::Kind::kResize};
  while (const auto unit = take_unit(0)) {
    if (const auto input = input_of(*unit)) return input;
  }
  waited_ = true;
  if (has_gone()) return Input{.kind = Input::Kind::kInterrupt};
  return std::nullopt;
}

bool Curses::has_gone() const {
  pollfd now{STDIN_FILENO, POLLIN, 0};
  return ::poll(&now, 1, 0) > 0 && (now.revents & (POLLHUP | POLLERR | POLLNVAL)) != 0;
}

std::optional<Input> Curses::input_of(const Unit& unit) {
  using Kind = Input::Kind;
  const auto key = [](Kind kind) { return Input{.kind = kind}; };
  if (unit.is_key) {
    switch (unit.value) {
      case KEY_UP: return key(Kind::kUp);
      case KEY_DOWN: return key(Kind::kDown);
      case KEY_LEFT: return key(Kind::kLeft);
      case KEY_RIGHT: return key(Kind::kRight);
      case KEY_PPAGE:
      case KEY_A3: return key(Kind::kPageUp);
      case KEY_NPAGE:
      case KEY_C3: return key(Kind::kPageDown);
      case KEY_HOME:
      case KEY_FIND:
      case KEY_A1: return key(Kind::kHome);
      case KEY_END:
      case KEY_SELECT:
      case KEY_C1: return key(Kind::kEnd);
      case KEY_ENTER: return key(Kind::kEnter);
      case KEY_BACKSPACE: return key(Kind::kBackspace);
      case KEY_BTAB: return key(Kind::kBackTab);
      default: return std::nullopt;
    }
  }
  switch (unit.value) {
    case 0x03: return key(Kind::kInterrupt);
    case 0x08:
    case 0x7f: return key(Kind::kBackspace);
    case 0x09: return key(Kind::kTab);
    case 0x0a:
    case 0x0d: return key(Kind::kEnter);
    case 0x0c: redraw(); return std::nullopt;
    case 0x1b: return after_escape();
    default: break;
  }
  if (unit.value < 0x20 || (unit.value >= 0x80 && unit.value < 0xa0)) return std::nullopt;
  return Input{.kind = Kind::kLetter, .letter = static_cast<char32_t>(unit.value)};
}

// As terminals send them that do not do what terminfo says: with "[" for "O", or the other way round.
std::optional<Input> cursor_key(char letter) {
  using Kind = Input::Kind;
  constexpr std::pair<char, Kind> kKeys[] = {{'A', Kind::kUp}, {'B', Kind::kDown}, {'C', Kind::kRight}, {'D', Kind::kLeft}, {'H', Kind::kHome}, {'F', Kind::kEnd}, {'Z', Kind::kBackTab}};
  for (const auto& [sent, kind] : kKeys)
    if (sent == letter) return Input{.kind = kind};
  return std::nullopt;
}

// ncurses has waited kEscapeDelay for a key that it knows.
std::optional<Input> Curses::after_escape() {
  const auto first = take_unit(0);
  if (first && !first->is_key && first->value == '[') return sequence();
  if (first && !first->is_key && first->value == 'O') {
    const auto last = take_unit(kEscapeDelay);
    return last && !last->is_key ? cursor_key(static_cast<char>(last->value)) : std::nullopt;
  }
  kept_ = first;
  return Input{.kind = Input::Kind::kEscape};
}

// A control sequence up to its end, so that nothing of it is taken for letters. Of those that ncurses does not know, the mouse's and some cursor keys say something.
std::optional<Input> Curses::sequence() {
  std::string text;
  while (text.size() < 64) {
    const auto unit = take_unit(kEscapeDelay);
    if (!unit || unit->is_key || unit->value >= 0x7f || unit->value < 0x20) return std::nullopt;
    text += static_cast<char>(unit->value);
    if (unit->value >= 0x40) break;
  }
  int button = 0, x = 0, y = 0;
  char end = 0;
  if (text == "M") {  // the old protocol, whose coordinates are letters
    for (int* value : {&button, &x, &y}) {
      const auto unit = take_unit(kEscapeDelay);
      if (!unit || unit->is_key || unit->value < 0x20) return std::nullopt;
      *value = static_cast<int>(unit->value) - 0x20;
    }
    return mouse(button, x, y);
  }
  if (std::sscanf(text.c_str(), "<%5d;%5d;%5d%c", &button, &x, &y, &end) == 4 && end == 'M') return mouse(button, x, y);
  return text.size() == 1 ? cursor_key(text[0]) : std::nullopt;
}

// A press is a click: what is shown then does not wait for the release.
std::optional<Input> Curses::mouse(int button, int x, int y) {
  using Kind = Input::Kind;
  constexpr int kModifiers = 4 | 8 | 16;
  button &= ~kModifiers;
  if (x < 1 || y < 1 || x > size_.width || y > size_.height) return std::nullopt;
  Input input{.kind = Kind::kClick, .x = x - 1, .y = y - 1};
  switch (button) {
    case 64: input.kind = Kind::kWheelUp; return input;
    case 65: input.kind = Kind::kWheelDown; return input;
    case 0: break;
    case 32: input.kind = Kind::kDrag; return input;
    default: return std::nullopt;
  }
  const auto now = std::chrono::steady_clock::now();
  const bool again = click_x_ == input.x && click_y_ == input.y && (!waited_ || now - clicked_ < kDoubleClick);
  if (again) input.kind = Kind::kDoubleClick;
  clicked_ = now;
  click_x_ = again ? -1 : input.x;  // the third is a first
  click_y_ = input.y;
  waited_ = false;
  return input;
}

}  // namespace

Result<void> check_terminal() {
  constexpr std::string_view kInstead = "`cicada record` writes a recording, `cicada report FILE` a text, `cicada top --json` lines";
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO})
    if (::isatty(fd) == 0) return make_error(ErrorKind::kUnsupported, "standard {} is no terminal, and `cicada top` draws on one; {}", fd == STDIN_FILENO ? "input" : "output", kInstead);
  const std::string terminal = name_of_terminal();
  if (terminal.empty()) return make_error(ErrorKind::kUnsupported, "TERM is not set: what this terminal can do is not known; {}", kInstead);
  int known = 0;
  if (::setupterm(terminal.c_str(), STDOUT_FILENO, &known) != OK)
    return make_error(ErrorKind::kUnsupported, "the terminal \"{}\" (TERM) is not known on this machine; TERM=xterm or TERM=vt100 may do, or {}", clean_text(terminal), kInstead);
  const bool places = is_there(::tigetstr("cup")) && is_there(::tigetstr("clear"));
  ::del_curterm(cur_term);
  if (!places) return make_error(ErrorKind::kUnsupported, "the terminal \"{}\" (TERM) can only print lines; {}", clean_text(terminal), kInstead);
  return {};
}

Result<std::unique_ptr<Screen>> open_screen() {
  TRY(check_terminal());
  return Curses::open(name_of_terminal());
}

}  // namespace cicada::top
