// SPDX-License-Identifier: Apache-2.0
// Runs a command that reads strangers' files in a process that can do nothing else (sandbox/read_only.h).
//
//   who called it: opens the inputs                    ── fork ──▶ the reader: the command
//                  opens an output, gives it its name  ◀── "open", "it is whole"
//
// Of root, the reader is a user that nobody is: what a recording names (programs, debug files, sources) is read if everybody may read it.
#pragma once
#include <sys/types.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/file_mapping.h"
#include "cli/command.h"
#include "cli/invoking_user.h"
#include "sink/output_file.h"

namespace cicada::cli {

// The files of the command line, in its reader. Threads: one.
class ReaderFiles {
 public:
  virtual ~ReaderFiles() = default;
  // "-" is standard input, and /dev/fd/N what a shell's <(…) hands over: they were read to their end. Fails: it was not named.
  virtual Result<Bytes> input(const std::string& path) const = 0;
  // Of outputs: nobody may read one who may not read all inputs.
  virtual sink::FileRights rights() const = 0;
};

// Returns the command's exit code: in the reader, and then in who called it. Fails: a file cannot be opened, an output is an input, the reader was ended.
// Threads: no other in the process.
Result<int> run_reader(const Command& command, Invocation invocation);

// A process that can do what the reader can, and what `kind` says: it makes no sockets, and has of what is open here only `kept` (kShows: standard input, too).
// It is `user`, or, where that is root, a user that nobody is, and ends with this process at the latest. Returns its number.
Result<pid_t> start_reader(ReaderKind kind, const std::vector<int>& kept, const InvokingUser& user, const std::function<int()>& work);
// kShows: it is asked to end first. Returns its wait status.
int end_reader(ReaderKind kind, pid_t reader);

}  // namespace cicada::cli
