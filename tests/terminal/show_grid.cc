// SPDX-License-Identifier: Apache-2.0
// show_grid [--inputs FILE]: what the tests of the terminal look at. Opens the screen, is locked up as `cicada top` is, shows one grid with colours, wide
// letters and hostile names, and writes what was pressed to FILE, a line each, once the screen shows it. t: counts on.
// c: other colours. q, the third interrupt or
// SIGTERM: ends.
#include <poll.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <string>

#include "sandbox/read_only.h"
#include "sink/flamegraph/palette.h"
#include "top/screen.h"

using namespace cicada;
using top::Grid;
using top::Input;
using top::Style;

namespace {

volatile std::sig_atomic_t ended = 0;

uint32_t number_of(std::string_view colour) { return static_cast<uint32_t>(std::stoul(std::string(colour.substr(1)), nullptr, 16)); }

void draw(Grid& grid, bool colours, int ticks, uint32_t change) {
  const int width = grid.width(), height = grid.height();
  for (int y = 0; y < height; ++y) grid.put_right(width, y, "<");
  int y = 0;
  grid.put(0, y++, fmt::format("{}x{} ticks {} {}", width, height, ticks, colours ? "colours" : "plain"), {.bold = true}, width - 1);
  for (const std::string_view text : {"wide[日本語]", "bar[▏█▁▂▃▄▅▆▇│…]", "marks[e\u0301a\u0323\u0300o]", "esc[\x1b[31m\x1b]0;owned\x07]", "rtl[\u202eab\u202c\u05d0]", "bytes[\xff\xc3(]"})
    grid.put(0, y++, text, {}, width - 1);
  // A letter for each kind, one cell for each of its shades.
  int x = 0;
  for (const auto& kind : sink::kKinds) {
    for (const auto& shade : kind.shades) x += grid.put(x, y, kind.text.substr(0, 1), {.ink = 0x1b1f27, .ground = number_of(shade) ^ change});
  }
  ++y;
  x = 0;
  for (const auto& [text, style] : {std::pair<std::string_view, Style>{"bold", {.bold = true}}, {"dim", {.dim = true}}, {"line", {.underline = true}},
                                    {"reverse", {.reverse = true}}, {"red", {.ink = 0xd03030}}, {"grey", {.ink = 0x808080}}})
    x += grid.put(x, y, text, style, width - 1 - x) + 1;
  grid.fill({0, height - 1, width, 1}, {}, U'=');
}

std::string text_of(const Input& input) {
  constexpr std::string_view kNames[] = {"letter", "up", "down", "left", "right", "page-up", "page-down", "home", "end", "enter", "escape", "backspace", "tab", "back-tab", "click", "double-click", "drag", "wheel-up", "wheel-down", "resize", "interrupt"};
  const auto name = kNames[static_cast<size_t>(input.kind)];
  switch (input.kind) {
    case Input::Kind::kLetter: return fmt::format("{} {:x}", name, static_cast<uint32_t>(input.letter));
    case Input::Kind::kClick:
    case Input::Kind::kDoubleClick:
    case Input::Kind::kDrag:
    case Input::Kind::kWheelUp:
    case Input::Kind::kWheelDown: return fmt::format("{} {} {}", name, input.x, input.y);
    default: return std::string(name);
  }
}

int run(std::FILE* inputs) {
  sigset_t block, usual;
  ::sigemptyset(&block);
  ::sigaddset(&block, SIGTERM);
  ::sigprocmask(SIG_BLOCK, &block, &usual);
  struct sigaction action {};
  action.sa_handler = [](int) { ended = 1; };
  ::sigaction(SIGTERM, &action, nullptr);

  auto screen = top::open_screen();
  if (!screen) {
    fmt::print(stderr, "{}\n", screen.error().message());
    return 1;
  }
  if (const auto locked = sandbox::become_read_only(64 << 20, sandbox::Network::kAccepts); !locked || !sandbox::open_no_more()) return 2;
  const auto say = [&](std::string_view line) {
    if (inputs != nullptr) fmt::print(inputs, "{}\n", line), std::fflush(inputs);
  };
  int ticks = 0, interrupts = 0;
  uint32_t change = 0;
  const auto show = [&] {
    Grid grid((*screen)->width(), (*screen)->height());
    draw(grid, (*screen)->has_colours(), ticks, change);
    (*screen)->show(grid);
  };
  show();
  say("ready");
  while (ended == 0) {
    pollfd keys{(*screen)->fd(), POLLIN, 0};
    if (::ppoll(&keys, 1, nullptr, &usual) <= 0) continue;
    while (const auto input = (*screen)->next()) {
      if (input->kind == Input::Kind::kLetter && input->letter == U'q') return 0;
      if (input->kind == Input::Kind::kInterrupt && ++interrupts == 3) return 0;
      if (input->kind == Input::Kind::kLetter && input->letter == U't') ++ticks;
      if (input->kind == Input::Kind::kLetter && input->letter == U'c') ++change;
      show();
      say(input->kind == Input::Kind::kResize ? fmt::format("resize {} {}", (*screen)->width(), (*screen)->height()) : text_of(*input));
    }
  }
  return 0;
}

}  // namespace

int main(int count, char** words) {
  std::FILE* inputs = count == 3 && std::string_view(words[1]) == "--inputs" ? std::fopen(words[2], "we") : nullptr;
  const int code = run(inputs);
  if (inputs != nullptr) std::fclose(inputs);
  return code;
}
