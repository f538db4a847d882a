// SPDX-License-Identifier: Apache-2.0
// Profiles from files: our recordings, folded stacks, pprof. What the bytes are decides, then the extension.
//
// Foreign numbers are bounded: a gzip bomb, a count of 2^63 or a recursive table ends in an error that names the object.
#pragma once
#include <string>

#include "base/byte_cursor.h"
#include "profile/profile.h"

namespace cicada::sink {

// What could be read; profile.header.warnings says what is missing. The profile is valid (Profile::validate).
// Fails: kNotFound …, kInvalid (no format that cicada reads), kCorrupt, kUnsupported, kLimit.
Result<profile::Profile> read_profile(const std::string& path);
Result<profile::Profile> parse_profile(Bytes bytes, const std::string& name);

Result<profile::Profile> parse_folded(Bytes bytes, const std::string& name);
// gzipped or not.
Result<profile::Profile> parse_pprof(Bytes bytes, const std::string& name);

}  // namespace cicada::sink
