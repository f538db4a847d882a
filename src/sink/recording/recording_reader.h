// SPDX-License-Identifier: Apache-2.0
// Opens a recording up to its last good chunk. One that was cut off, a truncated copy, a flipped bit: everything before the damage is
// there, `complete` is false, and profile.header.warnings says what is missing.
// Fails only if nothing can be read: not a recording, or one of another version.
#pragma once
#include <string>

#include "base/byte_cursor.h"
#include "profile/profile.h"

namespace cicada::sink {

struct Recording {
  profile::Profile profile;
  bool complete = false;      // the end mark was reached
  uint64_t chunks = 0;        // read
  uint64_t unread_bytes = 0;  // from the first bad chunk to the end of the file
};

// `name` is what errors call the file.
Result<Recording> read_recording(Bytes bytes, const std::string& name);

}  // namespace cicada::sink
