// SPDX-License-Identifier: Apache-2.0
// One subcommand of cicada: what the parser knows of it, and what happens when it is chosen. One file per command;
// main.cc lists them. This is the only header that names the parser.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"

namespace CLI {
class App;
}

namespace cicada::cli {

class ReaderFiles;

struct Invocation {
  std::vector<std::string> command_line;  // all of it, argv[0] included
  std::vector<std::string> after_dashes;  // what stands after the first "--": never parsed
  std::shared_ptr<const ReaderFiles> files = {};  // of a command that names_files
};

// What a process may do that reads strangers' files (input/reader.h).
enum class ReaderKind {
  kReads,   // reads, and writes outputs
  kServes,  // answers on sockets that it holds, until Ctrl-C
  kShows,   // follows a socket that it holds, and has the terminal
};

// What is named on a command line, by options that have been parsed.
struct NamedFiles {
  std::vector<std::string> inputs, outputs;
  bool replace_recordings = false;  // --force
  bool keep_inputs = false;         // no output may be an input
  bool recorders = false;           // the inputs are no files, but recordings that are being made: --attach
  std::vector<int> kept = {};       // descriptors that the reader uses, too
  ReaderKind kind = ReaderKind::kReads;
};

struct Command {
  CLI::App* parser = nullptr;                 // owned by the application's parser
  std::function<int(const Invocation&)> run;  // gives the exit code
  bool needs_root = false;                    // else under sudo it is run by who called it
  std::function<Result<NamedFiles>()> names_files = {};  // it reads strangers' files: a reader runs it (reader.h). Fails: options are wrong
};

}  // namespace cicada::cli
