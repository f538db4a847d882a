// SPDX-License-Identifier: Apache-2.0
// Profiles from files for the commands that look at them: read, named where names are missing, reduced to what was asked for.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "base/byte_cursor.h"
#include "cli/input/reader.h"
#include "names/demangle.h"
#include "profile/call_tree.h"
#include "profile/profile_merge.h"

namespace cicada::cli {

// `--filter KEY=VALUE`, repeated; all must hold. Keys: process, thread (ids or exact names, commas), state (words, commas), time (FROM..TO
// since the start, either may be missing), function (a regular expression that one frame of the stack matches).
// Fails (kInvalid): an unknown key, a value that makes no sense.
Result<profile::FilterOptions> parse_filters(const std::vector<std::string>& filters);

// "process,image": outermost first. Fails (kInvalid) at a word that is no grouping.
Result<std::vector<profile::GroupBy>> parse_grouping(const std::vector<std::string>& words);

// "full", "short", "none"; "": nothing was said. Fails (kInvalid) at any other word.
Result<std::optional<names::Demangle>> parse_demangle(const std::string& word);

// A recording without names gets them from the files on this machine that have its build-ids. Names in foreign formats stay
// as they are: there is nothing to check a file's version by.
// `path` is what errors call the file. Fails: as sink::parse_profile; kInvalid for a malformed regular expression.
// Warns where `filter` leaves nothing. `wakers`: stacks of waits go on with so many (profile/wakeups.h), before anything is left out.
Result<profile::Profile> load_profile(Bytes file, const std::string& path, const profile::FilterOptions& filter = {},
                                      const std::string& event = {}, unsigned wakers = 0);
Result<profile::Profile> load_profile(const ReaderFiles& files, const std::string& path, const profile::FilterOptions& filter = {}, const std::string& event = {}, unsigned wakers = 0);

// Of --wakers=N.
inline constexpr unsigned kMostWakers = 16;

}  // namespace cicada::cli
