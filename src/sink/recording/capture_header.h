// SPDX-License-Identifier: Apache-2.0
// The header section of a capture file: fields, each with its size, so that a reader can skip what it does not know.
#pragma once
#include "base/byte_cursor.h"
#include "base/result.h"
#include "profile/profile.h"
#include "sink/recording/byte_writer.h"

namespace cicada::sink {

void append_header(ByteWriter& out, const profile::Header& header);
Result<profile::Header> parse_header(ByteCursor& in);

}  // namespace cicada::sink
