// SPDX-License-Identifier: Apache-2.0
// The only place that prints for people: standard error, so that standard output stays for data.
#pragma once
#include <string_view>

namespace cicada::cli {

void print_error(std::string_view line);    // "cicada: …"
void print_warning(std::string_view line);  // "cicada: warning: …"
void print_note(std::string_view line);     // "cicada: …"
void print_message(std::string_view text);  // as it is

// A line that is overwritten by the next one; nothing unless standard error is a terminal.
void print_progress(std::string_view line);
void end_progress();

unsigned terminal_columns();  // of standard error; 100 when it is none

// Sends base/diagnostics.h here; `show_info`: -v.
void show_diagnostics(bool show_warnings, bool show_info);

}  // namespace cicada::cli
