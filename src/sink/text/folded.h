// SPDX-License-Identifier: Apache-2.0
// Folded stacks: "main;read_config;parse 42", outermost first, one line for each stack that has samples of its own.
// Described in docs/formats/folded.md.
#pragma once
#include "sink/sink_registry.h"

namespace cicada::sink {

// What a stack without frames is called in every format that needs a name for it.
inline constexpr std::string_view kNoStack = "[no stack]";

std::unique_ptr<profile::Sink> make_folded_sink(std::string path, const SinkOptions& options);

// ";" separates, line breaks end a line and other control bytes drive terminals, so inside a name they are written %3B, %0A, %1B; a "%"
// that would read as one of these, %25.
std::string escape_folded(std::string_view name);
std::string unescape_folded(std::string_view text);

}  // namespace cicada::sink
