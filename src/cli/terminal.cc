// SPDX-License-Identifier: Apache-2.0
#include "cli/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <string>

#include "base/clean_text.h"
#include "base/diagnostics.h"

namespace cicada::cli {
namespace {

constexpr unsigned kDefaultColumns = 100;
std::atomic<bool> progress_shown = false;

void write_all(std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
    if (written <= 0) return;  // nobody to tell
    text.remove_prefix(static_cast<size_t>(written));
  }
}

// One write a line: the command's own output may be between two lines, never inside one.
void write_line(std::string_view prefix, std::string_view line) {
  end_progress();
  std::string text;
  text.reserve(prefix.size() + line.size() + 1);
  text.append(prefix).append(line).push_back('\n');
  write_all(text);
}

}  // namespace

// Names of files, threads and symbols are strangers' texts: nothing in them steers the terminal.
void print_error(std::string_view lines) {
  write_line("cicada: ", clean_lines(lines));
}
void print_warning(std::string_view line) { write_line("cicada: warning: ", clean_text(line)); }
void print_note(std::string_view line) { write_line("cicada: ", clean_text(line)); }

void print_message(std::string_view text) {
  end_progress();
  write_all(clean_lines(text));
}

void print_progress(std::string_view line) {
  if (::isatty(STDERR_FILENO) == 0) return;
  write_all(fmt::format("\r\x1b[K{}", line));
  progress_shown = true;
}

void end_progress() {
  if (progress_shown.exchange(false)) write_all("\r\x1b[K");
}

unsigned terminal_columns() {
  winsize size = {};
  return ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col != 0 ? size.ws_col : kDefaultColumns;
}

void show_diagnostics(bool show_warnings, bool show_info) {
  diagnostics().set_handler([=](Severity severity, const std::string& line) {
    if (severity == Severity::kWarning && show_warnings) print_warning(line);
    if (severity == Severity::kInfo && show_info) print_note(line);
  });
}

}  // namespace cicada::cli
